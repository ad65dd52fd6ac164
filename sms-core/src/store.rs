//! The boundary to stores: one small trait for each noun, and [`Store`], which is all of them.
//!
//! Everything that has to happen together crosses the boundary as one value. A command that decides
//! something gives the store a plan. With the account locked, the store reads the facts, calls the
//! plan's `settle`, and writes the result completely or not at all. A store makes no decisions, and
//! need not know what follows from a verdict: [`commit`](crate::commit) lists it.
//!
//! The traits are object-safe and have no default bodies: a wrong default would be a silent bug.
//! The crate `sms-conformance` holds the scenarios that every store must pass.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;

use crate::account::store::{AccountStore, ApiKeyStore, ReadsAccounts, ReadsApiKeys};
use crate::campaign::store::{CampaignStore, ReadsCampaigns};
use crate::change::store::{MessageStore, ReadsMessages};
use crate::contact::store::{ContactStore, ReadsContacts};
use crate::conversation::store::{ConversationStore, ReadsConversations};
use crate::credits::store::{CreditStore, ReadsCredits};
use crate::dispatch::store::DispatchStore;
use crate::event::store::ReadsEvents;
use crate::idempotency::store::IdempotencyStore;
use crate::inbound::store::{InboundStore, ReadsInbound};
use crate::keyword::store::{KeywordStore, ReadsKeywords};
use crate::link::store::{LinkStore, ReadsLinks};
use crate::list::store::{ListStore, ReadsLists};
use crate::number::store::{NumberStore, ReadsNumbers};
use crate::opt_out::store::{OptOutStore, ReadsOptOuts};
use crate::receipt::store::ReceiptStore;
use crate::sender_name::store::{ReadsSenderNames, SenderNameStore};
use crate::sending::store::SendingStore;
use crate::session::store::SessionStore;
use crate::statistics::store::ReadsStatistics;
use crate::template::store::{ReadsTemplates, TemplateStore};
use crate::upkeep::store::Upkeep;
use crate::webhook::store::{ReadsWebhooks, WebhookStore};

pub(crate) mod cache;

pub use crate::store_error::{CommitError, StoreError};

/// A trait that adds up others, implemented for every type that implements all of them.
macro_rules! sum {
    ($(#[$doc:meta])* $sum:ident = $first:path $(, $next:path)* $(,)?) => {
        $(#[$doc])*
        pub trait $sum: $first $(+ $next)* {}

        impl<S> $sum for S where S: $first $(+ $next)* {}
    };
}

sum! {
    /// All store traits that read. It offers no way to change anything. Implemented for every type
    /// that implements them.
    Reads =
        ReadsAccounts,
        ReadsApiKeys,
        ReadsCampaigns,
        ReadsContacts,
        ReadsConversations,
        ReadsCredits,
        ReadsEvents,
        ReadsInbound,
        ReadsKeywords,
        ReadsLinks,
        ReadsLists,
        ReadsMessages,
        ReadsNumbers,
        ReadsOptOuts,
        ReadsSenderNames,
        ReadsStatistics,
        ReadsTemplates,
        ReadsWebhooks,
}

sum! {
    /// All store traits together. Implemented for every type that implements them.
    Store =
        Reads,
        AccountStore,
        ApiKeyStore,
        CampaignStore,
        ContactStore,
        ConversationStore,
        CreditStore,
        DispatchStore,
        IdempotencyStore,
        InboundStore,
        LinkStore,
        KeywordStore,
        ListStore,
        MessageStore,
        NumberStore,
        OptOutStore,
        ReceiptStore,
        SenderNameStore,
        SendingStore,
        SessionStore,
        TemplateStore,
        WebhookStore,
        Upkeep,
        Health,
        fmt::Debug,
}

/// What [`Sms::builder`](crate::Sms::builder) accepts: a store, or a shared [`Arc`] of one.
pub trait IntoStore {
    /// The store in an [`Arc`].
    fn into_store(self) -> Arc<dyn Store>;
}

impl<S: Store + 'static> IntoStore for S {
    fn into_store(self) -> Arc<dyn Store> {
        Arc::new(self)
    }
}

impl<S: Store + 'static> IntoStore for Arc<S> {
    fn into_store(self) -> Arc<dyn Store> {
        self
    }
}

impl IntoStore for Arc<dyn Store> {
    fn into_store(self) -> Arc<dyn Store> {
        self
    }
}

/// Reports whether a store can serve requests that write.
#[async_trait::async_trait]
pub trait Health: Send + Sync {
    /// Returns once the store has answered that it takes writes.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if it does not answer, or serves reads alone.
    async fn health_check(&self) -> Result<(), StoreError>;
}

/// Lets the other tasks of the runtime run, whichever it is. Long work calls it between portions.
pub async fn let_others_run() {
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

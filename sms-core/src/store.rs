//! The boundary to whatever keeps things: one small trait per noun, and their sum.
//!
//! What must happen together crosses it as one value. A command that decides something hands the
//! store a plan; the store, with the account locked, reads the facts, asks the plan to `settle`
//! them, and writes what comes out, all of it or nothing. A store decides nothing itself, and need
//! not know what follows from a verdict: [`commit`](crate::commit) lists it.
//!
//! The traits are object-safe and have no default bodies: a wrong default would be a silent bug.
//! The crate `sms-conformance` holds the scenarios that every store must pass.

use std::fmt;
use std::sync::Arc;

use crate::account::store::{AccountStore, ApiKeyStore};
use crate::campaign::store::CampaignStore;
use crate::contact::store::ContactStore;
use crate::conversation::store::ConversationStore;
use crate::credits::store::CreditStore;
use crate::dispatch::store::DispatchStore;
use crate::inbound::store::InboundStore;
use crate::keyword::store::KeywordStore;
use crate::link::store::LinkStore;
use crate::list::store::ListStore;
use crate::message::store::MessageStore;
use crate::number::store::NumberStore;
use crate::opt_out::store::OptOutStore;
use crate::receipt::store::ReceiptStore;
use crate::sender_name::store::SenderNameStore;
use crate::sending::store::SendingStore;
use crate::statistics::store::StatisticsStore;
use crate::template::store::TemplateStore;
use crate::webhook::store::WebhookStore;

mod error;

pub use error::{CommitError, StoreError};

/// Everything a service keeps. Implemented for whatever implements its parts.
pub trait Store:
    AccountStore
    + ApiKeyStore
    + CampaignStore
    + ContactStore
    + ConversationStore
    + CreditStore
    + DispatchStore
    + InboundStore
    + LinkStore
    + KeywordStore
    + ListStore
    + MessageStore
    + NumberStore
    + OptOutStore
    + ReceiptStore
    + SenderNameStore
    + SendingStore
    + StatisticsStore
    + TemplateStore
    + WebhookStore
    + Health
    + fmt::Debug
{
}

impl<S> Store for S where
    S: AccountStore
        + ApiKeyStore
        + CampaignStore
        + ContactStore
        + ConversationStore
        + CreditStore
        + DispatchStore
        + InboundStore
        + LinkStore
        + KeywordStore
        + ListStore
        + MessageStore
        + NumberStore
        + OptOutStore
        + ReceiptStore
        + SenderNameStore
        + SendingStore
        + StatisticsStore
        + TemplateStore
        + WebhookStore
        + Health
        + fmt::Debug
{
}

/// What [`Sms::builder`](crate::Sms::builder) takes: a store, or an [`Arc`] of one that is shared.
pub trait IntoStore {
    /// The store, shared.
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

/// Whether a store can serve.
#[async_trait::async_trait]
pub trait Health: Send + Sync {
    /// Answers when the store does.
    async fn health_check(&self) -> Result<(), StoreError>;
}

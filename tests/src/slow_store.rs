//! A store whose reads of many rows wait until a test lets them go on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sms_core::contact::{Contact, ContactFilter};
use sms_core::ids::AccountId;
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{Store, StoreError};
use tokio::sync::watch;

use crate::layer::{ContactLayer, Layer, Layered, Pass, passes_on};

/// A store that wraps another one.
pub type SlowStore = Layered<Slow>;

/// The calls that wait.
const READS: [&str; 16] = [
    "api_key_list",
    "campaign_list",
    "contact_list",
    "conversation_list",
    "custom_names",
    "delivery_list",
    "endpoint_list",
    "event_list",
    "keyword_list",
    "link_list",
    "list_list",
    "message_list",
    "opt_out_list",
    "sender_name_list",
    "statistics_within",
    "template_list",
];

/// What is being read.
#[derive(Debug)]
pub struct Slow {
    inner: Arc<dyn Store>,
    reading: Mutex<BTreeMap<&'static str, usize>>,
    is_open: watch::Sender<bool>,
    /// Counts searches for contacts, which never end.
    endless: Option<Arc<AtomicUsize>>,
}

impl SlowStore {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        let (is_open, _) = watch::channel(false);
        Self(Slow { inner, reading: Mutex::default(), is_open, endless: None })
    }

    /// Wraps a store that has contacts without end, none of which is ever found.
    pub fn endless(inner: Arc<dyn Store>, searches: Arc<AtomicUsize>) -> Self {
        let store = Self::new(inner);
        store.open();
        Self(Slow { endless: Some(searches), ..store.0 })
    }

    /// How many calls of each method are being read.
    pub fn reading(&self) -> Vec<(&'static str, usize)> {
        self.0.reading().iter().map(|(call, count)| (*call, *count)).collect()
    }

    /// Lets reads go on.
    pub fn open(&self) {
        self.0.is_open.send_replace(true);
    }

    /// Keeps later reads waiting.
    pub fn close(&self) {
        self.0.is_open.send_replace(false);
    }
}

impl Slow {
    fn reading(&self) -> MutexGuard<'_, BTreeMap<&'static str, usize>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Layer for Slow {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    async fn before(&self, call: &'static str) -> Pass {
        if READS.contains(&call) {
            *self.reading().entry(call).or_default() += 1;
            let mut is_open = self.is_open.subscribe();
            let _ = is_open.wait_for(|is_open| *is_open).await;
            let mut reading = self.reading();
            if let Some(count) = reading.get_mut(call) {
                *count -= 1;
                if *count == 0 {
                    reading.remove(call);
                }
            }
        }
        Pass::Through
    }
}

impl ContactLayer for Slow {
    async fn contact_list(
        &self,
        account: AccountId,
        filter: &ContactFilter,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError> {
        if let Some(searches) = &self.endless {
            let place = 100 - searches.fetch_add(1, Ordering::SeqCst) as u64;
            return Ok(Page { items: Vec::new(), next: Some(Cursor::after_position(place)) });
        }
        self.before("contact_list").await;
        self.below().contact_list(account, filter, page).await
    }
}

passes_on! {
    Slow:
    AccountLayer ApiKeyLayer CampaignLayer ConversationLayer CreditLayer
    DispatchLayer EventLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}

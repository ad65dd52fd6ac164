//! A store that counts the calls of each method.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sms_core::store::Store;

use crate::layer::{Layer, Layered, Pass, passes_on};

/// A store that wraps another one and passes everything on.
pub type CallCounter = Layered<Calls>;

/// The number of calls so far.
#[derive(Debug)]
pub struct Calls {
    inner: Arc<dyn Store>,
    counts: Mutex<BTreeMap<&'static str, usize>>,
}

impl CallCounter {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self(Calls { inner, counts: Mutex::default() })
    }

    /// How often this method was called.
    pub fn calls(&self, method: &str) -> usize {
        let counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(method).copied().unwrap_or_default()
    }
}

impl Layer for Calls {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    async fn before(&self, call: &'static str) -> Pass {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(call).or_default() += 1;
        Pass::Through
    }
}

passes_on! {
    Calls:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer EventLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}

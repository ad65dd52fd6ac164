//! A store that fails when it is told to, before it has done anything: for tests of what a service
//! does then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sms_core::store::Store;

use crate::layer::{Layer, Layered, Pass, passes_on};

/// A store before another one. It passes everything on, but for outcomes while it is told to fail.
pub type FailingStore = Layered<Failing>;

/// What fails.
#[derive(Debug)]
pub struct Failing {
    inner: Arc<dyn Store>,
    outcomes_to_refuse: AtomicUsize,
}

impl FailingStore {
    /// A store that does not fail yet.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self(Failing { inner, outcomes_to_refuse: AtomicUsize::new(0) })
    }

    /// Refuses so many records of outcomes, as a store that cannot be reached.
    pub fn refuse_outcomes(&self, times: usize) {
        self.0.outcomes_to_refuse.store(times, Ordering::SeqCst);
    }
}

impl Layer for Failing {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    async fn before(&self, call: &'static str) -> Pass {
        let left = self.outcomes_to_refuse.load(Ordering::SeqCst);
        if call != "dispatch_record" || left == 0 {
            return Pass::Through;
        }
        self.outcomes_to_refuse.store(left - 1, Ordering::SeqCst);
        Pass::Fails
    }
}

passes_on! {
    Failing:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer HealthLayer InboundLayer LinkLayer KeywordLayer ListLayer MessageLayer
    NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer StatisticsLayer
    TemplateLayer WebhookLayer
}

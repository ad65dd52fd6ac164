//! A store that fails on request, before it has done anything, for tests of how a service reacts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sms_core::store::Store;

use crate::layer::{Layer, Layered, Pass, passes_on};

/// A store that wraps another one. It passes everything on, except outcomes while set to fail.
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

    /// Refuses the next records of outcomes, this many, like an unreachable store.
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
    DispatchLayer EventLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}

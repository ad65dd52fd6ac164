//! A store that counts claims of due messages, and records of outcomes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sms_core::store::Store;

use crate::layer::{Layer, Layered, Pass, passes_on};

/// A store that wraps another one and passes everything on, except claims beyond a limit.
pub type ClaimCounter = Layered<Claims>;

/// The numbers of claims and of records so far.
#[derive(Debug)]
pub struct Claims {
    inner: Arc<dyn Store>,
    count: AtomicUsize,
    most: usize,
    records: AtomicUsize,
}

impl ClaimCounter {
    /// Refuses claims after `most`, like an unreachable store, so that a loop of claims ends.
    pub fn new(inner: Arc<dyn Store>, most: usize) -> Self {
        let (count, records) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Claims { inner, count, most, records })
    }

    /// The number of claims made, refused ones included.
    pub fn claims(&self) -> usize {
        self.0.count.load(Ordering::SeqCst)
    }

    /// The number of calls that recorded outcomes.
    pub fn records(&self) -> usize {
        self.0.records.load(Ordering::SeqCst)
    }
}

impl Layer for Claims {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    async fn before(&self, call: &'static str) -> Pass {
        if call == "dispatch_record" {
            self.records.fetch_add(1, Ordering::SeqCst);
        }
        if call != "dispatch_claim" || self.count.fetch_add(1, Ordering::SeqCst) < self.most {
            return Pass::Through;
        }
        Pass::Fails
    }
}

passes_on! {
    Claims:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer EventLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}

//! A store as its author has it halfway: some methods are written, the others are stubs.

use std::collections::BTreeSet;
use std::sync::Arc;

use sms_core::store::Store;

use crate::layer::{Layer, Layered, Pass, passes_on};

/// A store before another one, which it needs to be whole.
pub type UnfinishedStore = Layered<Unfinished>;

/// Which methods are written.
#[derive(Debug)]
pub struct Unfinished {
    whole: Arc<dyn Store>,
    written: BTreeSet<&'static str>,
}

impl UnfinishedStore {
    /// Passes the methods that are written on to `whole`; the others are stubs.
    pub fn new(whole: Arc<dyn Store>, written: BTreeSet<&'static str>) -> Self {
        Self(Unfinished { whole, written })
    }
}

impl Layer for Unfinished {
    fn below(&self) -> &dyn Store {
        &*self.whole
    }

    async fn before(&self, call: &'static str) -> Pass {
        let method = call.split_once('(').map_or(call, |(method, _)| method);
        if !self.written.contains(call) && !self.written.contains(method) {
            sms_conformance::unwritten(call);
        }
        Pass::Through
    }
}

passes_on! {
    Unfinished:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer EventLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}

//! A store whose commits of sends wait until they are let through.

use std::sync::Arc;

use sms_core::store::Store;
use tokio::sync::watch;

use crate::layer::{Layer, Layered, Pass, passes_on};

/// A store that wraps another one. It passes everything on, sends only while they are let through.
pub type SlowStore = Layered<Slow>;

/// Whether sends wait.
#[derive(Debug)]
pub struct Slow {
    inner: Arc<dyn Store>,
    waits: watch::Sender<bool>,
}

impl SlowStore {
    /// A store that lets sends through.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self(Slow { inner, waits: watch::Sender::new(false) })
    }

    /// Has sends wait from now on.
    pub fn hold_sends_up(&self) {
        self.0.waits.send_replace(true);
    }

    /// Lets sends through from now on.
    pub fn let_sends_through(&self) {
        self.0.waits.send_replace(false);
    }
}

impl Layer for Slow {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    async fn before(&self, call: &'static str) -> Pass {
        if call == "send_accept" {
            // The sender lives as long as this does.
            let _ = self.waits.subscribe().wait_for(|waits| !waits).await;
        }
        Pass::Through
    }
}

passes_on! {
    Slow:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer StatisticsLayer
    TemplateLayer WebhookLayer
}

//! A store whose commits of sends can be made to wait, or to come too late for what is held.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use crate::layer::prelude::*;
use crate::layer::{Layer, Layered, SendingLayer, passes_on};

/// A store that wraps another one. It passes everything on, until it is told otherwise.
pub type UnluckyStore = Layered<Unlucky>;

/// What happens to sends.
#[derive(Debug)]
pub struct Unlucky {
    inner: Arc<dyn Store>,
    waits: watch::Sender<bool>,
    finds_held_stale: AtomicBool,
}

impl UnluckyStore {
    /// A store that lets sends through.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        let (waits, finds_held_stale) = (watch::Sender::new(false), AtomicBool::new(false));
        Self(Unlucky { inner, waits, finds_held_stale })
    }

    /// Has sends wait from now on.
    pub fn hold_sends_up(&self) {
        self.0.waits.send_replace(true);
    }

    /// Lets sends through from now on.
    pub fn let_sends_through(&self) {
        self.0.waits.send_replace(false);
    }

    /// Takes what sends with held messages were planned on for old from now on.
    pub fn find_held_stale(&self) {
        self.0.finds_held_stale.store(true, Ordering::SeqCst);
    }
}

impl Layer for Unlucky {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }
}

impl SendingLayer for Unlucky {
    async fn send_accept(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>> {
        // The sender lives as long as this does.
        let _ = self.waits.subscribe().wait_for(|waits| !waits).await;
        if self.finds_held_stale.load(Ordering::SeqCst)
            && plans.iter().any(|plan| plan.held.is_some())
        {
            return plans.iter().map(|_| Err(CommitError::Stale)).collect();
        }
        self.inner.send_accept(plans).await
    }
}

passes_on! {
    Unlucky:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer EventLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}

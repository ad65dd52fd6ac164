//! A store whose replays fail or hang, or whose reads for replays take long, on request.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::layer::prelude::*;
use crate::layer::{EventLayer, Layer, Layered, UpkeepLayer, WebhookLayer, passes_on};

/// A store that wraps another one. It passes everything on, until it is told otherwise.
pub type TroubledReplays = Layered<Trouble>;

/// What happens to replays.
#[derive(Debug)]
pub struct Trouble {
    inner: Arc<dyn Store>,
    failing: Mutex<BTreeSet<EndpointId>>,
    failures: AtomicUsize,
    hanging: Mutex<BTreeSet<EndpointId>>,
    hung: AtomicUsize,
    look: watch::Sender<Look>,
    log_is_held: watch::Sender<bool>,
    reads: AtomicUsize,
}

/// How far a look for the next replay is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// It takes no time.
    Free,
    /// The next one is to wait before it answers.
    ToWait,
    /// It has found its answer, and waits.
    Waiting,
}

impl TroubledReplays {
    /// A store without trouble.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self(Trouble {
            inner,
            failing: Mutex::default(),
            failures: AtomicUsize::new(0),
            hanging: Mutex::default(),
            hung: AtomicUsize::new(0),
            look: watch::Sender::new(Look::Free),
            log_is_held: watch::Sender::new(false),
            reads: AtomicUsize::new(0),
        })
    }

    /// Lets no portion to this endpoint be written from now on.
    pub fn fail_replays_to(&self, endpoint: EndpointId) {
        self.0.failing().insert(endpoint);
    }

    /// Lets all portions be written from now on.
    pub fn fail_no_replays(&self) {
        self.0.failing().clear();
    }

    /// How many portions could not be written.
    pub fn failures(&self) -> usize {
        self.0.failures.load(Ordering::SeqCst)
    }

    /// Lets portions to this endpoint never end from now on.
    pub fn hang_replays_to(&self, endpoint: EndpointId) {
        self.0.hanging.lock().unwrap_or_else(PoisonError::into_inner).insert(endpoint);
    }

    /// How many portions hang.
    pub fn hung(&self) -> usize {
        self.0.hung.load(Ordering::SeqCst)
    }

    /// Has reads of event logs wait from now on.
    pub fn hold_the_log(&self) {
        self.0.log_is_held.send_replace(true);
    }

    /// Lets reads of event logs through from now on, those that wait included.
    pub fn let_the_log_through(&self) {
        self.0.log_is_held.send_replace(false);
    }

    /// How many reads of event logs there were, those that wait included.
    pub fn reads(&self) -> usize {
        self.0.reads.load(Ordering::SeqCst)
    }

    /// Has the next look for replays wait with its answer.
    pub fn hold_a_look_up(&self) {
        self.0.look.send_replace(Look::ToWait);
    }

    /// Waits until that look has found its answer.
    pub async fn look_waits(&self) {
        // The sender lives as long as this does.
        let _ = self.0.look.subscribe().wait_for(|look| *look == Look::Waiting).await;
    }

    /// Lets it answer.
    pub fn let_the_look_through(&self) {
        self.0.look.send_replace(Look::Free);
    }
}

impl Trouble {
    fn failing(&self) -> std::sync::MutexGuard<'_, BTreeSet<EndpointId>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Layer for Trouble {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }
}

impl EventLayer for Trouble {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let _ = self.log_is_held.subscribe().wait_for(|is_held| !is_held).await;
        self.inner.event_list(account, request).await
    }
}

impl WebhookLayer for Trouble {
    async fn replay_portion(&self, plan: PortionPlan) -> Result<usize, StoreError> {
        let hangs = |hanging: &BTreeSet<EndpointId>| hanging.contains(&plan.endpoint);
        if hangs(&self.hanging.lock().unwrap_or_else(PoisonError::into_inner)) {
            self.hung.fetch_add(1, Ordering::SeqCst);
            return std::future::pending().await;
        }
        if self.failing().contains(&plan.endpoint) {
            self.failures.fetch_add(1, Ordering::SeqCst);
            return Err(StoreError::Internal { doing: "failing a replay", source: None });
        }
        self.inner.replay_portion(plan).await
    }
}

impl UpkeepLayer for Trouble {
    async fn next(&self, work: Due) -> Result<Option<Timestamp>, StoreError> {
        let next = self.inner.next(work).await?;
        if work != Due::Replays {
            return Ok(next);
        }
        let waits = self.look.send_if_modified(|look| {
            let waits = *look == Look::ToWait;
            if waits {
                *look = Look::Waiting;
            }
            waits
        });
        if waits {
            let _ = self.look.subscribe().wait_for(|look| *look == Look::Free).await;
        }
        Ok(next)
    }
}

passes_on! {
    Trouble:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer
}

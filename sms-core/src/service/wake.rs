//! Kinds of work, and signals that there may be some, so that workers poll rarely.
//!
//! A signal is a hint. Workers find work without it, only later, because they also poll the store.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use async_trait::async_trait;

/// A kind of work that a commit may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Messages to hand over to routes.
    Dispatch,
    /// Webhook deliveries to send.
    Webhooks,
    /// Follow-ups of simulated networks to bring back.
    FollowUps,
    /// Rents to charge. They fall due by the clock, so no signal is sent for them.
    Rents,
}

impl Work {
    /// Every kind of work. A sandbox does these kinds and no other.
    pub const ALL: [Self; 4] = [Self::Dispatch, Self::FollowUps, Self::Webhooks, Self::Rents];
}

/// Receives signals that there may be work. Implementations return at once.
pub trait Wake: Send + Sync + fmt::Debug {
    /// There may be work of this kind.
    fn wake(&self, work: Work);
}

/// Carries signals between programs that share one store.
#[async_trait]
pub trait WakeOthers: Send + Sync + fmt::Debug {
    /// Signals to the other programs that there may be work of this kind. Returns at once.
    fn tell(&self, work: Work);

    /// Passes the signals of other programs on to `local`. Runs until it is dropped.
    async fn listen(&self, local: &dyn Wake);
}

/// For a program that is the only one on its store.
#[derive(Debug)]
pub(super) struct NoOthers;

#[async_trait]
impl WakeOthers for NoOthers {
    fn tell(&self, _work: Work) {}

    async fn listen(&self, _local: &dyn Wake) {
        std::future::pending::<()>().await;
    }
}

/// The receivers of a service's signals.
#[derive(Debug)]
pub(super) struct Signals {
    local: RwLock<Vec<Weak<dyn Wake>>>,
    others: Arc<dyn WakeOthers>,
}

impl Signals {
    pub(super) fn new(others: Arc<dyn WakeOthers>) -> Self {
        Self { local: RwLock::default(), others }
    }

    /// Signals `wake` as well, until its last `Arc` is dropped.
    pub(super) fn add(&self, wake: &Arc<dyn Wake>) {
        let mut local = self.local.write().unwrap_or_else(PoisonError::into_inner);
        local.retain(|known| known.strong_count() > 0);
        local.push(Arc::downgrade(wake));
    }

    /// Wakes the workers of this program for signals of other programs. Runs until it is dropped.
    pub(super) async fn listen(&self) {
        self.others.listen(self).await;
    }

    /// Signals to the workers of this program and to the other programs.
    pub(super) fn found(&self, work: Work) {
        self.wake(work);
        self.others.tell(work);
    }
}

impl Wake for Signals {
    /// Wakes the workers of this program.
    fn wake(&self, work: Work) {
        // A panic elsewhere cannot leave a list of pointers half written.
        let local = self.local.read().unwrap_or_else(PoisonError::into_inner);
        local.iter().filter_map(Weak::upgrade).for_each(|wake| wake.wake(work));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Records the signals that it receives or would send.
    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<Work>>);

    impl Heard {
        fn take(&self) -> Vec<Work> {
            std::mem::take(&mut *self.0.lock().unwrap())
        }
    }

    impl Wake for Heard {
        fn wake(&self, work: Work) {
            self.0.lock().unwrap().push(work);
        }
    }

    #[async_trait]
    impl WakeOthers for Heard {
        fn tell(&self, work: Work) {
            self.wake(work);
        }

        async fn listen(&self, local: &dyn Wake) {
            local.wake(Work::Webhooks);
        }
    }

    #[test]
    fn signals_go_to_local_workers_and_other_programs_and_received_ones_stay_local() {
        let (here, elsewhere) = (Arc::new(Heard::default()), Arc::new(Heard::default()));
        let signals = Signals::new(elsewhere.clone());
        let listener: Arc<dyn Wake> = here.clone();
        signals.add(&listener);
        signals.found(Work::Dispatch);
        assert_eq!((here.take(), elsewhere.take()), (vec![Work::Dispatch], vec![Work::Dispatch]));
        futures_executor::block_on(signals.listen());
        assert_eq!((here.take(), elsewhere.take()), (vec![Work::Webhooks], vec![]));
        drop((listener, here));
        signals.found(Work::Dispatch);
        assert_eq!(elsewhere.take(), [Work::Dispatch], "a dropped listener blocks nothing");
    }
}

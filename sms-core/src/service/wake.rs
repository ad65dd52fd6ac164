//! Kinds of work, and the hint that there may be some.

use std::fmt;

/// A kind of work that a commit may have made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Texts to be handed to routes.
    Dispatch,
    /// Webhook deliveries to be made.
    Webhooks,
    /// Simulated comebacks to be waited for.
    FollowUps,
    /// Rent to be taken. It falls due by itself: nobody is woken for it.
    Rents,
}

impl Work {
    /// Every kind. A sandbox does what is named here, and no other.
    pub const ALL: [Self; 4] = [Self::Dispatch, Self::FollowUps, Self::Webhooks, Self::Rents];
}

/// Is told when there may be work. A hint: work is found without it, only later.
pub trait Wake: Send + Sync + fmt::Debug {
    /// There may be work of this kind.
    fn wake(&self, work: Work);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWake;

impl Wake for NoWake {
    fn wake(&self, _work: Work) {}
}

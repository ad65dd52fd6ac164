//! Until when a segment may be submitted, and in which lane it waits.

use std::future::pending;

use sms_core::dispatch::Lane;
use sms_core::route::Look;
use tokio::time::{Instant, sleep_until};

/// Whether a segment may be submitted, asked again at the last moment.
#[derive(Debug, Clone)]
pub struct Leave(Option<Until>);

#[derive(Debug, Clone)]
struct Until {
    /// `None` if that is too far off to say.
    at: Option<Instant>,
    look: Look,
}

impl Leave {
    /// It may, whenever its turn comes.
    pub fn always() -> Self {
        Self(None)
    }

    /// It may while the look at its message counts.
    pub fn while_fresh(look: &Look) -> Self {
        let at = Instant::now().checked_add(look.fresh_for());
        Self(Some(Until { at, look: look.clone() }))
    }

    /// Whether it may not any more.
    pub fn is_over(&self) -> bool {
        let Self(Some(Until { at, look })) = self else { return false };
        at.is_some_and(|at| at <= Instant::now()) || !look.is_fresh()
    }

    /// Waits until it may not any more for its age.
    pub async fn ends(&self) {
        match self {
            Self(Some(Until { at: Some(at), .. })) => sleep_until(*at).await,
            _ => pending().await,
        }
    }
}

/// How a segment waits for its turn.
#[derive(Debug, Clone)]
pub struct Wait {
    /// The lane that it waits in.
    pub lane: Lane,
    /// Until when it may be submitted; it waits no longer.
    pub leave: Leave,
}

/// It waits as long as it takes.
impl From<Lane> for Wait {
    fn from(lane: Lane) -> Self {
        Self { lane, leave: Leave::always() }
    }
}

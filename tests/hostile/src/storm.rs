//! What an attack is: something to prepare, a storm, and what is left behind.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::failed::Failed;
use crate::server::Options;
use crate::site::Site;

/// An attack that is not prepared yet.
#[async_trait]
pub(crate) trait Attack: Send + Sync {
    /// How the server is started.
    fn options(&self) -> Options {
        Options::default()
    }

    /// How long the attack lasts.
    fn lasts(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// Sets up what the attack needs, before anybody watches.
    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed>;
}

/// An attack that may begin.
#[async_trait]
pub(crate) trait Prepared: Send + Sync {
    /// Attacks until then.
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed>;

    /// Looks at what the attack left behind.
    async fn aftermath(&self, _site: &Site) -> Result<Vec<Finding>, Failed> {
        Ok(Vec::new())
    }
}

/// Something that an attack found out.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) held: Held,
    pub(crate) what: String,
}

/// Whether a defence held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Yes,
    No,
    /// A figure that nothing judges.
    Told,
}

impl Finding {
    /// A defence that held if `held`.
    pub(crate) fn judged(held: impl Fn() -> bool, what: impl Into<String>) -> Self {
        let held = if held() { Held::Yes } else { Held::No };
        Self { held, what: what.into() }
    }

    /// A figure.
    pub(crate) fn told(what: impl Into<String>) -> Self {
        Self { held: Held::Told, what: what.into() }
    }
}

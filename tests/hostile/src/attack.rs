//! The attacks. Each is one file: what it does, and what must hold besides the others' answers.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use clap::ValueEnum;
use tokio::time::Instant;

use crate::failed::Failed;
use crate::server::Options;
use crate::site::Site;

mod bodies;
mod clicks;
mod exports;
mod fields;
mod handles;
mod imports;
mod keys;
mod plans;

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

/// The attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Ten accounts plan the worst messages to the largest lists
    Plans,
    /// Half-sent imports of one key
    Bodies,
    /// New names of custom fields, and rejected recipients of great length
    Fields,
    /// Exports that are read slowly
    Exports,
    /// Hits on one tracked link, whose receiver has enough
    Clicks,
    /// Silent connections, under `ulimit -n 1024`
    Handles,
    /// Well-formed keys that do not exist
    Keys,
    /// Many small imports, and then large ones
    Imports,
}

impl Kind {
    pub(crate) fn all() -> Vec<Self> {
        Self::value_variants().to_vec()
    }

    pub(crate) fn attack(self) -> Box<dyn Attack> {
        match self {
            Self::Plans => Box::new(plans::Plans),
            Self::Bodies => Box::new(bodies::Bodies),
            Self::Fields => Box::new(fields::Fields),
            Self::Exports => Box::new(exports::Exports),
            Self::Clicks => Box::new(clicks::Clicks),
            Self::Handles => Box::new(handles::Handles),
            Self::Keys => Box::new(keys::Keys),
            Self::Imports => Box::new(imports::Imports),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => f.write_str(value.get_name()),
            None => Ok(()),
        }
    }
}

//! The attacks. Each is one file: what it does, and what must hold besides the others' answers.

use std::fmt;

use clap::ValueEnum;

use crate::storm::Attack;

mod bodies;
mod clicks;
mod exports;
mod fields;
mod handles;
mod imports;
mod keys;
mod names;
mod plans;

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
    /// Endpoints whose names are never resolved
    Names,
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
            Self::Names => Box::new(names::Names::default()),
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

//! Which settings were given as flags, so that messages name these and not their variables.

use std::collections::BTreeMap;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// The flags of a command line that are settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsedFlags(BTreeMap<String, String>);

impl UsedFlags {
    /// Those that a command line of this program has.
    pub fn of(program: &Command, line: &ArgMatches) -> Self {
        let given = program.get_arguments().filter(|setting| {
            line.value_source(setting.get_id().as_str()) == Some(ValueSource::CommandLine)
        });
        let named = given.filter_map(|setting| {
            let variable = setting.get_env()?.to_str()?.to_owned();
            Some((variable, format!("--{}", setting.get_long()?)))
        });
        Self(named.collect())
    }

    /// A message that names variables, with a flag in the place of each whose flag was used.
    pub fn named_in(&self, message: &str) -> String {
        let ends_name = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let pieces = message.split_inclusive(ends_name).map(|piece| {
            let name = piece.trim_end_matches(ends_name);
            match self.0.get(name) {
                Some(flag) => [flag, &piece[name.len()..]].concat(),
                None => piece.to_owned(),
            }
        });
        pieces.collect()
    }
}

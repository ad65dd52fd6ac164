//! The routes that `SMS_ROUTES` names: the simulator and SMPP routes.
//!
//! Their order matters. The first one is the default: it carries the live messages of numbers that
//! name no route. While a route is down, the next one carries its messages.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use sms_core::clock::Clock;
use sms_core::dispatch::journal::Journal;
use sms_core::random::Random;
use sms_core::route::simulator::Simulator;
use sms_core::route::{Route, RouteName};
use sms_smpp::route::SmppRoute;
use sms_smpp::settings::RouteSettings;

use crate::route_settings::{self, BadSetting, Variables};

/// The name of the simulated network.
pub const SIMULATOR: &str = "simulator";
/// The longest name of a route.
const LONGEST_NAME: usize = 20;

/// A route to build, with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutePlan {
    /// The simulated network.
    Simulator,
    /// A real network over SMPP.
    Smpp {
        /// The route's name.
        name: RouteName,
        /// Its settings.
        settings: Box<RouteSettings>,
    },
}

/// Settings of routes that are missing or invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutesRefused {
    /// A name is invalid. The message does not show it: it may be a URL with a password.
    #[error("SMS_ROUTES must be names separated by commas, each 1 to 20 of a-z, 0-9 and -")]
    Name,
    /// The name `test` is taken by the route that carries the messages of test keys.
    #[error("SMS_ROUTES must not name test: that route carries the messages of test keys")]
    OfTestKeys,
    /// Two routes have the same name.
    #[error("SMS_ROUTES names {0} twice")]
    Twice(String),
    /// A setting of a route is missing or invalid.
    #[error(transparent)]
    Setting(#[from] BadSetting),
}

impl RoutePlan {
    /// Builds the route. It connects when it runs, and notes in the journal what it submits.
    pub fn build(
        self,
        clock: Arc<dyn Clock>,
        random: &Arc<dyn Random>,
        journal: Option<&Arc<dyn Journal>>,
    ) -> Arc<dyn Route> {
        match self {
            Self::Simulator => Arc::new(Simulator::new(RouteName::new(SIMULATOR))),
            Self::Smpp { name, settings } => {
                let route = SmppRoute::new(name, *settings, clock, random);
                Arc::new(match journal {
                    Some(journal) => route.journal(journal.clone()),
                    None => route,
                })
            }
        }
    }
}

impl fmt::Display for RoutePlan {
    /// The name and the address, for people. Never the account there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulator => f.write_str(SIMULATOR),
            Self::Smpp { name, settings } => write!(f, "{name} ({})", settings.peer()),
        }
    }
}

/// Reads the settings of every route named.
///
/// # Errors
///
/// The first invalid name, or every setting that is missing or invalid. The errors show no value.
pub fn read(
    names: &[String],
    variables: Variables<'_>,
) -> Result<Vec<RoutePlan>, Vec<RoutesRefused>> {
    check_names(names).map_err(|refused| vec![refused])?;
    let (mut plans, mut refused) = (Vec::new(), Vec::new());
    for name in names {
        if name == SIMULATOR {
            plans.push(RoutePlan::Simulator);
            continue;
        }
        match route_settings::read(name, variables) {
            Ok(settings) => plans.push(RoutePlan::Smpp {
                name: RouteName::new(name.as_str()),
                settings: Box::new(settings),
            }),
            Err(bad) => refused.extend(bad.into_iter().map(RoutesRefused::Setting)),
        }
    }
    if refused.is_empty() { Ok(plans) } else { Err(refused) }
}

/// Refuses names that are invalid, reserved or given twice.
pub fn check_names(names: &[String]) -> Result<(), RoutesRefused> {
    let mut known = BTreeSet::new();
    for name in names {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(1..=LONGEST_NAME).contains(&name.len()) || !name.chars().all(is_name) {
            return Err(RoutesRefused::Name);
        }
        if *name == *RouteName::test().as_str() {
            return Err(RoutesRefused::OfTestKeys);
        }
        if !known.insert(name) {
            return Err(RoutesRefused::Twice(name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    fn read_with(text: &str, set: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let variables = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let first = |refused: Vec<RoutesRefused>| refused[0].to_string();
        let plans = read(&names(text), &variables).map_err(first)?;
        Ok(plans.iter().map(ToString::to_string).collect())
    }

    const MAIN: [(&str, &str); 2] = [
        ("SMS_ROUTE_MAIN_URL", "smpp://example@smsc.example.com"),
        ("SMS_ROUTE_MAIN_PASSWORD", "canary"),
    ];

    #[test]
    fn routes_keep_their_order_and_have_separate_settings() {
        let backup = [
            ("SMS_ROUTE_BACK_UP_URL", "smpps://other@smsc.example.com:3551"),
            ("SMS_ROUTE_BACK_UP_PASSWORD", "canary"),
        ];
        let set = [&MAIN[..], &backup].concat();
        let shown = read_with("back-up,simulator,main", &set).unwrap();
        assert_eq!(
            shown,
            [
                "back-up (smpps://smsc.example.com:3551)",
                "simulator",
                "main (smpp://smsc.example.com:2775)"
            ]
        );
        assert_eq!(read_with("simulator", &[]), Ok(vec!["simulator".to_owned()]));
    }

    #[test]
    fn a_missing_or_invalid_setting_is_reported_by_variable_and_never_by_value() {
        let wrong = ("SMS_ROUTE_MAIN_WINDOW", "canary");
        let file = [MAIN[0], ("SMS_ROUTE_MAIN_PASSWORD_FILE", "/canary/canary")];
        let over_tls = ("SMS_ROUTE_MAIN_URL", "smpps://example@smsc.example.com");
        let authorities = [over_tls, MAIN[1], ("SMS_ROUTE_MAIN_CA_FILE", "/canary/canary")];
        for (set, variable) in [
            (&[][..], "SMS_ROUTE_MAIN_PASSWORD"),
            (&MAIN[..1], "SMS_ROUTE_MAIN_PASSWORD"),
            (&MAIN[1..], "SMS_ROUTE_MAIN_URL"),
            (&[&MAIN[..], &[wrong]].concat(), "SMS_ROUTE_MAIN_WINDOW"),
            (&file, "SMS_ROUTE_MAIN_PASSWORD_FILE"),
            (&authorities, "SMS_ROUTE_MAIN_CA_FILE"),
        ] {
            let refused = read_with("simulator,main", set).unwrap_err();
            assert!(refused.starts_with(variable), "{refused}");
            assert!(!refused.contains("canary"), "{refused}");
        }
    }

    #[test]
    fn names_are_short_plain_and_unique() {
        let longest = "a".repeat(LONGEST_NAME);
        for good in ["a", "main-2", longest.as_str(), "simulator,main"] {
            assert_eq!(check_names(&names(good)), Ok(()), "{good}");
        }
        let too_long = "a".repeat(LONGEST_NAME + 1);
        for bad in ["", "Main", "a_b", "main,,x", "smpp://a:canary@b", "mäin", too_long.as_str()] {
            assert_eq!(check_names(&names(bad)), Err(RoutesRefused::Name), "{bad}");
        }
        assert_eq!(check_names(&names("main,test")), Err(RoutesRefused::OfTestKeys));
        let twice = RoutesRefused::Twice("main".to_owned());
        assert_eq!(check_names(&names("main,simulator,main")), Err(twice));
        assert!(!RoutesRefused::Name.to_string().contains("canary"));
    }
}

//! What is wrong with the settings, told all at once.
//!
//! The command line's library stops at the first value that it cannot read, and nobody else looks
//! for variables that are no settings. `Cli::read` reads what it can, and notes the rest by the
//! name that was used: the flag or the variable.

use std::error::Error as _;
use std::ffi::OsString;
use std::fmt;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, CommandFactory as _, FromArgMatches as _, Id};

use crate::cli::Cli;
use crate::copy_command::{FROM, TO};
use crate::settings::SettingsRefused;
use crate::used_flags::UsedFlags;
use crate::{route_settings, secrets};

/// What the names of variables of this project begin with.
const OURS: &str = "SMS_";
/// Variables of programs beside the server: `sms`, the examples and the project's scripts.
const OF_OTHERS: [&str; 9] = [
    "SMS_ADMIN_URL",
    "SMS_API_KEY",
    "SMS_API_URL",
    "SMS_CHROMIUM",
    "SMS_KEY",
    "SMS_SERVER",
    "SMS_URL",
    "SMS_VENV",
    "SMS_WEBHOOK_SECRET",
];
/// What variables of the project's tests begin with.
const OF_TESTS: &str = "SMS_TEST_";
/// What is behind the name of a secret's variable if it names a file.
const IN_A_FILE: &str = "_FILE";

/// Mistakes in the settings, at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes(Vec<String>);

impl Mistakes {
    /// These mistakes.
    pub fn all<T: fmt::Display>(told: &[T]) -> Self {
        Self(told.iter().map(T::to_string).collect())
    }

    /// An error if there are any.
    pub fn of<T: fmt::Display>(told: &[T]) -> Result<(), Self> {
        if told.is_empty() { Ok(()) } else { Err(Self::all(told)) }
    }
}

impl fmt::Display for Mistakes {
    /// One mistake is a sentence; several have a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [only] => f.write_str(only),
            several => {
                write!(f, "{} settings are wrong:", several.len())?;
                several.iter().try_for_each(|line| write!(f, "\n  {line}"))
            }
        }
    }
}

/// Why a command line was not read.
#[derive(Debug)]
pub enum Unread {
    /// Help or the version was asked for, or a command is wrong. The library tells it.
    Clap(clap::Error),
    /// Settings are wrong.
    Settings(Mistakes),
}

impl Cli {
    /// Reads the arguments and the environment.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the settings. Variables that are no settings are refused where
    /// the program serves; commands leave them alone.
    pub fn read(arguments: Vec<OsString>, names: &[String]) -> Result<Self, Unread> {
        let mut given = Given { arguments, unset: Vec::new(), mistakes: Vec::new() };
        let cli = given.read()?;
        if cli.as_ref().is_none_or(|cli| cli.command.is_none()) {
            let known: Vec<String> =
                Self::command().get_arguments().filter_map(variable_of).collect();
            let routes = cli.as_ref().map(|cli| &cli.settings.routes[..]).unwrap_or_default();
            given.mistakes.extend(names.iter().filter_map(|name| unknown(name, &known, routes)));
        }
        if let Some(cli) = &cli
            && cli.command.is_none()
            && !given.mistakes.is_empty()
        {
            let variables = |name: &str| std::env::var(name).ok();
            let more = cli.settings.mistakes(&variables);
            let named = |why: &SettingsRefused| cli.settings.flags.named_in(&why.to_string());
            given.mistakes.extend(more.iter().map(named));
        }
        match cli {
            Some(cli) if given.mistakes.is_empty() => Ok(cli),
            _ => Err(Unread::Settings(Mistakes(given.mistakes))),
        }
    }
}

/// What a command line holds, less what turned out to be wrong.
struct Given {
    arguments: Vec<OsString>,
    /// The settings whose variables are not looked at.
    unset: Vec<Id>,
    mistakes: Vec<String>,
}

impl Given {
    /// The settings, with the default for each value that is wrong; `None` if secrets cannot be
    /// read.
    fn read(&mut self) -> Result<Option<Cli>, Unread> {
        loop {
            match self.command().try_get_matches_from(&self.arguments) {
                Ok(matches) => match Cli::from_arg_matches(&matches) {
                    Ok(mut cli) => {
                        cli.settings.flags = UsedFlags::of(&Cli::command(), &matches);
                        return Ok(Some(cli));
                    }
                    Err(error) => {
                        let lines = error.to_string();
                        let lines = lines.trim_start_matches("error: ").lines();
                        self.mistakes.extend(lines.map(str::to_owned));
                        return Ok(None);
                    }
                },
                Err(error) => match self.leave_out(&error) {
                    Some(mistake) => self.mistakes.push(mistake),
                    None => return Err(Unread::Clap(error)),
                },
            }
        }
    }

    /// A new one each time, because commands copy the settings that they share as it is built.
    fn command(&self) -> clap::Command {
        let unset = |command: clap::Command, id| command.mut_arg(id, |setting| setting.env(None));
        self.unset.iter().fold(Cli::command(), unset)
    }

    /// Leaves a value out that cannot be read, and tells what is wrong with it; `None` if the error
    /// is none of a setting's value.
    fn leave_out(&mut self, error: &clap::Error) -> Option<String> {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.as_str()),
            _ => None,
        };
        let value = text(ContextKind::InvalidValue)?;
        // Such as `--addr <ADDR>`.
        let flag = text(ContextKind::InvalidArg)?.split([' ', '=', '[']).next()?;
        let command = self.command();
        let setting = command.get_arguments().find(|setting| {
            setting.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long))
        })?;
        let name = if self.take_flag(flag) {
            flag.to_owned()
        } else {
            self.unset.push(setting.get_id().clone());
            variable_of(setting)?
        };
        let why = match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(valid)) if !valid.is_empty() => {
                format!("is none of {}", valid.join(", "))
            }
            _ => match error.source() {
                Some(source) => format!("is refused: {source}"),
                None => "is not valid".to_owned(),
            },
        };
        Some(format!("{name}: {value:?} {why}"))
    }

    /// Removes a flag and its value from the arguments. Whether it was there.
    fn take_flag(&mut self, flag: &str) -> bool {
        let with_value = format!("{flag}=");
        let is_it = |argument: &OsString| {
            argument.to_str().is_some_and(|text| text == flag || text.starts_with(&with_value))
        };
        let Some(at) = self.arguments.iter().position(is_it) else { return false };
        let taken = self.arguments.remove(at);
        if taken == *flag && at < self.arguments.len() {
            self.arguments.remove(at);
        }
        true
    }
}

fn variable_of(argument: &Arg) -> Option<String> {
    argument.get_env()?.to_str().map(str::to_owned)
}

/// What is wrong with the name of a variable; `None` if it is not ours or is known.
fn unknown(name: &str, settings: &[String], routes: &[String]) -> Option<String> {
    let bare = name.strip_suffix(IN_A_FILE).unwrap_or(name);
    let is_secret = |name: &str| {
        secrets::VARIABLES.contains(&name) || [FROM.variable, TO.variable].contains(&name)
    };
    let of_route = |name: &str| {
        let rest = name.strip_prefix(route_settings::PREFIX)?;
        let mut ends = route_settings::ALL.iter();
        ends.find(|end| rest.strip_suffix(*end).is_some_and(|route| route.len() > 1))
    };
    let is_known = settings.iter().any(|known| known == name)
        || is_secret(bare)
        || OF_OTHERS.contains(&bare)
        || name.starts_with(OF_TESTS)
        || of_route(name).is_some_and(|end| name.ends_with(&format!("_{end}")));
    if !name.starts_with(OURS) || is_known {
        return None;
    }
    let of_routes = routes.iter().flat_map(|route| {
        let prefix = route_settings::prefix(route);
        route_settings::ALL.iter().map(move |end| format!("{prefix}{end}"))
    });
    let secrets = secrets::VARIABLES
        .into_iter()
        .flat_map(|secret| [secret.to_owned(), format!("{secret}{IN_A_FILE}")]);
    let near = settings.iter().cloned().chain(of_routes).chain(secrets);
    let near = near.map(|known| (strsim::osa_distance(&known, name), known)).min();
    let near = near.filter(|(distance, _)| *distance * 4 <= name.len());
    let hint = match near {
        Some((_, known)) => format!("did you mean {known}?"),
        None => "`sms-server --help` lists the settings".to_owned(),
    };
    Some(format!("{name} is not a setting; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    /// The settings of a command line; `None` if they cannot be read.
    fn settings(flags: &[&str]) -> Option<Settings> {
        let line = ["sms-server"].iter().chain(flags).map(OsString::from).collect();
        Cli::read(line, &[]).ok().map(|cli| cli.settings)
    }

    #[test]
    fn a_message_names_the_flag_of_each_setting_that_came_as_one() {
        // Each setting takes one of these.
        let values = ["1", "true", "1s", "127.0.0.1:1", "192.0.2.7", "text", "memory"];
        let by_variable = settings(&[]).unwrap().flags;
        for setting in Cli::command().get_arguments() {
            let Some(variable) = variable_of(setting) else { continue };
            let flag = format!("--{}", setting.get_long().unwrap());
            let lines = values.map(|value| format!("{flag}={value}"));
            let read = lines.iter().find_map(|line| settings(&[line.as_str()]));
            let flags = read.unwrap_or_else(|| panic!("{flag} takes none of the values")).flags;
            let told = |name| format!("{name} is set with {name}=1: leave {name}_FILE or {name}");
            let by_flag = told(&variable).replace(&variable, &flag);
            let by_flag = by_flag.replace(&format!("{flag}_FILE"), &format!("{variable}_FILE"));
            assert_eq!(flags.named_in(&told(&variable)), by_flag);
            assert_eq!(by_variable.named_in(&told(&variable)), told(&variable));
        }
    }

    #[test]
    fn settings_that_contradict_each_other_or_are_invalid_are_told_by_their_flags() {
        for (flags, expected) in [
            (&["--sandbox", "--store", "file"][..], "--sandbox is set with --store=file: "),
            (&["--sandbox", "--routes", "main"], "--sandbox is set: "),
            (&["--routes", "simulator,test"], "--routes must not name test"),
            (&["--routes=simulator,simulator"], "--routes names simulator twice"),
            (&["--routes", "A"], "--routes must be names"),
            (&["--public-url", "example.com"], "--public-url must begin with http://"),
            (&["--webhook-timeout", "26s"], "--webhook-timeout must be 100ms to 25s"),
            (&["--log", "inof"], "--log: \"inof\" names no level"),
        ] {
            let read = settings(flags).unwrap();
            let told = read.flags.named_in(&read.mistakes(&|_| None)[0].to_string());
            assert!(told.starts_with(expected) && !told.contains("SMS_"), "{flags:?}: {told}");
        }
    }

    fn told(name: &str) -> Option<String> {
        let known: Vec<String> = Cli::command().get_arguments().filter_map(variable_of).collect();
        unknown(name, &known, &["main".to_owned()])
    }

    #[test]
    fn a_variable_that_is_no_setting_is_refused_with_the_nearest_one() {
        for (name, near) in [
            ("SMS_ADRR", "SMS_ADDR"),
            ("SMS_ROUTE_MAIN_WINDOWS", "SMS_ROUTE_MAIN_WINDOW"),
            ("SMS_ROUTE_MAIN_PASWORD", "SMS_ROUTE_MAIN_PASSWORD"),
            ("SMS_ROUTE", "SMS_ROUTES"),
            ("SMS_ADMIN_TOKN", "SMS_ADMIN_TOKEN"),
            ("SMS_LOGFORMAT", "SMS_LOG_FORMAT"),
            ("SMS_RATE_PER_SEC", "SMS_RATE_PER_SECOND"),
        ] {
            let hint = told(name).unwrap_or_default();
            assert_eq!(hint, format!("{name} is not a setting; did you mean {near}?"));
        }
        let far = told("SMS_TIMEZONE").unwrap_or_default();
        assert!(far.ends_with("`sms-server --help` lists the settings"), "{far}");
    }

    #[test]
    fn settings_secrets_routes_and_other_programs_variables_are_known() {
        for name in [
            "SMS_ADDR",
            "SMS_ADMIN_TOKEN",
            "SMS_ADMIN_TOKEN_FILE",
            "SMS_COPY_FROM",
            "SMS_COPY_TO_FILE",
            "SMS_ROUTE_MAIN_URL",
            "SMS_ROUTE_BACK_UP_PASSWORD_FILE",
            "SMS_ROUTE_ANOTHER_BINDS",
            "SMS_REPLIES_PER_HOUR",
            "SMS_API_KEY",
            "SMS_TEST_STORE",
            "PATH",
        ] {
            assert_eq!(told(name), None, "{name}");
        }
    }
}

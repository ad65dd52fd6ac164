//! The settings that are secret. Each is an environment variable, or the content of a file that
//! another variable names. None is a flag, because other users of a machine can read the arguments
//! of a program.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fmt;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use sms_core::secret_setting::{Look, secret_setting};

pub use sms_core::secret_setting::SecretRefused;

const DATABASE_URL: &str = "DATABASE_URL";
const ADMIN_TOKEN: &str = "SMS_ADMIN_TOKEN";
const SECRET_KEY: &str = "SMS_SECRET_KEY";

/// The flags that the secrets would have, each with its variable.
const FLAGS: [(&str, &str); 3] =
    [("database-url", DATABASE_URL), ("admin-token", ADMIN_TOKEN), ("secret-key", SECRET_KEY)];

/// The variables of the secrets. Each may have `_FILE` at its end.
pub(crate) const VARIABLES: [&str; 3] = [DATABASE_URL, ADMIN_TOKEN, SECRET_KEY];

/// What `--help` says of the secrets.
pub const HELP: &str = "\
Secrets (never flags, because other users of a machine can read the arguments of a program):
  DATABASE_URL
          PostgreSQL database, as a postgres:// URL. It may name several hosts, a primary and its
          standbys: postgres://user@one:5432,two:5432/sms [default: SMS_STORE decides]

          [env: DATABASE_URL or DATABASE_URL_FILE]
  SMS_ADMIN_TOKEN
          Bearer token of the operator API, at least 16 characters; required with DATABASE_URL
          [default: generated; the file store keeps it in SMS_DATA_DIR/admin-token]

          [env: SMS_ADMIN_TOKEN or SMS_ADMIN_TOKEN_FILE]
  SMS_SECRET_KEY
          Keys that encrypt webhook secrets in the database, as id:BASE64, separated by commas: the
          first one encrypts, all of them decrypt. A key is 32 bytes, as `openssl rand -base64 32`
          prints [default: secrets are stored in plain text]

          [env: SMS_SECRET_KEY or SMS_SECRET_KEY_FILE]
  SMS_ROUTE_{NAME}_PASSWORD
          Password of the SMPP route {NAME}

          [env: SMS_ROUTE_{NAME}_PASSWORD or SMS_ROUTE_{NAME}_PASSWORD_FILE]

A variable that ends in _FILE names a file that holds the value. White space around a
value is no part of it.";

/// A secret setting. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl std::str::FromStr for Hidden {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// The secrets of the server. Whoever parses a command line reads them from the environment.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// PostgreSQL database, as a postgres:// URL.
    pub database_url: Option<Hidden>,
    /// Bearer token of the operator API.
    pub admin_token: Option<Hidden>,
    /// Keys that encrypt webhook secrets in the database.
    pub secret_key: Option<Hidden>,
}

impl Secrets {
    /// The secrets, or every reason why one cannot be read.
    fn read(look: Look<'_>) -> Result<Self, Vec<SecretRefused>> {
        let mut refused = Vec::new();
        let mut read = |variable| {
            look_up(variable, look).unwrap_or_else(|why| {
                refused.push(why);
                None
            })
        };
        let secrets = Self {
            database_url: read(DATABASE_URL),
            admin_token: read(ADMIN_TOKEN),
            secret_key: read(SECRET_KEY),
        };
        if refused.is_empty() { Ok(secrets) } else { Err(refused) }
    }
}

/// The secret of this variable, or of the file that the variable with `_FILE` names; `None` if
/// neither is set.
///
/// # Errors
///
/// If both are set, or the file cannot be read or is empty.
pub fn secret(variable: &str) -> Result<Option<Hidden>, SecretRefused> {
    look_up(variable, &|name| std::env::var(name))
}

/// The same, with another environment.
pub(crate) fn look_up(variable: &str, look: Look<'_>) -> Result<Option<Hidden>, SecretRefused> {
    let found = secret_setting(variable, look, &|file| std::fs::read_to_string(file))?;
    Ok(found.map(Hidden))
}

impl FromArgMatches for Secrets {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        let read = Self::read(&|name| std::env::var(name));
        read.map_err(|refused| {
            let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
            clap::Error::raw(ErrorKind::ValueValidation, lines.join("\n"))
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Secrets {
    fn augment_args(command: Command) -> Command {
        let refused = |(flag, variable): (&'static str, &'static str)| {
            let arg = Arg::new(flag).long(flag).hide(true).global(true).num_args(0..=1);
            arg.default_missing_value("").value_parser(NoFlag { flag, variable })
        };
        command.args(FLAGS.map(refused))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Refuses a flag, and says what to set instead. The message does not show the value.
#[derive(Debug, Clone, Copy)]
struct NoFlag {
    flag: &'static str,
    variable: &'static str,
}

impl TypedValueParser for NoFlag {
    type Value = Infallible;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        _: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let Self { flag, variable } = self;
        let message = format!(
            "--{flag} is not taken, because other users of a machine can read the arguments of a \
             program: set {variable} in the environment, or {variable}_FILE to the path of a file \
             that holds the value\n"
        );
        Err(clap::Error::raw(ErrorKind::UnknownArgument, message))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::env::VarError;

    use super::*;
    use crate::copy_command::{FROM, TO};
    use crate::route_settings;

    type Environment<'a> = BTreeMap<String, &'a str>;
    type Read = fn(Look<'_>) -> Result<Option<String>, String>;

    /// One of the secrets of the server.
    fn one(
        look: Look<'_>,
        of: impl Fn(Secrets) -> Option<Hidden>,
    ) -> Result<Option<String>, String> {
        let secrets = Secrets::read(look).map_err(|refused| refused[0].to_string())?;
        Ok(of(secrets).map(|secret| secret.0))
    }

    fn of_copy(variable: &str, look: Look<'_>) -> Result<Option<String>, String> {
        let found = look_up(variable, look).map_err(|refused| refused.to_string())?;
        Ok(found.map(|secret| secret.0))
    }

    /// The password of a route, as far as its settings tell it.
    fn of_route(look: Look<'_>) -> Result<Option<String>, String> {
        const URL: &str = "smpp://example@smsc.example.com";
        let variables = |name: &str| match name {
            "SMS_ROUTE_MAIN_URL" => Some(URL.to_owned()),
            other => look(other).ok(),
        };
        match route_settings::read("main", &variables) {
            Ok(settings) => {
                let expected = sms_smpp::settings::RouteSettings::new(URL, "s e").unwrap();
                assert_eq!(settings, expected, "another password");
                Ok(Some("s e".to_owned()))
            }
            Err(bad) if bad[0].problem.starts_with("is missing") => Ok(None),
            Err(bad) => Err(bad[0].to_string()),
        }
    }

    /// Every secret that may come from a file.
    const ALL: [(&str, Read); 6] = [
        (DATABASE_URL, |look| one(look, |secrets| secrets.database_url)),
        (ADMIN_TOKEN, |look| one(look, |secrets| secrets.admin_token)),
        (SECRET_KEY, |look| one(look, |secrets| secrets.secret_key)),
        (FROM.variable, |look| of_copy(FROM.variable, look)),
        (TO.variable, |look| of_copy(TO.variable, look)),
        ("SMS_ROUTE_MAIN_PASSWORD", of_route),
    ];

    #[test]
    fn every_secret_is_read_by_the_same_rule() {
        let folder = std::env::temp_dir().join(format!("sms-secrets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, content: &str| {
            std::fs::write(folder.join(name), content).unwrap();
            folder.join(name).to_str().unwrap().to_owned()
        };
        let (full, empty) = (file("full", "\t s e \r\n"), file("empty", " \n"));
        let missing = folder.join("canary").to_str().unwrap().to_owned();
        for (variable, read) in ALL {
            for (value, file, expected) in [
                (None, None, Ok(None)),
                (Some(" "), Some(""), Ok(None)),
                (Some(" s e\n"), None, Ok(Some("s e"))),
                (None, Some(&*full), Ok(Some("s e"))),
                (Some(""), Some(&*full), Ok(Some("s e"))),
                (Some("s e"), Some(&*full), Err("set")),
                (None, Some(&*empty), Err("is empty")),
                (None, Some(&*missing), Err("cannot be read")),
            ] {
                let mut environment = Environment::new();
                environment.extend(value.map(|value| (variable.to_owned(), value)));
                environment.extend(file.map(|file| (format!("{variable}_FILE"), file)));
                let look = |name: &str| {
                    environment.get(name).map(|it| (*it).to_owned()).ok_or(VarError::NotPresent)
                };
                match (read(&look), expected) {
                    (Ok(found), Ok(expected)) => {
                        assert_eq!(found.as_deref(), expected, "{variable} {value:?} {file:?}");
                    }
                    (Err(told), Err(words)) => {
                        assert!(told.contains(words), "{variable}: {told}");
                        assert!(told.contains(variable) && !told.contains("canary"), "{told}");
                    }
                    (found, _) => panic!("{variable} {value:?} {file:?}: {found:?}"),
                }
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

//! The command that copies everything from one store to another.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sms_copy::{Copied, CopyFailed, Portable};
use sms_store_postgres::{ConnectFailed, PgStore};
use sms_store_sqlite::{OpenError, SqliteStore};

use crate::copy_progress::Told;
use crate::secrets::{Hidden, SecretRefused, secret};

/// Where a store is. `Debug` does not show the password of a database.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A file.
    File(PathBuf),
    /// A database.
    Postgres(String),
}

/// The text is no address of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write sqlite:PATH for a file or a data folder, or postgres://... for a database")]
pub struct NotAnAddress;

impl FromStr for StoreAddress {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            _ => Err(NotAnAddress),
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(_) => f.write_str("postgres://…"),
        }
    }
}

/// A store that a copy needs, and where its address is given.
#[derive(Debug, Clone, Copy)]
pub struct End {
    flag: &'static str,
    pub(crate) variable: &'static str,
}

/// What is copied.
pub const FROM: End = End { flag: "--from", variable: "SMS_COPY_FROM" };
/// Where to.
pub const TO: End = End { flag: "--to", variable: "SMS_COPY_TO" };

impl End {
    /// The address in the argument, or else in the environment.
    ///
    /// # Errors
    ///
    /// If there is none, or the argument holds a password.
    pub fn address(self, argument: Option<Hidden>) -> Result<StoreAddress, CopyCommandFailed> {
        let Self { flag, variable } = self;
        let (name, text) = match argument {
            Some(Hidden(text)) if has_password(&text) => {
                return Err(CopyCommandFailed::Password { flag, variable });
            }
            Some(Hidden(text)) => (flag, text),
            None => {
                let found = secret(variable)?;
                (variable, found.ok_or(CopyCommandFailed::NoAddress { flag, variable })?.0)
            }
        };
        text.parse().map_err(|source| CopyCommandFailed::Address { name, source })
    }
}

/// Whether the address of a database has a password, before its host or among its parameters.
fn has_password(address: &str) -> bool {
    let Some((_, rest)) = address.split_once("://") else { return false };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let person = authority.rsplit_once('@').map_or("", |(person, _)| person);
    let parameters = rest.split_once('?').map_or("", |(_, parameters)| parameters);
    person.contains(':') || parameters.to_ascii_lowercase().contains("password=")
}

/// Why the data was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyCommandFailed {
    /// An address is missing.
    #[error("{flag} is missing: give it, or set {variable}")]
    NoAddress {
        /// The argument.
        flag: &'static str,
        /// The variable that may hold it instead.
        variable: &'static str,
    },
    /// An address in the arguments has a password.
    #[error(
        "{flag} must have no password, because other users of a machine can read the arguments of \
         a program: set {variable} to the whole address, or {variable}_FILE to the path of a file \
         that holds it"
    )]
    Password {
        /// The argument.
        flag: &'static str,
        /// The variable that may hold it instead.
        variable: &'static str,
    },
    /// An address cannot be one. The message does not show it.
    #[error("{name}: {source}")]
    Address {
        /// The argument or the variable.
        name: &'static str,
        /// What to write.
        source: NotAnAddress,
    },
    /// An address in the environment cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretRefused),
    /// There is no such file.
    #[error("there is no file {}: name the file or the data folder of a server", .0.display())]
    NoSource(PathBuf),
    /// A file could not be opened.
    #[error(transparent)]
    File(#[from] OpenError),
    /// A database could not be reached or prepared.
    #[error("the database cannot be used: {0}")]
    Database(#[from] ConnectFailed),
    /// The copy was refused or failed.
    #[error(transparent)]
    Copy(#[from] CopyFailed),
}

/// Copies everything, or goes on with a copy that was interrupted. Returns what to tell the
/// operator.
///
/// # Errors
///
/// If a store cannot be used, or as [`sms_copy::copy`].
pub async fn run(from: &StoreAddress, to: &StoreAddress) -> Result<String, CopyCommandFailed> {
    if let StoreAddress::File(path) = from
        && !file_of(path).is_file()
    {
        return Err(CopyCommandFailed::NoSource(file_of(path)));
    }
    let source = open(from).await?;
    let target = open(to).await?;
    let copied = sms_copy::copy(&*source, &*target, &mut Told::start()).await?;
    Ok(report(&copied, to))
}

/// The file in a data folder, or the file itself.
fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { crate::data_dir::DataDir(path).database() } else { path.to_owned() }
}

async fn open(address: &StoreAddress) -> Result<Box<dyn Portable>, CopyCommandFailed> {
    Ok(match address {
        StoreAddress::File(path) => Box::new(SqliteStore::open_to_copy(file_of(path))?),
        StoreAddress::Postgres(url) => Box::new(PgStore::connect_to_copy(url).await?),
    })
}

fn report(copied: &Copied, to: &StoreAddress) -> String {
    let Copied { tables, resumed, accounts, items, .. } = copied;
    let rows: u64 = tables.iter().map(|(_, rows)| rows).sum();
    let mut text = format!("copied {rows} rows");
    if *resumed > 0 {
        let _ = write!(text, ", {resumed} of them before an interruption");
    }
    for (table, rows) in tables.iter().filter(|(_, rows)| *rows > 0) {
        let _ = write!(text, "\n  {table:<16} {rows:>12}");
    }
    let _ = write!(
        text,
        "\nverified: every table has the same rows in both stores, by number and content; the \
         balances of {accounts} accounts are the sums of their ledgers; {items} items of lists \
         read the same through both stores\nnext: "
    );
    text.push_str(match to {
        StoreAddress::File(_) => "start the server with SMS_DATA_DIR at the folder of the new file",
        StoreAddress::Postgres(_) => "start the server with DATABASE_URL at the new database",
    });
    text.push_str(
        ", and the same SMS_SECRET_KEY and SMS_ADMIN_TOKEN as before. Start no server on the old \
         data again: it would send the messages that wait a second time",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_file_or_a_database() {
        let file = |path: &str| Ok(StoreAddress::File(PathBuf::from(path)));
        let database = |url: &str| Ok(StoreAddress::Postgres(url.to_owned()));
        for (text, expected) in [
            ("sqlite:sms-data", file("sms-data")),
            ("sqlite:/srv/sms/sms.db", file("/srv/sms/sms.db")),
            ("postgres://localhost/sms", database("postgres://localhost/sms")),
            ("postgresql://localhost/sms", database("postgresql://localhost/sms")),
            ("sqlite:", Err(NotAnAddress)),
            ("sms.db", Err(NotAnAddress)),
            ("mysql://localhost/sms", Err(NotAnAddress)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for (text, expected) in [
            ("sqlite:/srv/a:b@c/sms.db", false),
            ("postgres://localhost:5432/sms", false),
            ("postgres://me@localhost:5432,other:5432/sms?sslmode=disable", false),
            ("postgres://me:canary@localhost/sms", true),
            ("postgresql://me:@localhost", true),
            ("postgres://localhost/sms?user=me&password=canary", true),
        ] {
            assert_eq!(has_password(text), expected, "{text}");
            let told = FROM.address(Some(Hidden(text.to_owned())));
            let told = told.map_err(|refused| refused.to_string());
            assert_eq!(told.is_err(), expected, "{text}");
            let told = told.err().unwrap_or_default();
            assert!(!told.contains("canary") && expected == told.contains("SMS_COPY_FROM_FILE"));
        }
        let secret: StoreAddress = "postgres://me:secret@localhost/sms".parse().unwrap();
        assert!(!format!("{secret:?}").contains("secret"));
    }
}

//! Why a copy was refused or failed.

use std::error::Error as _;
use std::fmt;

use sms_core::store::StoreError;

/// One of the two stores of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that is copied.
    Source,
    /// The one that is written.
    Target,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// Why a copy was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyFailed {
    /// A server or another copy uses one of the stores.
    #[error(
        "{count} other connections of this platform use the {side}: stop all servers and copies on \
         it, and start the copy again"
    )]
    InUse {
        /// The store that is in use.
        side: Side,
        /// How many connections there are.
        count: u64,
    },
    /// A store has tables or columns that this program does not know.
    #[error(
        "the {side} has what this program cannot copy ({}): use the version that wrote it, and \
         keep other tables in another database", .unknown.join(", ")
    )]
    Unknown {
        /// The store that has them.
        side: Side,
        /// The tables and columns.
        unknown: Vec<String>,
    },
    /// The source is itself an unfinished copy.
    #[error("the source is an unfinished copy: finish that copy first")]
    Unfinished,
    /// The target holds data that this copy did not write.
    #[error(
        "the target already holds data ({table} has {rows} rows): copy into an empty database or a \
         new file"
    )]
    NotEmpty {
        /// A table with rows.
        table: &'static str,
        /// How many it has.
        rows: u64,
    },
    /// The target holds the beginning of another copy.
    #[error(
        "the target holds the beginning of a copy of other data, or the source has changed since: \
         copy into an empty database or a new file"
    )]
    OtherSource,
    /// The rows of a table differ after the copy.
    #[error(
        "{table} differs after the copy: {source_rows} rows in the source, {target_rows} in the \
         target; was the source in use? Copy again, into an empty database or a new file"
    )]
    RowsDiffer {
        /// The name of the table in the catalogue.
        table: &'static str,
        /// How many rows the source has.
        source_rows: u64,
        /// How many rows the target has.
        target_rows: u64,
    },
    /// A balance is not the sum of its ledger.
    #[error(
        "in the {side}, the balance of account {account} is {balance}, and its ledger adds up to \
         {sum}"
    )]
    Unbalanced {
        /// The store whose ledger does not match.
        side: Side,
        /// The id of the account: `acc_…`.
        account: String,
        /// Its stored balance, in credits.
        balance: i64,
        /// The sum of its ledger.
        sum: i64,
    },
    /// A list has other items when it is read from the target.
    #[error(
        "the {list} of account {account} read differently from the source and the target after the \
         copy: please report this as a bug, and go on using the source"
    )]
    ListsDiffer {
        /// The name of the list, as people call it.
        list: &'static str,
        /// The account, or "all".
        account: String,
    },
    /// A store failed; the message shows all causes.
    #[error("{}", told(.0))]
    Store(#[from] StoreError),
}

/// An error with its causes.
fn told(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    text
}

//! Opt-outs: numbers that must not get messages.

use serde::{Deserialize, Serialize};

use crate::call::{Call, KeyedCall};
use crate::choice::open_choice;
use crate::client::Client;
use crate::listing::{Listing, NextPage};
use crate::private_text::{Phone, Words};
use crate::timestamp::Timestamp;

open_choice! {
    /// Who said that a number must not get messages.
    OptOutSource {
        /// The person, by texting STOP.
        Sms = "sms",
        /// A program, by the API.
        Api = "api",
        /// Somebody at the dashboard.
        Dashboard = "dashboard",
    }
}

/// A number that must not get messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptOut {
    /// The number, in E.164.
    pub phone: Phone,
    /// Who said so.
    pub source: OptOutSource,
    /// What somebody noted.
    pub note: Option<Words>,
    /// Since when.
    pub created_at: Timestamp,
}

/// A number to opt out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OptOutInput {
    /// The number, in any common form.
    pub phone: Phone,
    /// What to note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Words>,
}

/// Numbers to opt out, up to 20,000.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct OptOutImport {
    /// The numbers.
    pub rows: Vec<OptOutInput>,
}

open_choice! {
    /// What a row of an import of opt-outs did.
    OptOutImportOutcome {
        /// The number is opted out from now on.
        Created = "created",
        /// The number had opted out already, or an earlier row has it.
        Existing = "existing",
        /// The number is no UK mobile number.
        Invalid = "invalid",
    }
}

/// What an import of opt-outs did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptOutImportResult {
    /// How many numbers were opted out.
    pub created: u64,
    /// How many rows have a number that had opted out already, or that an earlier row has.
    pub existing: u64,
    /// How many rows have no number.
    pub invalid: u64,
    /// What each row did, in their order.
    pub rows: Vec<OptOutImportRow>,
}

/// What a row of an import of opt-outs did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptOutImportRow {
    /// Its place, counted from 0.
    pub row: u64,
    /// The number: in E.164 if it is one, else as given.
    pub phone: Phone,
    /// What it did.
    pub outcome: OptOutImportOutcome,
    /// What is wrong with its number, or with a note that was left out.
    pub error: Option<String>,
}

/// Which opt-outs a list has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct OptOutFilter {
    /// A number in any form, or text to find in the note.
    pub q: Option<Words>,
}

/// The meta of a page of opt-outs, the one list that is read by offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalMeta {
    /// How many there are in all.
    pub total: u64,
}

impl NextPage for TotalMeta {
    fn next_page(&self, read: u64) -> Option<(&'static str, String)> {
        (read < self.total).then(|| ("offset", read.to_string()))
    }
}

impl Client {
    /// Lists opt-outs, newest first.
    pub fn opt_out_list(&self, filter: &OptOutFilter) -> Listing<OptOut, TotalMeta> {
        self.list(&["opt-outs"], filter)
    }

    /// Opts a number out. A number that is opted out already stays as it is.
    pub fn opt_out_create(&self, input: &OptOutInput) -> KeyedCall<OptOut> {
        self.post_json(&["opt-outs"], input).keyed()
    }

    /// Opts out many numbers. Those that are opted out already stay as they are, so it does no harm
    /// to do it twice.
    pub fn opt_out_import(&self, input: &OptOutImport) -> Call<OptOutImportResult> {
        self.post_json(&["opt-outs", "import"], input)
    }

    /// Lets a number get messages again. Do so only if the person asked for it.
    pub fn opt_out_delete(&self, number: &Phone) -> Call<()> {
        self.delete(&["opt-outs", number.as_str()])
    }
}

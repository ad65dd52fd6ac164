//! `POST /opt-outs/import`: many opt-outs at once.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::contact::import::MAX_ROWS;
use sms_core::opt_out::Via;
use sms_core::opt_out::import::{OptOutImported, OptOutOutcome, OptOutRow};
use sms_core::service::Caller;

use super::tag::Tag;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, Ready};
use crate::web::error::ApiError;
use crate::web::field_error::checked;

/// How many characters a number or a note may have; what is wrong with shorter ones is told by row.
const MAX_TEXT: usize = 10_000;

request_body! {
    /// A number that gets no messages.
    struct OptOutRowBody as "OptOutRow" {
        /// A UK mobile number, in any common format.
        required phone: String = text().max(MAX_TEXT), example "07700 900123";
        /// Your note, at most 500 characters; a longer one is left out.
        optional note: String = text().max(MAX_TEXT), example "Asked on the phone";
    }
}

request_body! {
    /// Numbers that get no messages.
    struct OptOutImport as "OptOutImport" {
        /// The numbers. A number that has opted out already stays as it is.
        required rows: Vec<OptOutRowBody> = list(object()).max(MAX_ROWS);
    }
}

/// The result of one row.
#[derive(Debug, Object)]
struct OptOutImportRow {
    /// The row, counted from 0.
    row: u64,
    /// The number: in E.164 if it is valid, else as given.
    phone: String,
    /// The result.
    outcome: Named<OptOutOutcome>,
    /// What is wrong with an invalid row, or with a note that was left out; null otherwise.
    error: Option<String>,
}

/// The result of an import of opt-outs.
#[derive(Debug, Object)]
struct OptOutImportResult {
    /// How many numbers were opted out.
    created: u64,
    /// How many rows have a number that had opted out already, or that an earlier row has.
    existing: u64,
    /// How many rows are invalid.
    invalid: u64,
    /// The result of each row, in the order given.
    rows: Vec<OptOutImportRow>,
}

impl From<Vec<OptOutImported>> for OptOutImportResult {
    fn from(imported: Vec<OptOutImported>) -> Self {
        let count = |outcome| imported.iter().filter(|row| row.outcome == outcome).count() as u64;
        let created = count(OptOutOutcome::Created);
        let existing = count(OptOutOutcome::Existing);
        let invalid = count(OptOutOutcome::Invalid);
        let rows = (0..).zip(imported).map(|(row, told)| OptOutImportRow {
            row,
            phone: told.phone,
            outcome: Named(told.outcome),
            error: told.error,
        });
        Self { created, existing, invalid, rows: rows.collect() }
    }
}

/// The handler of `POST /opt-outs/import`.
#[derive(Debug)]
pub struct OptOutImportApi {
    sms: Sms,
}

impl OptOutImportApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/opt-outs", tag = "Tag::OptOuts")]
impl OptOutImportApi {
    /// Import opt-outs
    ///
    /// Up to 20,000 rows in up to 1 MB. A repeated request changes nothing. An invalid row is
    /// reported in the answer and does not affect the others.
    #[oai(path = "/import", method = "post", operation_id = "opt_out_import")]
    async fn import(
        &self,
        caller: Data<&Caller>,
        body: Body<OptOutImport>,
    ) -> Result<Ready<Answer<OptOutImportResult>>, ApiError> {
        let OptOutImport { rows } = checked(body)?;
        let rows = rows.into_iter();
        let rows = rows.map(|OptOutRowBody { phone, note }| OptOutRow { phone, note }).collect();
        let account = self.sms.account(caller.account, caller.mode);
        let imported = account.opt_outs_import(rows, Via::Api).await?;
        Ok(Ready::of(imported.len(), || Answer::new(imported.into())).await)
    }
}

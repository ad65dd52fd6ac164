//! `POST /contacts/import`: many contacts at once.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::contact::import::{Imported, MAX_ROWS, RowOutcome};
use sms_core::service::Caller;
use sms_core::{Error, Sms};

use super::contact_shape::ContactBody;
use super::tag::Tag;
use crate::api::idempotency::{KeyHeader, answered};
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, Ready, ReplayMeta};
use crate::web::failing::Failing;
use crate::web::field_error::checked;
use crate::web::param::HeaderParam;

request_body! {
    /// Contacts to create or update.
    struct ContactImport as "ContactImport" {
        /// The contacts. Blank values do not change stored ones. Of two rows with the same number,
        /// the later one counts.
        required rows: Vec<ContactBody> = list(object()).max(MAX_ROWS);
        /// A list to add them to.
        optional list_id: String = text();
    }
}

/// The result of one row.
#[derive(Debug, Object)]
struct ImportRow {
    /// The row, counted from 0.
    row: u64,
    /// The number: in E.164 if it is valid, else as given.
    phone: String,
    /// The result.
    outcome: Named<RowOutcome>,
    /// The contact with this number; null if the row is invalid.
    contact_id: Option<String>,
    /// What is wrong with an invalid row; null otherwise.
    error: Option<String>,
}

/// The result of an import.
#[derive(Debug, Object)]
struct ImportResult {
    /// How many contacts were created.
    created: u64,
    /// How many contacts were updated.
    updated: u64,
    /// How many contacts were up to date already.
    unchanged: u64,
    /// How many rows are invalid.
    invalid: u64,
    /// How many contacts were added to the list.
    added_to_list: u64,
    /// The result of each row, in the order given.
    rows: Vec<ImportRow>,
}

impl From<Imported> for ImportResult {
    fn from(imported: Imported) -> Self {
        let count = |outcome| imported.count(outcome) as u64;
        let totals = (
            count(RowOutcome::Created),
            count(RowOutcome::Updated),
            count(RowOutcome::Unchanged),
            count(RowOutcome::Invalid),
        );
        let (created, updated, unchanged, invalid) = totals;
        let rows = (0..).zip(imported.rows).map(|(row, told)| ImportRow {
            row,
            phone: told.phone,
            outcome: Named(told.outcome),
            contact_id: told.contact.map(|id| id.to_string()),
            error: told.error,
        });
        Self {
            created,
            updated,
            unchanged,
            invalid,
            added_to_list: imported.added_to_list as u64,
            rows: rows.collect(),
        }
    }
}

/// The handler of `POST /contacts/import`.
#[derive(Debug)]
pub struct ContactImportApi {
    sms: Sms,
}

impl ContactImportApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/contacts", tag = "Tag::Contacts")]
impl ContactImportApi {
    /// Import contacts
    ///
    /// Up to 20,000 rows in up to 8 MB. A row updates the contact with its number, or creates one.
    /// An invalid row is reported in the answer and does not affect the others. A row that does not
    /// have the shape of a contact makes the whole request fail.
    #[oai(path = "/import", method = "post", operation_id = "contact_import")]
    async fn import(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<ContactImport>,
    ) -> Result<Ready<Answer<ImportResult, Option<ReplayMeta>>>, Failing<Conflict>> {
        let (KeyHeader(key), ContactImport { rows, list_id }) = checked((key, body))?;
        let list = list_id.map(|id| {
            id.parse().map_err(|_| Error::UnknownReference { resource: "list", id: id.clone() })
        });
        let rows = rows.into_iter().map(Into::into).collect();
        let account = self.sms.account(caller.account, caller.mode).keyed(key);
        let imported = account.contacts_import(rows, list.transpose()?).await?;
        let items = imported.value.rows.len();
        Ok(Ready::of(items, || answered(imported)).await)
    }
}

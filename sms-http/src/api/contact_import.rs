//! `POST /contacts/import`: many contacts at once.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::contact::import::{Imported, MAX_ROWS, RowOutcome};
use sms_core::service::Caller;
use sms_core::{Error, Sms};

use super::Tag;
use super::contact_shape::ContactBody;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::field_error::checked;

request_body! {
/// Contacts to make or to add to.
struct ContactImport as "ContactImport" {
    /// The contacts. Blank values leave what is stored alone; of two rows with one number the
    /// later counts.
    required rows: Vec<ContactBody> = list(object()).max(MAX_ROWS);
    /// A list to put them on.
    optional list_id: String = text();
}
}

/// What became of one row.
#[derive(Debug, Object)]
struct ImportRow {
    /// Which row, counted from 0.
    row: u64,
    /// The number: in E.164 where it could be read, else as given.
    phone: String,
    /// What became of it.
    outcome: Named<RowOutcome>,
    /// The contact that has the number now.
    contact_id: Option<String>,
    /// What is wrong with an invalid row.
    error: Option<String>,
}

/// What an import did.
#[derive(Debug, Object)]
struct ImportResult {
    /// How many contacts it made.
    created: u64,
    /// How many it changed.
    updated: u64,
    /// How many were so already.
    unchanged: u64,
    /// How many rows break a rule.
    invalid: u64,
    /// How many contacts are on the list now that were not.
    added_to_list: u64,
    /// What became of each row, in the order given.
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

/// The handler that imports.
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
    /// Up to 20,000 rows in up to 8 MB. A number that is a contact already is added to, any other
    /// becomes one. A row that breaks a rule is told in the answer and takes nothing from the
    /// others; one that has not the form of a contact refuses the request.
    #[oai(path = "/import", method = "post", operation_id = "contact_import")]
    async fn import(
        &self,
        caller: Data<&Caller>,
        body: Body<ContactImport>,
    ) -> Result<Answer<ImportResult>, ApiError> {
        let ContactImport { rows, list_id } = checked(body)?;
        let list = list_id.map(|id| {
            id.parse().map_err(|_| Error::UnknownReference { resource: "list", id: id.clone() })
        });
        let rows = rows.into_iter().map(Into::into).collect();
        let account = self.sms.account(caller.account, caller.mode);
        let imported = account.contacts_import(rows, list.transpose()?).await?;
        Ok(Answer::new(imported.into()))
    }
}

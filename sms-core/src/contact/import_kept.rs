//! What is kept of an import, so that a repetition can be answered row by row.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::import::{ImportRow, Imported, ImportedRow, RowOutcome};
use crate::idempotency::{Answer, Fields};
use crate::ids::ContactId;

/// The outcomes and the contacts of the rows. Numbers and errors follow from the request. At most
/// 33 bytes a row: 660 kB for 20,000 rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptImport {
    /// One letter for each row: see [`letter`].
    outcomes: String,
    /// 32 hexadecimal digits for each row that has a contact.
    contacts: String,
    added_to_list: usize,
}

/// A repetition returns the result of each row as it was.
impl Answer for Imported {
    type Kept = KeptImport;

    fn kept(&self) -> KeptImport {
        let Self { rows, added_to_list } = self;
        let ids = rows.iter().filter_map(|row| row.contact);
        let mut contacts = String::new();
        for id in ids {
            // Writing to a string cannot fail.
            let _ = write!(contacts, "{:032x}", id.as_u128());
        }
        KeptImport {
            outcomes: rows.iter().map(|row| letter(row.outcome)).collect(),
            contacts,
            added_to_list: *added_to_list,
        }
    }
}

impl KeptImport {
    /// The result of the import of these rows.
    pub fn imported(&self, rows: &[ImportRow]) -> Imported {
        let Self { outcomes, contacts, added_to_list } = self;
        let mut ids = contacts.as_bytes().chunks(32).map(id);
        let rows = rows.iter().zip(outcomes.chars()).map(|(row, letter)| {
            let (phone, error) = match row {
                ImportRow::Contact(phone, _) => (phone.to_string(), None),
                ImportRow::Invalid { phone, error } => (phone.clone(), Some(error.clone())),
            };
            let contact = if error.is_none() { ids.next().flatten() } else { None };
            ImportedRow { phone, outcome: outcome(letter), contact, error }
        });
        Imported { rows: rows.collect(), added_to_list: *added_to_list }
    }
}

/// Adds the meaning of rows to a fingerprint.
pub(crate) fn meaning(rows: &[ImportRow], fields: &mut Fields) {
    fields.add(
        "rows",
        rows.iter().flat_map(|row| match row {
            ImportRow::Contact(phone, details) => [phone.to_string(), details.meaning()],
            ImportRow::Invalid { phone, error } => [phone.clone(), format!("invalid: {error}")],
        }),
    );
}

fn letter(outcome: RowOutcome) -> char {
    match outcome {
        RowOutcome::Created => 'c',
        RowOutcome::Updated => 'u',
        RowOutcome::Unchanged => '=',
        RowOutcome::Invalid => 'x',
        RowOutcome::Duplicate => 'd',
    }
}

fn outcome(wanted: char) -> RowOutcome {
    let all = RowOutcome::ALL.into_iter();
    all.clone().find(|one| letter(*one) == wanted).unwrap_or(RowOutcome::Invalid)
}

fn id(digits: &[u8]) -> Option<ContactId> {
    let digits = std::str::from_utf8(digits).ok()?;
    u128::from_str_radix(digits, 16).ok().map(ContactId::from_u128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{ContactInput, Details};
    use crate::samples::person;

    #[test]
    fn an_import_is_rebuilt_row_by_row() {
        let rows = [
            ImportRow::Contact(person(), Details::default()),
            ImportRow::of(ContactInput::new("nonsense")),
            ImportRow::Contact(person(), Details::default()),
        ];
        let row = |row: &ImportRow, outcome, contact: Option<u128>| {
            let (phone, error) = match row {
                ImportRow::Contact(phone, _) => (phone.to_string(), None),
                ImportRow::Invalid { phone, error } => (phone.clone(), Some(error.clone())),
            };
            ImportedRow { phone, outcome, contact: contact.map(ContactId::from_u128), error }
        };
        let imported = Imported {
            rows: vec![
                row(&rows[0], RowOutcome::Duplicate, Some(7)),
                row(&rows[1], RowOutcome::Invalid, None),
                row(&rows[2], RowOutcome::Created, Some(7)),
            ],
            added_to_list: 1,
        };
        assert_eq!(imported.kept().imported(&rows), imported);
    }

    #[test]
    fn the_largest_import_keeps_less_than_700_kb() {
        let rows = (0..20_000).map(|n| ImportedRow {
            phone: "+447700900123".to_owned(),
            outcome: RowOutcome::Created,
            contact: Some(ContactId::from_u128(u128::MAX - n)),
            error: None,
        });
        let imported = Imported { rows: rows.collect(), added_to_list: 20_000 };
        let bytes = serde_json::to_vec(&imported.kept()).unwrap().len();
        assert!((600_000..700_000).contains(&bytes), "{bytes}");
    }
}

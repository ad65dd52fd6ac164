//! What is kept of an import, so that a repetition can be answered row by row.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::custom::{too_many_fields, too_many_names};
use super::import::{ImportRow, Imported, ImportedRow, RowOutcome, told};
use crate::idempotency::Answer;
use crate::idempotency::fingerprint::Fields;
use crate::ids::ContactId;

/// The outcomes and the contacts of the rows. Numbers follow from the request, and so do errors,
/// but for those that a row has because of what was stored. At most 33 bytes a row: 660 kB for
/// 20,000 rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptImport {
    /// One letter for each row: see [`Letters`].
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
        let letters = Letters::new();
        KeptImport {
            outcomes: rows.iter().map(|row| letters.of(row)).collect(),
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
        let letters = Letters::new();
        let rows = rows.iter().zip(outcomes.chars()).map(|(row, letter)| {
            let outcome = outcome(letter);
            let (phone, error) = match row {
                ImportRow::Contact(phone, _) => (phone.to_string(), letters.error(letter)),
                ImportRow::Invalid { phone, error } => (phone.clone(), Some(error.clone())),
            };
            let has_contact = outcome != RowOutcome::Invalid;
            let contact = if has_contact { ids.next().flatten() } else { None };
            ImportedRow { phone, outcome, contact, error }
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

/// The letters of rows. A row that is invalid because of what was stored has the letter of its
/// error, which no request shows.
struct Letters {
    too_many_fields: String,
    too_many_names: String,
}

const INVALID: char = 'x';
const TOO_MANY_FIELDS: char = 'f';
const TOO_MANY_NAMES: char = 'n';

impl Letters {
    fn new() -> Self {
        let told = |error| told(&[error]);
        Self { too_many_fields: told(too_many_fields()), too_many_names: told(too_many_names()) }
    }

    fn of(&self, row: &ImportedRow) -> char {
        match row.error.as_ref() {
            Some(error) if *error == self.too_many_fields => TOO_MANY_FIELDS,
            Some(error) if *error == self.too_many_names => TOO_MANY_NAMES,
            _ => letter(row.outcome),
        }
    }

    fn error(&self, letter: char) -> Option<String> {
        match letter {
            TOO_MANY_FIELDS => Some(self.too_many_fields.clone()),
            TOO_MANY_NAMES => Some(self.too_many_names.clone()),
            _ => None,
        }
    }
}

fn letter(outcome: RowOutcome) -> char {
    match outcome {
        RowOutcome::Created => 'c',
        RowOutcome::Updated => 'u',
        RowOutcome::Unchanged => '=',
        RowOutcome::Invalid => INVALID,
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
    use crate::contact::book::{BookFacts, BookPlan};
    use crate::contact::custom::{MAX_FIELDS, MAX_NAMES, NamesInUse};
    use crate::contact::import::ImportPlan;
    use crate::contact::{Contact, ContactInput, CustomValue, Details};
    use crate::samples::{account_id, contact, ids, mobile, now, person};

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
    fn rows_that_were_refused_for_what_was_stored_are_rebuilt_too() {
        let fields = |names: Vec<String>| Details {
            custom: names.into_iter().map(|name| (name, CustomValue::Boolean(true))).collect(),
            ..Details::default()
        };
        let known = |count: usize| (0..count).map(|n| format!("f{n}"));
        let one = |name: &str| fields(vec![name.to_owned()]);
        let rows = vec![
            ImportRow::Contact(mobile(1), one("f99")),
            ImportRow::Contact(mobile(2), one("new")),
            ImportRow::Contact(mobile(3), one("f99")),
        ];
        let details = fields(known(MAX_FIELDS).collect());
        let facts = BookFacts {
            contacts: vec![Contact { phone: mobile(1), details, ..contact() }],
            names_in_use: NamesInUse::new(known(MAX_NAMES).map(|name| (name, 1))),
            ..BookFacts::default()
        };
        let (account, ids, at) = (account_id(), ids(), now());
        let plan = ImportPlan { account, rows: rows.clone(), list: None, ids, at };
        let (_, imported) = plan.settle(&facts).unwrap();
        let outcomes: Vec<_> = imported.rows.iter().map(|row| row.outcome).collect();
        assert_eq!(outcomes, [RowOutcome::Invalid, RowOutcome::Invalid, RowOutcome::Created]);
        assert!(imported.rows[0].error != imported.rows[1].error);
        assert!(imported.kept().imported(&rows) == imported);
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

//! Imports many contacts at once: each row creates a contact or updates the one with its number.

use std::collections::{BTreeMap, BTreeSet};

use super::book::{BookChange, BookFacts, BookPlan, BookQuestion, BookRefused};
use super::custom::{MAX_FIELDS, NamesInUse, too_many_fields};
use super::input::{CheckedContact, ContactInput};
use super::saved::{Contact, Details};
use crate::field_error::FieldError;
use crate::ids::{AccountId, ContactId, Ids, ListId};
use crate::phone::{E164, PhoneRefused, parse_uk_mobile};
use crate::time::Timestamp;

/// The maximum number of rows in an import of contacts, and in one of opt-outs.
pub const MAX_ROWS: usize = 20_000;

/// A row as it was read.
#[derive(Clone, PartialEq, Eq)]
pub enum ImportRow {
    /// A number and what is known about the person.
    Contact(E164, Details),
    /// A row that cannot become a contact.
    Invalid {
        /// The number in E.164 if it could be read, otherwise the text as given.
        phone: String,
        /// What is wrong, as text for people.
        error: String,
    },
}

/// Shows no personal data.
impl std::fmt::Debug for ImportRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Contact(..) => "Contact(…)",
            Self::Invalid { .. } => "Invalid(…)",
        })
    }
}

impl ImportRow {
    /// Reads a row. An invalid row does not affect the others.
    pub fn of(input: ContactInput) -> Self {
        match input.checked() {
            Ok(CheckedContact { phone, details }) => Self::Contact(phone, details),
            Err(errors) => {
                let number = match parse_uk_mobile(&input.phone) {
                    Ok(number) => Some(number),
                    Err(refused) => PhoneRefused::number(refused),
                };
                let phone = number.map_or(input.phone, |number| number.to_string());
                Self::Invalid { phone, error: told(&errors) }
            }
        }
    }
}

/// What is wrong with a row, as text for people.
pub(super) fn told(errors: &[FieldError]) -> String {
    let told: Vec<String> =
        errors.iter().map(|error| format!("{}: {}", error.field, error.message)).collect();
    told.join("; ")
}

/// An import of contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportPlan {
    /// The account that the contacts belong to.
    pub account: AccountId,
    /// The rows, in the order given.
    pub rows: Vec<ImportRow>,
    /// The list to put the contacts on; `None` for no list.
    pub list: Option<ListId>,
    /// Ids for new contacts.
    pub ids: Ids,
    /// When the import runs.
    pub at: Timestamp,
}

/// The result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowOutcome {
    /// The row created a contact.
    Created,
    /// The row changed the contact with its number.
    Updated,
    /// The contact with its number already had these values.
    Unchanged,
    /// The row breaks a rule.
    Invalid,
    /// A later row has the same number and is used instead.
    Duplicate,
}

impl RowOutcome {
    /// Every value, in the order in which the API lists them.
    pub const ALL: [Self; 5] =
        [Self::Created, Self::Updated, Self::Unchanged, Self::Invalid, Self::Duplicate];

    /// The name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Invalid => "invalid",
            Self::Duplicate => "duplicate",
        }
    }
}

/// The result of one row.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedRow {
    /// The number in E.164 if it could be read, otherwise the text as given.
    pub phone: String,
    /// What the row did.
    pub outcome: RowOutcome,
    /// The contact that now has the number; `None` if the row is invalid.
    pub contact: Option<ContactId>,
    /// What is wrong with the row, as text for people; `None` unless the row is invalid.
    pub error: Option<String>,
}

/// Shows no personal data.
impl std::fmt::Debug for ImportedRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ImportedRow({})", self.outcome.as_str())
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The result of each row, in the order given.
    pub rows: Vec<ImportedRow>,
    /// The number of contacts put on the list that were not on it before; 0 without a list.
    pub added_to_list: usize,
}

impl Imported {
    /// The number of rows with this outcome.
    pub fn count(&self, outcome: RowOutcome) -> usize {
        self.rows.iter().filter(|row| row.outcome == outcome).count()
    }
}

/// The result for a number, whichever row held it.
struct Settled {
    /// The row that counts.
    row: usize,
    outcome: RowOutcome,
    contact: ContactId,
}

impl BookPlan for ImportPlan {
    type Answer = Imported;

    fn account(&self) -> AccountId {
        self.account
    }

    fn asks(&self) -> BookQuestion {
        let numbers = self.rows.iter().filter_map(|row| match row {
            ImportRow::Contact(phone, _) => Some(*phone),
            ImportRow::Invalid { .. } => None,
        });
        let phones = numbers.collect::<BTreeSet<_>>().into_iter().collect();
        let adds = |row: &ImportRow| match row {
            ImportRow::Contact(_, details) => !details.custom.is_empty(),
            ImportRow::Invalid { .. } => false,
        };
        let names_in_use = self.rows.iter().any(adds);
        BookQuestion { phones, ids: Vec::new(), list: self.list, names_in_use }
    }

    fn settle(&self, facts: &BookFacts) -> Result<(BookChange, Imported), BookRefused> {
        let members = match (self.list, &facts.members) {
            (Some(list), None) => return Err(BookRefused::NoSuchList(list)),
            (_, members) => members.as_ref(),
        };
        let existing: BTreeMap<E164, &Contact> =
            facts.contacts.iter().map(|contact| (contact.phone, contact)).collect();
        let mut names = facts.names_in_use.clone();
        let mut ids = self.ids.clone();
        let mut change = BookChange::default();
        let (mut settled, mut refused) = (BTreeMap::new(), BTreeMap::new());
        let mut joined = Vec::new();
        for (phone, rows) in self.rows_by_number() {
            let before = existing.get(&phone).copied();
            let valid = rows.into_iter().rev().find(|(row, details)| {
                let fits = check_custom(before, details, &mut names);
                fits.map_err(|error| refused.insert(*row, error)).is_ok()
            });
            let Some((row, details)) = valid else { continue };
            let opted_out = facts.opted_out.contains(&phone);
            let (outcome, contact) =
                self.settle_row(phone, details, before, opted_out, &mut ids, &mut change);
            if !members.is_some_and(|members| members.contains(&contact)) {
                joined.push(contact);
            }
            settled.insert(phone, Settled { row, outcome, contact });
        }
        let rows = self.rows.iter().enumerate();
        let rows = rows.map(|(index, row)| answer(row, index, &settled, &refused)).collect();
        let added_to_list = if self.list.is_some() { joined.len() } else { 0 };
        change.joined = self.list.map(|list| (list, joined));
        Ok((change, Imported { rows, added_to_list }))
    }
}

impl ImportPlan {
    /// The rows of each number, in the order given; the numbers in the order of their last rows.
    fn rows_by_number(&self) -> Vec<(E164, Vec<(usize, &Details)>)> {
        let mut by_number = BTreeMap::<E164, Vec<(usize, &Details)>>::new();
        for (index, row) in self.rows.iter().enumerate() {
            if let ImportRow::Contact(phone, details) = row {
                by_number.entry(*phone).or_default().push((index, details));
            }
        }
        let mut by_number: Vec<_> = by_number.into_iter().collect();
        by_number.sort_unstable_by_key(|(_, rows)| rows.last().map(|(index, _)| *index));
        by_number
    }

    fn settle_row(
        &self,
        phone: E164,
        details: &Details,
        before: Option<&Contact>,
        opted_out: bool,
        ids: &mut Ids,
        change: &mut BookChange,
    ) -> (RowOutcome, ContactId) {
        let Some(before) = before else {
            let id = ids.next();
            change.create(Contact {
                id,
                account: self.account,
                phone,
                details: details.clone(),
                opted_out,
                created_at: self.at,
                updated_at: self.at,
            });
            return (RowOutcome::Created, id);
        };
        let after = before.details.clone().overlaid_with(details);
        let outcome = if after == before.details {
            RowOutcome::Unchanged
        } else {
            let after = Contact { details: after, updated_at: self.at, ..before.clone() };
            change.update(before, after);
            RowOutcome::Updated
        };
        (outcome, before.id)
    }
}

/// Whether the contact of a row may have its custom fields, given the names in use after the rows
/// that count so far. Counts them if so.
fn check_custom(
    before: Option<&Contact>,
    details: &Details,
    names: &mut NamesInUse,
) -> Result<(), FieldError> {
    if details.custom.is_empty() {
        return Ok(());
    }
    let before = before.map(|contact| contact.details.clone()).unwrap_or_default();
    let after = before.clone().overlaid_with(details);
    if after.custom.len() > MAX_FIELDS {
        return Err(too_many_fields());
    }
    names.count(&before.custom, &after.custom)
}

fn answer(
    row: &ImportRow,
    index: usize,
    settled: &BTreeMap<E164, Settled>,
    refused: &BTreeMap<usize, FieldError>,
) -> ImportedRow {
    let invalid = |phone, error| {
        let outcome = RowOutcome::Invalid;
        ImportedRow { phone, outcome, contact: None, error: Some(error) }
    };
    let number = match row {
        ImportRow::Invalid { phone, error } => return invalid(phone.clone(), error.clone()),
        ImportRow::Contact(number, _) => number,
    };
    let phone = number.to_string();
    if let Some(error) = refused.get(&index) {
        return invalid(phone, told(std::slice::from_ref(error)));
    }
    let winner = settled.get(number);
    // A later row with this number is used.
    let is_used = winner.is_some_and(|winner| winner.row == index);
    let outcome = winner.filter(|_| is_used).map_or(RowOutcome::Duplicate, |used| used.outcome);
    ImportedRow { phone, outcome, contact: winner.map(|winner| winner.contact), error: None }
}

#[cfg(test)]
mod tests;

//! Imports many contacts at once: each row creates a contact or updates the one with its number.

use std::collections::{BTreeMap, BTreeSet};

use super::book::{BookChange, BookFacts, BookPlan, BookQuestion, BookRefused};
use super::custom::MAX_FIELDS;
use super::input::{CheckedContact, ContactInput};
use super::{Contact, Details};
use crate::error::FieldError;
use crate::ids::{AccountId, ContactId, Ids, ListId};
use crate::phone::{E164, PhoneRefused, parse_uk_mobile};
use crate::time::Timestamp;

/// The maximum number of rows in an import.
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

fn told(errors: &[FieldError]) -> String {
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
    /// Every value.
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
        BookQuestion { phones, ids: Vec::new(), list: self.list }
    }

    fn settle(&self, facts: &BookFacts) -> Result<(BookChange, Imported), BookRefused> {
        let members = match (self.list, &facts.members) {
            (Some(list), None) => return Err(BookRefused::NoSuchList(list)),
            (_, members) => members.as_ref(),
        };
        let existing: BTreeMap<E164, &Contact> =
            facts.contacts.iter().map(|contact| (contact.phone, contact)).collect();
        let last = self.last_valid_rows(&existing);
        let mut ids = self.ids.clone();
        let mut change = BookChange::default();
        let mut settled = BTreeMap::new();
        let mut joined = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let ImportRow::Contact(phone, details) = row else { continue };
            if last.get(phone) != Some(&index) {
                continue;
            }
            let before = existing.get(phone).copied();
            let opted_out = facts.opted_out.contains(phone);
            let one = self.settle_row(*phone, details, before, opted_out, &mut ids, &mut change);
            if !members.is_some_and(|members| members.contains(&one.contact)) {
                joined.push(one.contact);
            }
            settled.insert(*phone, one);
        }
        let rows = self.rows.iter().enumerate();
        let rows = rows.map(|(index, row)| answer(row, index, &last, &settled)).collect();
        let added_to_list = if self.list.is_some() { joined.len() } else { 0 };
        change.joined = self.list.map(|list| (list, joined));
        Ok((change, Imported { rows, added_to_list }))
    }
}

impl ImportPlan {
    /// For each number, the last row that has it and does not give the contact more custom fields
    /// than allowed.
    fn last_valid_rows(&self, existing: &BTreeMap<E164, &Contact>) -> BTreeMap<E164, usize> {
        let numbers = self.rows.iter().enumerate().filter_map(|(index, row)| match row {
            ImportRow::Contact(phone, details) => {
                let fits = existing.get(phone).is_none_or(|before| {
                    let after = before.details.clone().overlaid_with(details);
                    after.custom.len() <= MAX_FIELDS
                });
                fits.then_some((*phone, index))
            }
            ImportRow::Invalid { .. } => None,
        });
        // Of two entries with the same key, the later one stays.
        numbers.collect()
    }

    fn settle_row(
        &self,
        phone: E164,
        details: &Details,
        before: Option<&Contact>,
        opted_out: bool,
        ids: &mut Ids,
        change: &mut BookChange,
    ) -> Settled {
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
            return Settled { outcome: RowOutcome::Created, contact: id };
        };
        let after = before.details.clone().overlaid_with(details);
        let outcome = if after == before.details {
            RowOutcome::Unchanged
        } else {
            let after = Contact { details: after, updated_at: self.at, ..before.clone() };
            change.update(before, after);
            RowOutcome::Updated
        };
        Settled { outcome, contact: before.id }
    }
}

fn answer(
    row: &ImportRow,
    index: usize,
    last: &BTreeMap<E164, usize>,
    settled: &BTreeMap<E164, Settled>,
) -> ImportedRow {
    let number = match row {
        ImportRow::Invalid { phone, error } => {
            let outcome = RowOutcome::Invalid;
            let error = Some(error.clone());
            return ImportedRow { phone: phone.clone(), outcome, contact: None, error };
        }
        ImportRow::Contact(number, _) => number,
    };
    let phone = number.to_string();
    let (outcome, contact) = match (last.get(number), settled.get(number)) {
        (Some(last), Some(winner)) if *last == index => (winner.outcome, Some(winner.contact)),
        // A later row with this number is used.
        (Some(last), Some(winner)) if *last > index => {
            (RowOutcome::Duplicate, Some(winner.contact))
        }
        _ => {
            let error = format!("custom: a contact may have at most {MAX_FIELDS} custom fields");
            let outcome = RowOutcome::Invalid;
            return ImportedRow { phone, outcome, contact: None, error: Some(error) };
        }
    };
    ImportedRow { phone, outcome, contact, error: None }
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;
    use crate::contact::CustomValue;
    use crate::samples::{account_id, contact, ids, mobile, seconds};

    fn named(phone: &str, first_name: &str) -> ContactInput {
        ContactInput { first_name: Some(first_name.to_owned()), ..ContactInput::new(phone) }
    }

    fn plan(rows: Vec<ContactInput>) -> ImportPlan {
        ImportPlan {
            account: account_id(),
            rows: rows.into_iter().map(ImportRow::of).collect(),
            list: None,
            ids: ids(),
            at: seconds(5),
        }
    }

    fn outcomes(imported: &Imported) -> Vec<&'static str> {
        imported.rows.iter().map(|row| row.outcome.as_str()).collect()
    }

    #[test]
    fn each_row_creates_or_changes_a_contact_or_says_why_not() {
        let details = Details { first_name: Some("Ann".to_owned()), ..Details::default() };
        let known = Contact { details: details.clone(), ..contact() };
        let other = Contact { id: ContactId::from_u128(77), phone: mobile(124), ..known.clone() };
        let plan = plan(vec![
            named("07700 900125", "Bea"),
            named("07700 900123", "Anne"),
            named("07700 900124", " "),
            ContactInput::new("020 7946 0123"),
            ContactInput::new("nobody"),
            ContactInput { email: Some("x".to_owned()), ..ContactInput::new("07700900126") },
        ]);
        let facts =
            BookFacts { contacts: vec![other.clone(), known.clone()], ..BookFacts::default() };
        let (change, imported) = plan.settle(&facts).unwrap();
        assert_eq!(
            outcomes(&imported),
            ["created", "updated", "unchanged", "invalid", "invalid", "invalid"]
        );
        let phones: Vec<&str> = imported.rows.iter().map(|row| row.phone.as_str()).collect();
        let expected = ["+447700900125", "+447700900123", "+447700900124", "+442079460123"];
        assert_eq!((&phones[..4], &phones[4..]), (&expected[..], &["nobody", "+447700900126"][..]));
        let made = change.created[0].id;
        let contacts: Vec<_> = imported.rows.iter().map(|row| row.contact).collect();
        assert_eq!(contacts, [Some(made), Some(known.id), Some(other.id), None, None, None]);
        let error = imported.rows[5].error.as_deref();
        assert_eq!(error, Some("email: not an email address, such as someone@example.com"));
        assert_eq!(change.updated.len(), 1);
        assert_eq!(change.updated[0].details.first_name.as_deref(), Some("Anne"));
        assert_eq!((change.updated[0].updated_at, change.joined), (seconds(5), None));
        assert_eq!((imported.count(RowOutcome::Invalid), imported.added_to_list), (3, 0));
    }

    #[test]
    fn blank_values_keep_what_is_stored() {
        let custom = |pairs: &[(&str, &str)]| {
            let value = |text: &str| CustomValue::Text(text.to_owned());
            pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
        };
        let details = Details {
            last_name: Some("Lee".to_owned()),
            custom: custom(&[("town", "Leeds"), ("size", "M")]),
            ..Details::default()
        };
        let known = Contact { details, ..contact() };
        let given = [
            ("town".to_owned(), Some(CustomValue::Text(String::new()))),
            ("size".to_owned(), None),
            ("shoe".to_owned(), Some(CustomValue::Text("42".to_owned()))),
        ];
        let row = ContactInput {
            last_name: Some(String::new()),
            custom: given.into(),
            ..named("07700 900123", "Ann")
        };
        let facts = BookFacts { contacts: vec![known], ..BookFacts::default() };
        let (change, _) = plan(vec![row]).settle(&facts).unwrap();
        let expected = Details {
            first_name: Some("Ann".to_owned()),
            last_name: Some("Lee".to_owned()),
            custom: custom(&[("town", "Leeds"), ("size", "M"), ("shoe", "42")]),
            ..Details::default()
        };
        assert_eq!(change.updated[0].details, expected);
        assert_eq!(change.uses.changes().collect::<Vec<_>>(), [("shoe", 1)]);
    }

    #[test]
    fn of_rows_with_the_same_number_the_last_valid_one_wins() {
        let bad = ContactInput { email: Some("x".to_owned()), ..ContactInput::new("07700900123") };
        let plan = plan(vec![named("07700 900123", "One"), named("+44 7700 900123", "Two"), bad]);
        let (change, imported) = plan.settle(&BookFacts::default()).unwrap();
        assert_eq!(outcomes(&imported), ["duplicate", "created", "invalid"]);
        assert_eq!(imported.rows[0].contact, imported.rows[1].contact);
        assert_eq!(change.created.len(), 1);
        assert_eq!(change.created[0].details.first_name.as_deref(), Some("Two"));
    }

    #[test]
    fn contacts_join_the_list_unless_they_are_already_on_it() {
        let list = ListId::from_u128(5);
        let rows = vec![ContactInput::new("07700900123"), ContactInput::new("07700900124")];
        let plan = ImportPlan { list: Some(list), ..plan(rows) };
        let facts = BookFacts { contacts: vec![contact()], ..BookFacts::default() };
        assert_eq!(plan.settle(&facts), Err(BookRefused::NoSuchList(list)));
        for (members, expected) in [(vec![], 2), (vec![contact().id], 1)] {
            let members = Some(BTreeSet::from_iter(members));
            let facts = BookFacts { members, ..facts.clone() };
            let (change, imported) = plan.settle(&facts).unwrap();
            let (joined, contacts) = change.joined.unwrap();
            assert_eq!((joined, contacts.len()), (list, expected));
            assert_eq!(imported.added_to_list, expected);
        }
    }

    #[test]
    fn a_row_that_gives_a_contact_more_than_fifty_fields_is_invalid() {
        let fields = |range: std::ops::Range<u32>| {
            range.map(|n| (format!("f{n}"), Some(CustomValue::Boolean(true)))).collect()
        };
        let row =
            |range| ContactInput { custom: fields(range), ..ContactInput::new("07700900123") };
        let (change, _) = plan(vec![row(0..50)]).settle(&BookFacts::default()).unwrap();
        let facts = BookFacts { contacts: change.created, ..BookFacts::default() };
        let (change, imported) = plan(vec![row(50..51)]).settle(&facts).unwrap();
        assert_eq!((outcomes(&imported), change), (vec!["invalid"], BookChange::default()));
    }

    #[test]
    fn an_invalid_row_does_not_affect_an_earlier_row_with_its_number() {
        let with = |fields: std::ops::Range<u32>| {
            let custom =
                fields.map(|n| (format!("f{n}"), Some(CustomValue::Boolean(true)))).collect();
            ContactInput { custom, ..ContactInput::new("07700900123") }
        };
        let (change, _) = plan(vec![with(0..50)]).settle(&BookFacts::default()).unwrap();
        let facts = BookFacts { contacts: change.created, ..BookFacts::default() };
        let rows = vec![named("07700900123", "Ann"), with(50..51), with(51..52)];
        let (change, imported) = plan(rows).settle(&facts).unwrap();
        assert_eq!(outcomes(&imported), ["updated", "invalid", "invalid"]);
        assert!(imported.rows[1].contact.is_none() && imported.rows[1].error.is_some());
        assert_eq!(change.updated[0].details.first_name.as_deref(), Some("Ann"));
    }

    proptest! {
        #[test]
        fn every_row_is_answered_and_every_number_is_one_contact(
            rows in prop::collection::vec((0u64..8, any::<bool>(), any::<bool>()), 0..30),
            known in prop::collection::btree_set(0u64..8, 0..5),
        ) {
            let input = |(n, named_so, good): &(u64, bool, bool)| ContactInput {
                email: (!good).then(|| "x".to_owned()),
                ..named(&mobile(*n).to_string(), if *named_so { "Ann" } else { "" })
            };
            let plan = plan(rows.iter().map(input).collect());
            let known: Vec<Contact> = known
                .into_iter()
                .map(|n| {
                    let id = ContactId::from_u128(n.into());
                    Contact { id, phone: mobile(n), ..contact() }
                })
                .collect();
            let facts = BookFacts { contacts: known, ..BookFacts::default() };
            let (change, imported) = plan.settle(&facts).unwrap();
            prop_assert_eq!(imported.rows.len(), rows.len());
            prop_assert_eq!(imported.count(RowOutcome::Created), change.created.len());
            prop_assert_eq!(imported.count(RowOutcome::Updated), change.updated.len());
            let written = change.created.iter().chain(&change.updated);
            let phones: BTreeSet<E164> = written.clone().map(|contact| contact.phone).collect();
            prop_assert_eq!(phones.len(), written.count());
            let good = rows.iter().filter(|row| row.2);
            let numbers: BTreeSet<u64> = good.map(|row| row.0).collect();
            let ended = imported.rows.iter().filter(|row| {
                !matches!(row.outcome, RowOutcome::Invalid | RowOutcome::Duplicate)
            });
            prop_assert_eq!(ended.count(), numbers.len());
        }
    }
}

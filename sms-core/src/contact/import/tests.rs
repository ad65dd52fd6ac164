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
    let facts = BookFacts { contacts: vec![other.clone(), known.clone()], ..BookFacts::default() };
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
    let row = |range| ContactInput { custom: fields(range), ..ContactInput::new("07700900123") };
    let (change, _) = plan(vec![row(0..50)]).settle(&BookFacts::default()).unwrap();
    let facts = BookFacts { contacts: change.created, ..BookFacts::default() };
    let (change, imported) = plan(vec![row(50..51)]).settle(&facts).unwrap();
    assert_eq!((outcomes(&imported), change), (vec!["invalid"], BookChange::default()));
}

#[test]
fn an_invalid_row_does_not_affect_an_earlier_row_with_its_number() {
    let with = |fields: std::ops::Range<u32>| {
        let custom = fields.map(|n| (format!("f{n}"), Some(CustomValue::Boolean(true)))).collect();
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

#[test]
fn a_row_that_adds_a_name_beyond_the_accounts_thousand_is_invalid() {
    use crate::contact::custom::MAX_NAMES;
    let row = |n: u64, names: &[&str]| ContactInput {
        custom: names
            .iter()
            .map(|name| ((*name).to_owned(), Some(CustomValue::Boolean(true))))
            .collect(),
        ..named(&mobile(n).to_string(), "Ann")
    };
    let rows = vec![
        row(1, &["f1"]),
        row(2, &["f1", "new"]),
        row(3, &["newer"]),
        row(1, &["newest"]),
        row(4, &["f2", "new"]),
    ];
    let names_in_use = NamesInUse::new((0..MAX_NAMES - 1).map(|n| (format!("f{n}"), 1)));
    let facts = BookFacts { names_in_use, ..BookFacts::default() };
    assert!(plan(rows.clone()).asks().names_in_use && !plan(vec![row(1, &[])]).asks().names_in_use);
    let (change, imported) = plan(rows).settle(&facts).unwrap();
    assert_eq!(outcomes(&imported), ["created", "created", "invalid", "invalid", "created"]);
    let error = imported.rows[2].error.as_deref().unwrap();
    assert!(
        error.starts_with("custom: the contacts of an account may use at most 1000"),
        "{error}"
    );
    assert_eq!(change.uses.changes().collect::<Vec<_>>(), [("f1", 2), ("f2", 1), ("new", 2)]);
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

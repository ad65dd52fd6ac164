//! Single contacts, and the names of their custom fields.

use std::collections::BTreeSet;

use sms_core::contact::book::{BookRefused, RemovePlan};
use sms_core::contact::custom::{CustomInput, CustomPatch};
use sms_core::contact::store::{ContactsWanted, CustomNamesWanted};
use sms_core::contact::{Contact, ContactFilter, ContactInput, ContactPatch, CustomValue};
use sms_core::inbound::Origin;
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{done, millis, named, person, refusal_of, with_fields};

fn number(phone: u16) -> ContactPatch {
    ContactPatch::default().phone(person(phone).to_string())
}

fn fields(given: &[(&str, bool)]) -> ContactPatch {
    let field = |(name, keep): &(&str, bool)| {
        ((*name).to_owned(), keep.then_some(CustomValue::Boolean(true)))
    };
    ContactPatch::default().custom(CustomPatch::Merge(given.iter().map(field).collect()))
}

scenarios! { Contact;
    /// A contact is kept as it was made, to the letter.
    async fn a_contact_is_kept_as_it_was_made(rig: &Rig) {
        let account = rig.account(0).await;
        let numbers = ["5", "-0.0", "0.1", "1e300", "18446744073709551615", "5e-324", "1.0"];
        let number = |text: &str| serde_json::from_str(text).expect("a number");
        let custom = numbers
            .iter()
            .enumerate()
            .map(|(n, text)| (format!("n{n}"), CustomValue::Number(number(text))))
            .chain([
                ("text".to_owned(), CustomValue::Text("{\"a\": \\u0041} 🐦 ' \n".to_owned())),
                ("yes".to_owned(), CustomValue::Boolean(true)),
            ])
            .map(|(name, value)| (name, Some(value)));
        let input = named(1, " Ann")
            .last_name("Ó Néill")
            .email("ann@example.com")
            .notes("likes\nwindow % seats")
            .custom(custom.collect::<CustomInput>());
        let made = rig.contact(&account, &input).await;
        assert_eq!((made.phone, made.opted_out), (person(1), false));
        assert_eq!((made.created_at, made.updated_at), (rig.now(), rig.now()));
        assert_eq!(input.checked().expect("right").details, made.details);
        assert_eq!(rig.contact_now(&made).await, Some((made.clone(), vec![])));
        let bare = rig.contact(&account, &ContactInput::new(person(2).to_string())).await;
        assert_eq!(rig.contact_now(&bare).await, Some((bare, vec![])));
    }

    /// A number is one contact of an account; another account may have it too.
    async fn a_number_is_one_contact_of_an_account(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let made = rig.contact(&account, &named(1, "Ann")).await;
        let plan = rig.create_plan(&account, &named(1, "Bea"));
        let again = done(rig.store().contact_create(plan, None).await);
        assert_eq!(refusal_of(again), BookRefused::ContactExists(made.id));
        rig.contact(&other, &named(1, "Ann")).await;
        let second = rig.contact(&account, &named(2, "Bea")).await;
        let refused = refusal_of(rig.update_contact(&second, number(1)).await);
        assert_eq!(refused, BookRefused::ContactExists(made.id));
        assert_eq!(rig.contact_now(&second).await, Some((second.clone(), vec![])));
        rig.update_contact(&made, number(3)).await.expect("the number is free");
        let wanted = [person(1)];
        let held = rig.store().contacts_among(account.id, ContactsWanted::Phones(&wanted));
        let held = held.await.expect("read");
        assert_eq!(held, [], "nobody has the number now");
        rig.update_contact(&second, number(1)).await.expect("the number is free now");
        assert_eq!(rig.contacts(account.id, &ContactFilter::default()).await.len(), 2);
    }

    /// A number that many want at once becomes one contact.
    async fn a_number_that_many_want_at_once_becomes_one_contact(rig: &Rig) {
        let account = rig.account(0).await;
        let plans: Vec<_> = (0..12).map(|_| rig.create_plan(&account, &named(1, "Ann"))).collect();
        let answers =
            rig.race_each(plans, |store, plan| async move {
                done(store.contact_create(plan, None).await)
            });
        let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((made.len(), refused.len()), (1, 11));
        let made = made.into_iter().next().expect("one").expect("made");
        for answer in refused {
            assert_eq!(refusal_of(answer), BookRefused::ContactExists(made.id));
        }
        assert_eq!(rig.contacts(account.id, &ContactFilter::default()).await, [made]);
    }

    /// A change writes what it names and its time, and leaves the rest unchanged.
    async fn a_change_of_a_contact_leaves_the_rest_alone(rig: &Rig) {
        let account = rig.account(0).await;
        let mut expected = rig.contact(&account, &with_fields(1, &["a", "b"])).await;
        for patch in [
            ContactPatch::default().first_name(Some("Ann")),
            ContactPatch::default().notes(Some("x")).email(Some("a@b")),
            number(2).first_name(None).last_name(Some("Lee")),
            fields(&[("a", false), ("c", true)]),
            ContactPatch::default().custom(CustomPatch::Clear),
            ContactPatch::default(),
        ] {
            let now = rig.advance(millis(5));
            let change = patch.clone().checked().expect("right");
            expected = change.apply(&expected, now).expect("right");
            let after = rig.update_contact(&expected, patch).await.expect("changed");
            assert_eq!(after, expected);
            assert_eq!(rig.contact_now(&expected).await, Some((expected.clone(), vec![])));
        }
    }

    /// Changes of different things race: none is lost, and the names in use are counted right.
    async fn racing_changes_of_a_contact_are_all_kept(rig: &Rig) {
        let account = rig.account(0).await;
        let contact = rig.contact(&account, &named(1, "Ann")).await;
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let plans = names.map(|name| rig.update_plan(&contact, fields(&[(name, true)])));
        rig.race_each(plans, |store, plan| async move {
            store.contact_update(plan).await.expect("changed")
        });
        let (after, _) = rig.contact_now(&contact).await.expect("there");
        assert!(after.details.custom.keys().eq(names), "none is lost");
        assert_eq!(rig.custom_names(&account).await, names);
    }

    /// A contact is seen, changed and removed through its own account only.
    async fn another_accounts_contact_is_out_of_reach(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let contact = rig.contact(&account, &with_fields(1, &["a"])).await;
        let foreign = Contact { account: other.id, ..contact.clone() };
        assert_eq!(rig.contact_now(&foreign).await, None);
        let refused = rig.update_contact(&foreign, number(2)).await;
        assert_eq!(refusal_of(refused), BookRefused::NoSuchContact);
        let plan = RemovePlan { account: other.id, id: contact.id, if_version: Any };
        let refused = refusal_of(rig.store().contact_delete(plan).await);
        assert_eq!(refused, BookRefused::NoSuchContact);
        let store = rig.store();
        assert_eq!(rig.contacts(other.id, &ContactFilter::default()).await, []);
        let none: Vec<Contact> = Vec::new();
        let wanted = [contact.id];
        let read = store.contacts_among(other.id, ContactsWanted::Ids(&wanted));
        assert_eq!(read.await.expect("read"), none);
        let wanted = [person(1)];
        let read = store.contacts_among(other.id, ContactsWanted::Phones(&wanted));
        assert_eq!(read.await.expect("read"), none);
        assert_eq!(rig.custom_names(&other).await, [""; 0]);
        assert!(store.address_book_is_empty(other.id).await.expect("read"));
        assert_eq!(rig.contact_now(&contact).await, Some((contact, vec![])));
    }

    /// A contact shows that its number has opted out, whether it was created before or after the
    /// opt-out.
    async fn a_contact_tells_whether_its_number_has_opted_out(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        let before = rig.contact(&account, &named(1, "Ann")).await;
        for n in [1, 2] {
            let stop = rig.inbound_plan(n, ours, "STOP", Origin::Network);
            done(rig.store().inbound_take(stop, None).await).expect("taken in");
        }
        let after = rig.contact(&account, &named(2, "Bea")).await;
        let third = rig.contact(&account, &named(3, "Cem")).await;
        assert!(after.opted_out && !third.opted_out);
        let (read, _) = rig.contact_now(&before).await.expect("there");
        assert!(read.opted_out);
        let listed = rig.contacts(account.id, &ContactFilter::default()).await;
        assert_eq!(listed.iter().map(|c| c.opted_out).collect::<Vec<_>>(), [false, true, true]);
        let moved = rig.update_contact(&before, number(4)).await.expect("changed");
        assert!(!moved.opted_out);
        let back = rig.update_contact(&third, number(1)).await.expect("changed");
        assert!(back.opted_out);
        let wanted = [person(2)];
        let found = rig.store().contacts_among(account.id, ContactsWanted::Phones(&wanted));
        let found = found.await.expect("read");
        assert!(found[0].opted_out);
    }

    /// The custom names in use are those of any contact, sorted, each once; a name is in use until
    /// the last contact has lost it.
    async fn custom_names_are_in_use_while_any_contact_has_them(rig: &Rig) {
        let account = rig.account(0).await;
        assert_eq!(rig.custom_names(&account).await, [""; 0]);
        let one = rig.contact(&account, &with_fields(1, &["town", "a_1", "a1"])).await;
        let two = rig.contact(&account, &with_fields(2, &["town", "points"])).await;
        assert_eq!(rig.custom_names(&account).await, ["a1", "a_1", "points", "town"]);
        rig.update_contact(&one, fields(&[("a1", false), ("zip", true)])).await.expect("changed");
        assert_eq!(rig.custom_names(&account).await, ["a_1", "points", "town", "zip"]);
        rig.remove_contact(&two).await;
        assert_eq!(rig.custom_names(&account).await, ["a_1", "town", "zip"]);
        let asked = ["town", "points", "nobody", "Town"].map(str::to_owned);
        let found = rig.store().custom_names(account.id, CustomNamesWanted::Among(&asked));
        let found = found.await.expect("read");
        assert_eq!(found, BTreeSet::from(["town".to_owned()]));
        rig.remove_contact(&one).await;
        assert_eq!(rig.custom_names(&account).await, [""; 0]);
    }

    /// Contacts are found by ids and by numbers, each once, and those unknown are left out.
    async fn contacts_are_found_by_ids_and_numbers(rig: &Rig) {
        let account = rig.account(0).await;
        let store = rig.store();
        assert!(store.address_book_is_empty(account.id).await.expect("read"));
        let one = rig.contact(&account, &named(1, "Ann")).await;
        let two = rig.contact(&account, &named(2, "Bea")).await;
        assert!(!store.address_book_is_empty(account.id).await.expect("read"));
        let ids = [two.id, one.id, two.id, rig.id()];
        let found = store.contacts_among(account.id, ContactsWanted::Ids(&ids));
        let mut found = found.await.expect("read");
        found.sort_by_key(|contact| contact.id);
        assert_eq!(found, [one, two.clone()]);
        let phones = [person(2), person(3), person(2)];
        let found = store.contacts_among(account.id, ContactsWanted::Phones(&phones));
        let found = found.await.expect("read");
        assert_eq!(found, [two]);
    }

    /// An address book is empty before its first contact and after its last, whenever it is asked.
    async fn an_address_book_is_empty_again_after_its_last_contact(rig: &Rig) {
        let account = rig.account(0).await;
        let is_empty = async || {
            rig.store().address_book_is_empty(account.id).await.expect("read")
        };
        for n in [1, 2] {
            assert!(is_empty().await);
            let contact = rig.contact(&account, &named(n, "Ann")).await;
            assert!(!is_empty().await);
            rig.remove_contact(&contact).await;
        }
        assert!(is_empty().await);
    }

    /// A removed contact is gone, and from every list; its number is free.
    async fn a_removed_contact_is_gone_from_every_list(rig: &Rig) {
        let account = rig.account(0).await;
        let lists = [rig.list(&account).await, rig.list(&account).await];
        let contact = rig.contact(&account, &named(1, "Ann")).await;
        for list in &lists {
            rig.join(list, &[contact.id], &[2]).await;
        }
        let on = vec![lists[1].id, lists[0].id];
        assert_eq!(rig.contact_now(&contact).await, Some((contact.clone(), on)));
        rig.remove_contact(&contact).await;
        assert_eq!(rig.contact_now(&contact).await, None);
        let plan = RemovePlan { account: account.id, id: contact.id, if_version: Any };
        let again = refusal_of(rig.store().contact_delete(plan).await);
        assert_eq!(again, BookRefused::NoSuchContact);
        for list in &lists {
            assert_eq!(rig.members(list).await.len(), 1);
        }
        let anew = rig.contact(&account, &named(1, "Ann")).await;
        assert_eq!(rig.contact_now(&anew).await, Some((anew, vec![])));
    }
}

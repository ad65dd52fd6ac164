//! Lists of contacts.

use sms_core::contact::book::BookRefused;
use sms_core::contact::{Contact, ContactFields, ContactFilter, ContactInput, CustomValue};
use sms_core::ids::ContactId;
use sms_core::list::{ContactList, ListChange};
use sms_core::page::{Cursor, Page};
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{millis, named, page, read_all, refusal_of};

fn ids(contacts: &[Contact]) -> Vec<ContactId> {
    contacts.iter().map(|contact| contact.id).collect()
}

async fn portion(
    rig: &Rig,
    list: &ContactList,
    after: Option<ContactId>,
    limit: usize,
) -> Vec<Contact> {
    portion_with(rig, list, (after, limit), "{full_name} {email}").await
}

/// The same, with the details that a text names.
async fn portion_with(
    rig: &Rig,
    list: &ContactList,
    (after, limit): (Option<ContactId>, usize),
    text: &str,
) -> Vec<Contact> {
    let fields = ContactFields::named_in(text);
    let read = rig.store().list_portion(list.account, list.id, after, limit, &fields);
    read.await.expect("read")
}

scenarios! { List;
    /// Lists are kept as they were made and listed newest first, in pages, and only the account's
    /// own.
    async fn lists_are_listed_newest_first_in_pages(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut made = Vec::new();
        for _ in 0..5 {
            made.insert(0, rig.list(&account).await);
            rig.list(&other).await;
        }
        assert_eq!(rig.list_now(&made[0]).await.as_ref(), Some(&made[0]));
        for limit in 1..=6 {
            let read =
                async |wanted| rig.store().list_list(account.id, wanted).await.expect("read");
            assert_eq!(read_all(limit, read).await, made, "by {limit}");
        }
        let more = async |wanted| {
            let page = rig.store().list_list(account.id, wanted).await.expect("read");
            rig.list(&account).await;
            page
        };
        assert_eq!(read_all(2, more).await, made, "while lists are made");
        let end = page(5, Some(Cursor::after(made[4].id)));
        let nothing = rig.store().list_list(account.id, end).await.expect("read");
        assert_eq!(nothing, Page { items: vec![], next: None });
    }

    /// The contacts of a list are read with the details that are asked for, and no others.
    async fn contacts_of_a_list_are_read_with_the_details_asked_for(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        let text = |text: &str| Some(CustomValue::Text(text.to_owned()));
        let custom = [("town".to_owned(), text("Leeds")), ("dish".to_owned(), text("soup"))];
        let mut input = ContactInput::new("07700 900001").first_name("Ann").custom(custom);
        input.last_name = Some("Example".to_owned());
        input.email = Some("ann@example.com".to_owned());
        input.notes = Some("likes the window".to_owned());
        let whole = rig.contact(&account, &input).await;
        rig.join(&list, &[whole.id], &[]).await;
        for asked in [
            "",
            "{phone}",
            "{first_name}",
            "{last_name} {unknown}",
            "{full_name} {email}",
            "{town}",
            "{town} {dish} {email}",
        ] {
            let expected = ContactFields::named_in(asked).of(&whole);
            assert_eq!(portion_with(rig, &list, (None, 10), asked).await, [expected], "{asked}");
        }
    }

    /// A change writes what it names and leaves the rest unchanged, including the contacts.
    async fn a_change_of_a_list_leaves_the_rest_alone(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        rig.join(&list, &[], &[1, 2]).await;
        let mut expected = ContactList { contact_count: 2, ..list.clone() };
        for change in [
            ListChange { description: Some(Some("é".to_owned())), ..ListChange::default() },
            ListChange { name: Some("VIP 🐦".to_owned()), ..ListChange::default() },
            ListChange { description: Some(None), ..ListChange::default() },
            ListChange::default(),
        ] {
            let now = rig.advance(millis(5));
            expected = change.clone().apply(expected, now).expect("any version");
            let updated = rig.store().list_update(account.id, list.id, change, now).await;
            assert_eq!(updated.expect("changed").as_ref(), Some(&expected));
            assert_eq!(rig.list_now(&list).await.as_ref(), Some(&expected));
        }
        assert_eq!(rig.members(&list).await.len(), 2);
    }

    /// Contacts are put on a list by id and by number; new numbers become contacts; nobody is on it
    /// twice; unknown ids are reported.
    async fn contacts_and_numbers_are_put_on_a_list(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let list = rig.list(&account).await;
        let one = rig.contact(&account, &named(1, "Ann")).await;
        let two = rig.contact(&account, &named(2, "Bea")).await;
        let theirs = rig.contact(&other, &named(3, "Cem")).await;
        let asked = [one.id, theirs.id, one.id];
        let joined = rig.join(&list, &asked, &[1, 2, 4, 4]).await;
        assert_eq!((joined.added, joined.unknown), (3, [theirs.id].into()));
        let members = rig.members(&list).await;
        assert_eq!(ids(&members[1..]), [two.id, one.id]);
        assert_eq!(members[1..], [two.clone(), one.clone()]);
        let lists = rig.contact_now(&members[0]).await.expect("a new contact").1;
        assert_eq!(lists, [list.id]);
        assert_eq!(rig.join(&list, &[one.id], &[2, 4]).await.added, 0);
        assert_eq!(rig.contacts(account.id, &ContactFilter::default()).await.len(), 3);
    }

    /// A contact is taken off a list, and stays.
    async fn a_contact_taken_off_a_list_stays(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        rig.join(&list, &[], &[1, 2]).await;
        let members = rig.members(&list).await;
        let leave = || rig.store().list_leave(account.id, list.id, members[0].id);
        assert!(leave().await.expect("taken off"));
        assert!(!leave().await.expect("answered"));
        assert_eq!(rig.members(&list).await, members[1..]);
        assert_eq!(rig.contact_now(&members[0]).await, Some((members[0].clone(), vec![])));
    }

    /// A removed list is gone; its contacts stay, on their other lists.
    async fn a_removed_list_leaves_its_contacts(rig: &Rig) {
        let account = rig.account(0).await;
        let (list, other) = (rig.list(&account).await, rig.list(&account).await);
        rig.join(&list, &[], &[1, 2]).await;
        let members = rig.members(&list).await;
        rig.join(&other, &ids(&members), &[]).await;
        assert!(rig.store().list_delete(account.id, list.id, Any).await.expect("removed"));
        assert!(!rig.store().list_delete(account.id, list.id, Any).await.expect("answered"));
        assert_eq!(rig.list_now(&list).await, None);
        assert_eq!(rig.members(&list).await, []);
        assert_eq!(rig.members(&other).await, members);
        let (_, lists) = rig.contact_now(&members[0]).await.expect("it stays");
        assert_eq!(lists, [other.id]);
        let refused = refusal_of(rig.store().list_join(rig.join_plan(&list, &[], &[3])).await);
        assert_eq!(refused, BookRefused::NoSuchList(list.id));
        assert_eq!(rig.contacts(account.id, &ContactFilter::default()).await.len(), 2);
    }

    /// A list is seen, changed, filled and removed through its own account only.
    async fn another_accounts_list_is_out_of_reach(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let list = rig.list(&account).await;
        rig.join(&list, &[], &[1]).await;
        let member = rig.members(&list).await.remove(0);
        let foreign = ContactList { account: other.id, ..list.clone() };
        let store = rig.store();
        assert_eq!(rig.list_now(&foreign).await, None);
        let change = ListChange { name: Some("x".to_owned()), ..ListChange::default() };
        let updated = store.list_update(other.id, list.id, change, rig.now()).await;
        assert_eq!(updated.expect("answered"), None);
        let refused = refusal_of(store.list_join(rig.join_plan(&foreign, &[], &[2])).await);
        assert_eq!(refused, BookRefused::NoSuchList(list.id));
        assert!(!store.list_leave(other.id, list.id, member.id).await.expect("answered"));
        assert!(!store.list_delete(other.id, list.id, Any).await.expect("answered"));
        assert_eq!(portion(rig, &foreign, None, 10).await, []);
        let filter = ContactFilter { list_id: Some(list.id), search: None };
        assert_eq!(rig.contacts(other.id, &filter).await, []);
        assert_eq!(rig.members(&list).await, [member]);
        assert_eq!(rig.contacts(other.id, &ContactFilter::default()).await, []);
    }

    /// A whole list is read in portions, the oldest contact first.
    async fn a_list_is_read_in_portions_oldest_first(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        rig.join(&list, &[], &[5, 3, 4, 1, 2]).await;
        rig.contact(&account, &named(9, "Ann")).await;
        let mut expected = rig.members(&list).await;
        expected.reverse();
        assert_eq!(portion(rig, &list, None, 10).await, expected);
        assert_eq!(portion(rig, &list, None, 2).await, expected[..2]);
        assert_eq!(portion(rig, &list, Some(expected[1].id), 2).await, expected[2..4]);
        assert_eq!(portion(rig, &list, Some(expected[4].id), 2).await, []);
    }

    /// Joining, leaving and removing race: the count of the list is exact.
    async fn the_count_of_a_list_is_exact_whatever_races(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        rig.join(&list, &[], &[1, 2, 3, 4, 5, 6]).await;
        let members = rig.members(&list).await;
        let acts: Vec<_> = (0..12_u16)
            .map(|n| {
                let contact = members[usize::from(n) % 6].clone();
                (n, contact, rig.join_plan(&list, &[], &[n % 8, 20 + n]))
            })
            .collect();
        let list_id = list.id;
        rig.race_each(acts, move |store, (n, contact, plan)| async move {
            match n % 3 {
                0 => drop(store.list_join(plan).await.expect("joined")),
                1 => {
                    store.list_leave(contact.account, list_id, contact.id).await.expect("left");
                }
                _ => {
                    let plan = sms_core::contact::book::RemovePlan {
                        account: contact.account,
                        id: contact.id,
                        if_version: Any,
                    };
                    // Another may have removed it before.
                    let _ = store.contact_delete(plan).await;
                }
            }
        });
        let after = rig.members(&list).await;
        for contact in after {
            assert!(rig.contact_now(&contact).await.is_some_and(|(_, on)| on == [list.id]));
        }
    }

    /// A list that is removed while contacts are put on it leaves nothing behind.
    async fn a_list_removed_while_it_fills_leaves_nothing_behind(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        let plans = (1..=8).map(|n| Some(rig.join_plan(&list, &[], &[n])));
        let acts: Vec<_> = plans.chain([None]).collect();
        let (account_id, list_id) = (account.id, list.id);
        rig.race_each(acts, move |store, act| async move {
            if let Some(plan) = act {
                // One that comes too late is refused.
                drop(store.list_join(plan).await);
            } else {
                let removed = store.list_delete(account_id, list_id, Any).await;
                assert!(removed.expect("removed"));
            }
        });
        assert_eq!(rig.members(&list).await, []);
        for contact in rig.contacts(account.id, &ContactFilter::default()).await {
            assert_eq!(rig.contact_now(&contact).await, Some((contact, vec![])));
        }
    }
}

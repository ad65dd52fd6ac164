//! Pages of contacts, and searches.

use sms_core::account::AccountStatus;
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::{Contact, ContactFilter, ContactInput};
use sms_core::page::{Cursor, LOOKED_AT, Page};

use crate::Rig;
use crate::rig::{done, named, page, person, read_all};

fn q(text: &str) -> ContactFilter {
    ContactFilter { search: ContactSearch::parse(text), list_id: None }
}

fn reversed(mut contacts: Vec<Contact>) -> Vec<Contact> {
    contacts.reverse();
    contacts
}

scenarios! { Contact;
    /// Contacts are listed newest first, in pages of every size.
    async fn contacts_are_listed_newest_first_in_pages_of_every_size(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut made = Vec::new();
        for n in 1..=7 {
            made.push(rig.contact(&account, &named(n, "Ann")).await);
            rig.contact(&other, &named(n, "Ann")).await;
        }
        let expected = reversed(made);
        let all = &ContactFilter::default();
        for limit in 1..=8 {
            let read = async |wanted| {
                rig.store().contact_list(account.id, all, wanted).await.expect("read")
            };
            assert_eq!(read_all(limit, read).await, expected, "by {limit}");
        }
        let end = page(5, Some(Cursor::after(expected[6].id)));
        let nothing = rig.store().contact_list(account.id, all, end).await.expect("read");
        assert_eq!(nothing, Page { items: vec![], next: None });
        assert_eq!(rig.contacts(rig.id(), all).await, []);
    }

    /// Pages neither repeat nor miss a contact while newer ones are made between them, also of a
    /// list and of a search.
    async fn pages_of_contacts_stay_whole_while_contacts_are_made(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        let mut made = Vec::new();
        for n in 1..=9 {
            made.push(rig.contact(&account, &named(n, "Ann")).await);
        }
        let ids: Vec<_> = made.iter().map(|contact| contact.id).collect();
        rig.join(&list, &ids, &[]).await;
        let expected = reversed(made);
        let on_list = ContactFilter { list_id: Some(list.id), search: None };
        let both = ContactFilter { list_id: Some(list.id), ..q("ann") };
        let mut next = 100;
        for filter in [ContactFilter::default(), on_list, q("ann"), both] {
            let first = rig.contacts(account.id, &filter).await.len();
            let numbers = std::sync::atomic::AtomicU16::new(next);
            let read = async |wanted| {
                let page = rig.store().contact_list(account.id, &filter, wanted).await;
                let n = numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let newer = rig.contact(&account, &named(n, "Ann")).await;
                rig.join(&list, &[newer.id], &[]).await;
                page.expect("read")
            };
            let seen = read_all(2, read).await;
            assert_eq!(seen.len(), first, "as many as there were");
            assert_eq!(seen[seen.len() - 9..], expected);
            next += 100;
        }
    }

    /// A search looks at a bounded number of contacts for a page. Its cursor continues from there,
    /// also on a list, and the pages together show every contact that it finds, once.
    async fn a_search_among_many_contacts_ends_early_with_a_cursor(rig: &Rig) {
        const MORE: u16 = 50;
        let count = u16::try_from(LOOKED_AT).expect("it fits") + MORE;
        // Not one of the rig's: its audit reads each contact.
        let new = rig.new_account(AccountStatus::Active, 0);
        let account = new.account.clone();
        done(rig.store().account_create(new, None).await).expect("the account is written");
        let list = rig.list(&account).await;
        let name = |n| if [1, 2, count].contains(&n) { "Zoe" } else { "Ann" };
        rig.import(&account, (1..=count).map(|n| named(n, name(n))).collect(), Some(list.id)).await;
        let read = async |filter: &ContactFilter, after| {
            let wanted = page(25, after);
            rig.store().contact_list(account.id, filter, wanted).await.expect("read")
        };
        let phones = |page: &Page<Contact>| -> Vec<_> {
            page.items.iter().map(|contact| contact.phone).collect()
        };
        let last_looked_at = ContactFilter::default().search(&person(MORE + 1).to_string());
        let last_looked_at = read(&last_looked_at, None).await.items[0].id;
        for list_id in [None, Some(list.id)] {
            let found = ContactFilter { list_id, ..q("zoe") };
            let first = read(&found, None).await;
            assert_eq!(phones(&first), [person(count)]);
            assert_eq!(first.next, Some(Cursor::after(last_looked_at)));
            let rest = read(&found, first.next).await;
            assert_eq!((phones(&rest), rest.next), (vec![person(2), person(1)], None));
            let nobody = read(&ContactFilter { list_id, ..q("nobody") }, None).await;
            assert_eq!(nobody, Page { items: vec![], next: first.next });
            // A number is looked up, wherever it is.
            let one = ContactFilter { list_id, ..q(&person(1).to_string()) };
            assert_eq!(phones(&read(&one, None).await), [person(1)]);
        }
    }

    /// A search finds numbers, whole or in part, names and email, whatever their case, as the
    /// filter itself does; and nothing reads it as a pattern.
    async fn a_search_finds_numbers_names_and_email(rig: &Rig) {
        let account = rig.account(0).await;
        let inputs = [
            named(1, "Ann").last_name("ÅNGSTRÖM"),
            named(2, "100%").email("Ann.B@Example.com"),
            named(3, "Under_score").notes("Ann"),
            ContactInput::new(person(123).to_string()).last_name("900 Miles"),
        ];
        let mut made = Vec::new();
        for input in &inputs {
            made.push(rig.contact(&account, input).await);
        }
        let list = rig.list(&account).await;
        rig.join(&list, &[made[1].id, made[3].id], &[]).await;
        for text in [
            "ann", "ANN", "ångström", "ann ångström", "b@ex", "100%", "%", "_", "\\", "'", "900",
            "07700 900123", "+447700900001", "0770", "900 1", "09001", "07700 900999", "miles",
            "nobody", "1", "00 44 7700",
        ] {
            let filter = q(text);
            let search = filter.search.as_ref().expect("a search");
            let wanted = made.iter().filter(|contact| search.finds(contact)).cloned();
            let expected = reversed(wanted.collect());
            assert_eq!(rig.contacts(account.id, &filter).await, expected, "{text}");
            let on_list = ContactFilter { list_id: Some(list.id), ..filter };
            let members = expected.into_iter().filter(|c| [made[1].id, made[3].id].contains(&c.id));
            let members: Vec<_> = members.collect();
            assert_eq!(rig.contacts(account.id, &on_list).await, members, "{text} on the list");
        }
    }
}

//! Many contacts at once.

use sms_core::contact::book::BookRefused;
use sms_core::contact::custom::MAX_NAMES;
use sms_core::contact::import::{Imported, RowOutcome};
use sms_core::contact::{ContactFilter, ContactInput};

use crate::Rig;
use crate::rig::{done, millis, named, person, refusal_of, with_fields};

fn outcomes(imported: &Imported) -> Vec<RowOutcome> {
    imported.rows.iter().map(|row| row.outcome).collect()
}

scenarios! { Contact;
    /// An import makes contacts, adds to those there are, and reports the result of each row.
    async fn an_import_makes_contacts_and_adds_to_those_there_are(rig: &Rig) {
        use RowOutcome::{Created, Duplicate, Invalid, Unchanged, Updated};

        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let known = rig.contact(&account, &with_fields(1, &["town"])).await;
        let same = rig.contact(&account, &named(2, "Bea")).await;
        rig.contact(&other, &named(3, "Cem")).await;
        let now = rig.advance(millis(5));
        let rows = vec![
            named(1, "no"),
            named(3, "Cem"),
            ContactInput::new("nobody"),
            with_fields(1, &["size"]).email("a@b"),
            named(2, " "),
        ];
        let imported = rig.import(&account, rows, None).await;
        assert_eq!(outcomes(&imported), [Duplicate, Created, Invalid, Updated, Unchanged]);
        let listed = rig.contacts(account.id, &ContactFilter::default()).await;
        let made = &listed[0];
        assert_eq!((made.phone, made.created_at, made.updated_at), (person(3), now, now));
        let contacts: Vec<_> = imported.rows.iter().map(|row| row.contact).collect();
        let expected = [Some(known.id), Some(made.id), None, Some(known.id), Some(same.id)];
        assert_eq!(contacts, expected);
        assert_eq!(listed[1], same, "what is unchanged is not touched");
        let changed = &listed[2];
        assert_eq!((changed.created_at, changed.updated_at), (known.created_at, now));
        assert_eq!(changed.details.email.as_deref(), Some("a@b"));
        assert_eq!(changed.details.first_name, None, "an earlier row does not count");
        assert_eq!(rig.custom_names(&account).await, ["size", "town"]);
        assert_eq!(rig.contacts(other.id, &ContactFilter::default()).await.len(), 1);
    }

    /// An import puts its contacts on a list, old ones and new ones, each once.
    async fn an_import_puts_its_contacts_on_a_list(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        let (on, off) = (
            rig.contact(&account, &named(1, "Ann")).await,
            rig.contact(&account, &named(2, "Bea")).await,
        );
        rig.join(&list, &[on.id], &[]).await;
        let rows = vec![named(1, "Ann"), named(2, "Bea"), named(3, "Cem"), named(3, "Cem")];
        let imported = rig.import(&account, rows.clone(), Some(list.id)).await;
        assert_eq!(imported.added_to_list, 2);
        let members = rig.members(&list).await;
        assert_eq!(members.len(), 3);
        assert_eq!(members[1..], [off, on]);
        assert_eq!(rig.import(&account, rows, Some(list.id)).await.added_to_list, 0);
        assert_eq!(rig.members(&list).await.len(), 3);
    }

    /// An import to a list that does not exist, or is another account's, writes nothing.
    async fn an_import_to_an_unknown_list_writes_nothing(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let theirs = rig.list(&other).await;
        for list in [theirs.id, rig.id()] {
            let plan = rig.import_plan(&account, vec![with_fields(1, &["a"])], Some(list));
            let refused = refusal_of(done(rig.store().contacts_import(plan, None).await));
            assert_eq!(refused, BookRefused::NoSuchList(list));
        }
        assert_eq!(rig.contacts(account.id, &ContactFilter::default()).await, []);
        assert_eq!(rig.custom_names(&account).await, [""; 0]);
    }

    /// Imports of the same people race: each number becomes one contact, on the list once, and
    /// names are counted right.
    async fn racing_imports_of_the_same_people_make_each_a_contact_once(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        let plans: Vec<_> = (0..6_u16)
            .map(|n| {
                let rows = (1..=40).map(|person| with_fields(person, &["a", "b"]));
                let rows = rows.chain([with_fields(100 + n, &["c"])]).collect();
                rig.import_plan(&account, rows, Some(list.id))
            })
            .collect();
        let answers = rig.race_each(plans, |store, plan| async move {
            done(store.contacts_import(plan, None).await).expect("imported")
        });
        let made: usize = answers.iter().map(|one| one.count(RowOutcome::Created)).sum();
        let joined: usize = answers.iter().map(|one| one.added_to_list).sum();
        assert_eq!((made, joined), (46, 46));
        let members = rig.members(&list).await;
        assert_eq!(members, rig.contacts(account.id, &ContactFilter::default()).await);
        for contact in &members {
            rig.remove_contact(contact).await;
        }
        assert_eq!(rig.custom_names(&account).await, [""; 0], "each use was counted once");
        assert_eq!(rig.members(&list).await, []);
    }

    /// An import of no rows is valid.
    async fn an_import_of_nothing_does_nothing(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        let imported = rig.import(&account, Vec::new(), Some(list.id)).await;
        assert_eq!((imported.rows, imported.added_to_list), (vec![], 0));
    }

    /// An account uses at most 1,000 custom names, however many contacts ask for another at once. A
    /// name is free again when the last contact that uses it goes.
    async fn an_account_uses_at_most_1000_custom_names(rig: &Rig) {
        let account = rig.account(0).await;
        let names: Vec<String> = (0..MAX_NAMES - 1).map(|n| format!("f{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let rows = (0u16..).zip(names.chunks(50)).map(|(n, names)| with_fields(n, names));
        rig.import(&account, rows.collect(), None).await;
        let plans = (100u16..108).map(|n| {
            rig.create_plan(&account, &with_fields(n, &["f0", &format!("new{n}")]))
        });
        let answers =
            rig.race_each(plans, |store, plan| async move {
                done(store.contact_create(plan, None).await)
            });
        let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((made.len(), refused.len()), (1, 7));
        for answer in refused {
            let BookRefused::Invalid(errors) = refusal_of(answer) else {
                panic!("another refusal")
            };
            let errors: Vec<_> = errors.iter().map(|error| (&*error.field, error.code)).collect();
            assert_eq!(errors, [("custom", "too_many")]);
        }
        assert_eq!(rig.custom_names(&account).await.len(), MAX_NAMES);
        let rows = vec![with_fields(200, &["newer"]), with_fields(201, &["f0"])];
        let imported = rig.import(&account, rows, None).await;
        assert_eq!(outcomes(&imported), [RowOutcome::Invalid, RowOutcome::Created]);
        let made = made.into_iter().next().expect("one").expect("made");
        rig.remove_contact(&made).await;
        rig.contact(&account, &with_fields(200, &["newer"])).await;
        assert_eq!(rig.custom_names(&account).await.len(), MAX_NAMES);
        let another = rig.account(0).await;
        rig.contact(&another, &with_fields(1, &["newest"])).await;
    }
}

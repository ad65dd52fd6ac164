//! Templates.

use sms_core::account::Account;
use sms_core::ids::{AccountId, TemplateId};
use sms_core::message::Body;
use sms_core::page::{Page, PageRequest};
use sms_core::template::{Template, TemplateChange, TemplateInput, TemplateSearch};
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{done, millis, page, read_all};

impl Rig {
    async fn template(&self, account: &Account, name: &str, body: &str) -> Template {
        let input = TemplateInput::new(name, body);
        let template = input.into_template(self.id(), account.id, self.now());
        done(self.store().template_create(template.clone(), None).await).expect("written");
        template
    }

    async fn template_now(&self, account: AccountId, id: TemplateId) -> Option<Template> {
        self.store().template_get(account, id).await.expect("read")
    }

    async fn templates(
        &self,
        account: AccountId,
        q: Option<&str>,
        wanted: PageRequest,
    ) -> Page<Template> {
        let search = q.and_then(TemplateSearch::parse);
        self.store().template_list(account, search.as_ref(), wanted).await.expect("listed")
    }

    async fn all_templates(
        &self,
        account: AccountId,
        q: Option<&str>,
        limit: u32,
    ) -> Vec<Template> {
        read_all(limit, async |wanted| self.templates(account, q, wanted).await).await
    }
}

fn change(name: Option<&str>, body: Option<&str>) -> TemplateChange {
    TemplateChange {
        name: name.map(str::to_owned),
        body: body.map(Body::new),
        ..TemplateChange::default()
    }
}

scenarios! { Template;
    /// A template is kept as it was made, however long and in whatever script.
    async fn a_template_is_kept_as_it_was_made(rig: &Rig) {
        let account = rig.account(0).await;
        for (name, body) in [
            ("x".to_owned(), " ".to_owned()),
            ("Küche 🐦".repeat(28), "👋\n{first_name}\u{200b}".repeat(100)),
        ] {
            let template = rig.template(&account, &name, &body).await;
            assert_eq!(rig.template_now(account.id, template.id).await, Some(template));
        }
        assert_eq!(rig.template_now(account.id, rig.id()).await, None);
    }

    /// Templates may share a name.
    async fn two_templates_may_have_one_name(rig: &Rig) {
        let account = rig.account(0).await;
        let first = rig.template(&account, "Table", "one").await;
        let second = rig.template(&account, "Table", "two").await;
        assert_eq!(rig.all_templates(account.id, None, 1).await, [second, first]);
    }

    /// Templates are listed newest first, page by page, and only the account's own.
    async fn templates_are_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut expected = Vec::new();
        for n in 0..5 {
            expected.insert(0, rig.template(&account, &format!("{n}"), "x").await);
            rig.template(&other, "x", "x").await;
            rig.advance(millis(n % 2));
        }
        for limit in [1, 2, 4, 5, 100] {
            assert_eq!(rig.all_templates(account.id, None, limit).await, expected, "{limit}");
        }
        assert_eq!(rig.all_templates(rig.id(), None, 5).await, []);
    }

    /// Reading on from a cursor shows every older template once, whatever is made or removed
    /// meanwhile.
    async fn pages_of_templates_go_on_where_they_ended(rig: &Rig) {
        let account = rig.account(0).await;
        let mut made = Vec::new();
        for n in 0..6 {
            made.insert(0, rig.template(&account, &format!("{n}"), "x").await);
        }
        let first = rig.templates(account.id, None, page(2, None)).await;
        assert_eq!(first.items, made[..2]);
        rig.template(&account, "new", "x").await;
        assert!(rig.store().template_delete(account.id, made[1].id, Any).await.expect("removed"));
        let second = rig.templates(account.id, None, page(2, first.next)).await;
        assert_eq!(second.items, made[2..4]);
        let third = rig.templates(account.id, None, page(2, second.next)).await;
        assert_eq!((third.items.as_slice(), third.next), (&made[4..], None));
    }

    /// A search finds words in names and bodies, whatever their case, and nothing else; pages of
    /// it are full.
    async fn a_search_finds_words_in_names_and_bodies(rig: &Rig) {
        let account = rig.account(0).await;
        let name = rig.template(&account, "Tisch FÜR 2", "ready").await;
        let body = rig.template(&account, "Till", "Ihr tisch für 100% _5").await;
        let other = rig.template(&account, "Other", "%").await;
        for (q, found) in [
            ("TISCH für", vec![&body, &name]),
            ("ready", vec![&name]),
            ("till", vec![&body]),
            ("%", vec![&other, &body]),
            ("0% _", vec![&body]),
            ("_", vec![&body]),
            ("\\", vec![]),
            ("' OR 1=1 --", vec![]),
            (" ", vec![&other, &body, &name]),
        ] {
            let found: Vec<Template> = found.into_iter().cloned().collect();
            for limit in [1, 100] {
                assert_eq!(rig.all_templates(account.id, Some(q), limit).await, found, "{q}");
            }
        }
    }

    /// A change writes what it names and its time, and leaves the rest unchanged.
    async fn a_change_of_a_template_leaves_the_rest_alone(rig: &Rig) {
        let account = rig.account(0).await;
        let neighbour = rig.template(&account, "Till", "x").await;
        let mut expected = rig.template(&account, "Table", "ready").await;
        for change in [
            change(Some("Tisch"), None),
            change(None, Some("fertig")),
            change(Some("a"), Some("b")),
            change(None, None),
        ] {
            let now = rig.advance(millis(5));
            expected = change.clone().apply(expected, now).expect("any version");
            let store = rig.store();
            let updated = store.template_update(account.id, expected.id, change, now).await;
            assert_eq!(updated.expect("updated").as_ref(), Some(&expected));
            assert_eq!(rig.template_now(account.id, expected.id).await.as_ref(), Some(&expected));
        }
        assert_eq!(rig.template_now(account.id, neighbour.id).await, Some(neighbour));
    }

    /// A template that is removed is gone; its neighbours stay.
    async fn a_template_is_removed_once(rig: &Rig) {
        let account = rig.account(0).await;
        let template = rig.template(&account, "Table", "x").await;
        let neighbour = rig.template(&account, "Till", "x").await;
        let store = rig.store();
        assert!(store.template_delete(account.id, template.id, Any).await.expect("removed"));
        assert!(!store.template_delete(account.id, template.id, Any).await.expect("answered"));
        assert_eq!(rig.template_now(account.id, template.id).await, None);
        let gone = store.template_update(account.id, template.id, change(None, None), rig.now());
        assert_eq!(gone.await.expect("answered"), None);
        assert_eq!(rig.all_templates(account.id, None, 5).await, [neighbour]);
    }

    /// A template is seen, changed and removed through its own account only.
    async fn another_accounts_template_is_out_of_reach(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let template = rig.template(&account, "Table", "x").await;
        assert_eq!(rig.template_now(other.id, template.id).await, None);
        let store = rig.store();
        let change = change(Some("mine"), None);
        let updated = store.template_update(other.id, template.id, change, rig.now()).await;
        assert_eq!(updated.expect("answered"), None);
        assert!(!store.template_delete(other.id, template.id, Any).await.expect("answered"));
        assert_eq!(rig.all_templates(other.id, Some("Table"), 5).await, []);
        assert_eq!(rig.template_now(account.id, template.id).await, Some(template));
    }

    /// A template needs an account that exists.
    async fn a_template_needs_its_account(rig: &Rig) {
        let input = TemplateInput::new("x", "x");
        let template = input.into_template(rig.id(), rig.id(), rig.now());
        let account = template.account;
        assert!(done(rig.store().template_create(template, None).await).is_err());
        assert_eq!(rig.all_templates(account, None, 5).await, []);
    }

    /// Changes of different things race: none is lost.
    async fn racing_changes_of_a_template_are_all_kept(rig: &Rig) {
        let account = rig.account(0).await;
        for _ in 0..8 {
            let template = rig.template(&account, "Table", "x").await;
            let (owner, id, at) = (account.id, template.id, rig.advance(millis(5)));
            let changes = [change(Some("Tisch"), None), change(None, Some("fertig"))];
            rig.race_each(changes.into_iter().cycle().take(8), move |store, change| async move {
                store.template_update(owner, id, change, at).await.expect("updated")
            });
            let expected = change(Some("Tisch"), Some("fertig")).apply(template, at);
            assert_eq!(rig.template_now(owner, id).await, expected.ok());
        }
    }

    /// Of many who remove a template at once, one does.
    async fn of_racing_removals_of_a_template_one_wins(rig: &Rig) {
        let account = rig.account(0).await;
        let template = rig.template(&account, "Table", "x").await;
        let (owner, id) = (account.id, template.id);
        let removed = rig.race_each(0..8, move |store, _| async move {
            store.template_delete(owner, id, Any).await.expect("answered")
        });
        assert_eq!(removed.iter().filter(|removed| **removed).count(), 1);
    }
}

//! Changes and removals that are made on a version only, of every resource that has versions.

use std::fmt::Display;

use sms_core::Error;
use sms_core::account::{Account, AccountChange};
use sms_core::campaign::{Campaign, CampaignChange};
use sms_core::contact::book::{RemovePlan, UpdatePlan};
use sms_core::contact::{Contact, ContactPatch};
use sms_core::event::EventType;
use sms_core::ids::{AccountId, CampaignId, ContactId, EndpointId, KeywordId, ListId, TemplateId};
use sms_core::keyword::Keyword;
use sms_core::keyword::save::{KeywordPatch, Save, SavePlan, Values};
use sms_core::list::{ContactList, ListChange};
use sms_core::store::{CommitError, Reads, Store};
use sms_core::template::{Template, TemplateChange};
use sms_core::time::Timestamp;
use sms_core::version::{IfVersion, Version, Versioned};
use sms_core::webhook::endpoint::{Endpoint, EndpointChange};

use crate::Rig;
use crate::rig::{done, millis, named};

/// Which resource a change is made to.
#[derive(Debug, Clone, Copy)]
enum Resource {
    Account,
    Contact(ContactId),
    List(ListId),
    Template(TemplateId),
    Keyword(KeywordId),
    Campaign(CampaignId),
    Endpoint(EndpointId),
}

/// What a store answered to a change or a removal.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// It was made and is stored.
    Done,
    /// The resource has another version.
    Changed,
    /// There is no such resource.
    Gone,
}

/// The answer, which must name the resource if it changed.
fn answer<T, R: Into<Error>>(resource: Resource, said: Result<T, CommitError<R>>) -> Answer {
    match said.map_err(Error::from) {
        Ok(_) => Answer::Done,
        Err(Error::NotFound(_)) => Answer::Gone,
        Err(Error::PreconditionFailed(kind)) => {
            assert_eq!(kind, resource.kind());
            Answer::Changed
        }
        Err(other) => panic!("{resource:?}: {other}"),
    }
}

/// The answer to a change, or to a removal, of something that may not exist.
fn found<T>(
    said: Result<Option<T>, CommitError<sms_core::version::Changed>>,
) -> Result<(), CommitError<NotThere>> {
    match said {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(CommitError::Refused(NotThere(Error::NotFound("resource")))),
        Err(CommitError::Refused(changed)) => Err(CommitError::Refused(NotThere(changed.into()))),
        Err(CommitError::Stale) => Err(CommitError::Stale),
        Err(CommitError::Store(error)) => Err(CommitError::Store(error)),
    }
}

struct NotThere(Error);

impl From<NotThere> for Error {
    fn from(NotThere(error): NotThere) -> Self {
        error
    }
}

impl Resource {
    fn kind(self) -> &'static str {
        match self {
            Self::Account => Account::KIND,
            Self::Contact(_) => Contact::KIND,
            Self::List(_) => ContactList::KIND,
            Self::Template(_) => Template::KIND,
            Self::Keyword(_) => Keyword::KIND,
            Self::Campaign(_) => Campaign::KIND,
            Self::Endpoint(_) => Endpoint::KIND,
        }
    }

    /// The version that the store has now; `None` if the resource is gone.
    async fn version(self, store: &dyn Reads, owner: AccountId) -> Option<Version> {
        fn of<T: Versioned, E: Display>(read: Result<Option<T>, E>) -> Option<Version> {
            match read {
                Ok(found) => found.map(|found| found.version()),
                Err(error) => panic!("{error}"),
            }
        }
        match self {
            Self::Account => of(store.account_get(owner).await),
            Self::Contact(id) => {
                of(store.contact_get(owner, id).await.map(|found| found.map(|(it, _)| it)))
            }
            Self::List(id) => of(store.list_get(owner, id).await),
            Self::Template(id) => of(store.template_get(owner, id).await),
            Self::Keyword(id) => of(store.keyword_get(owner, id).await),
            Self::Campaign(id) => of(store.campaign_get(owner, id).await),
            Self::Endpoint(id) => of(store.endpoint_get(owner, id).await),
        }
    }

    /// Writes `text` into one of its values.
    async fn change(
        self,
        store: &dyn Store,
        (account, text, at): (AccountId, &str, Timestamp),
        if_version: IfVersion,
    ) -> Answer {
        match self {
            Self::Account => {
                let change = AccountChange::default().name(text).if_version(if_version);
                answer(self, found(store.account_update(account, change, at).await))
            }
            Self::Contact(id) => {
                let patch = ContactPatch::default().notes(Some(text)).if_version(if_version);
                let change = patch.checked().expect("valid");
                answer(self, store.contact_update(UpdatePlan { account, id, change, at }).await)
            }
            Self::List(id) => {
                let change = ListChange::default().name(text).if_version(if_version);
                answer(self, found(store.list_update(account, id, change, at).await))
            }
            Self::Template(id) => {
                let change = TemplateChange::default().body(text).if_version(if_version);
                answer(self, found(store.template_update(account, id, change, at).await))
            }
            Self::Keyword(id) => {
                let values = Values::of(KeywordPatch::default().reply(Some(text)), None);
                let plan = SavePlan { account, id, save: Save::Change, values, if_version, at };
                answer(self, store.keyword_save(plan, None).await)
            }
            Self::Campaign(id) => {
                let change = CampaignChange::default().body(text).if_version(if_version);
                answer(self, store.campaign_update(account, id, change, at).await)
            }
            Self::Endpoint(id) => {
                let change = EndpointChange::default().description(Some(text));
                let change = change.if_version(if_version);
                answer(self, found(store.endpoint_update(account, id, change, at).await))
            }
        }
    }

    /// Removes it. Accounts are never removed.
    async fn remove(
        self,
        store: &dyn Store,
        account: AccountId,
        if_version: IfVersion,
    ) -> Option<Answer> {
        let there = |removed: Result<bool, _>| found(removed.map(|there| there.then_some(())));
        Some(match self {
            Self::Account => return None,
            Self::Contact(id) => {
                answer(self, store.contact_delete(RemovePlan { account, id, if_version }).await)
            }
            Self::List(id) => answer(self, there(store.list_delete(account, id, if_version).await)),
            Self::Template(id) => {
                answer(self, there(store.template_delete(account, id, if_version).await))
            }
            Self::Keyword(id) => {
                answer(self, there(store.keyword_delete(account, id, if_version).await))
            }
            Self::Campaign(id) => {
                answer(self, store.campaign_delete(account, id, if_version).await)
            }
            Self::Endpoint(id) => {
                answer(self, there(store.endpoint_delete(account, id, if_version).await))
            }
        })
    }
}

/// One resource of each kind, with the version that it was made with.
async fn one_of_each(rig: &Rig, account: &Account) -> Vec<(Resource, Version)> {
    let contact = rig.contact(account, &named(1, "Ann")).await;
    let list = rig.list(account).await;
    let template = sms_core::template::TemplateInput::new("Table", "Your table is ready");
    let template = template.into_template(rig.id(), account.id, rig.now());
    done(rig.store().template_create(template.clone(), None).await).expect("written");
    let keyword = rig.keyword(account, "PIZZA", Some("Yum"), Some(list.id)).await;
    let campaign = rig.draft(account, &list).await;
    let endpoint = rig.endpoint(account, &[EventType::MessageSent]).await;
    vec![
        (Resource::Account, account.version()),
        (Resource::Contact(contact.id), contact.version()),
        (Resource::List(list.id), list.version()),
        (Resource::Template(template.id), template.version()),
        (Resource::Keyword(keyword.id), keyword.version()),
        (Resource::Campaign(campaign.id), campaign.version()),
        (Resource::Endpoint(endpoint.id), endpoint.version()),
    ]
}

scenarios! { Campaign;
    /// A change that names a version is made on this version and on no other. One that is refused
    /// changes nothing, and says what it was.
    async fn a_change_on_a_version_is_made_on_this_version_only(rig: &Rig) {
        let account = rig.account(5).await;
        let (store, owner) = (&**rig.store(), account.id);
        for (resource, made) in one_of_each(rig, &account).await {
            let read = resource.version(store, owner).await;
            assert_eq!(read, Some(made), "{resource:?}: as the store has it");
            let change = async |text, if_version| {
                let at = rig.advance(millis(5));
                resource.change(store, (owner, text, at), if_version).await
            };
            assert_eq!(change("first", made.into()).await, Answer::Done, "{resource:?}");
            let first = resource.version(store, owner).await.expect("there");
            assert_ne!(first, made, "{resource:?}");
            for other in [made.into(), IfVersion::OneOf(Vec::new())] {
                assert_eq!(change("second", other).await, Answer::Changed, "{resource:?}");
                let still = resource.version(store, owner).await;
                assert_eq!(still, Some(first), "{resource:?}: nothing was written");
            }
            let either = IfVersion::OneOf(vec![made, first]);
            assert_eq!(change("third", either).await, Answer::Done, "{resource:?}");
            assert_eq!(change("fourth", IfVersion::Any).await, Answer::Done, "{resource:?}");
            assert_eq!(change("first", IfVersion::Any).await, Answer::Done, "{resource:?}");
            let again = resource.version(store, owner).await;
            assert_eq!(again, Some(first), "{resource:?}: equal values have equal versions");
        }
    }

    /// A removal that names a version removes this version and no other.
    async fn a_removal_of_a_version_removes_this_version_only(rig: &Rig) {
        let account = rig.account(5).await;
        let (store, owner) = (&**rig.store(), account.id);
        for (resource, made) in one_of_each(rig, &account).await.into_iter().skip(1).rev() {
            let remove = async |if_version| {
                resource.remove(store, owner, if_version).await.expect("it can be removed")
            };
            let now = rig.advance(millis(5));
            let changed = resource.change(store, (owner, "changed", now), IfVersion::Any).await;
            assert_eq!(changed, Answer::Done, "{resource:?}");
            let present = resource.version(store, owner).await.expect("there");
            for other in [made.into(), IfVersion::OneOf(Vec::new())] {
                assert_eq!(remove(other).await, Answer::Changed, "{resource:?}");
                assert_eq!(resource.version(store, owner).await, Some(present), "{resource:?}");
            }
            assert_eq!(remove(present.into()).await, Answer::Done, "{resource:?}");
            assert_eq!(resource.version(store, owner).await, None, "{resource:?}");
            assert_eq!(remove(present.into()).await, Answer::Gone, "{resource:?}");
            let late = resource.change(store, (owner, "late", now), present.into()).await;
            assert_eq!(late, Answer::Gone, "{resource:?}");
        }
    }

    /// Of changes and removals that race on one version, exactly one is made.
    async fn of_racing_changes_on_one_version_one_is_made(rig: &Rig) {
        let account = rig.account(5).await;
        let owner = account.id;
        for (resource, made) in one_of_each(rig, &account).await.into_iter().rev() {
            let at = rig.advance(millis(5));
            let answers = rig.race_each(0..8, move |store, n: u32| async move {
                let text = format!("change {n}");
                resource.change(&*store, (owner, &text, at), made.into()).await
            });
            let done = answers.iter().filter(|answer| **answer == Answer::Done).count();
            let changed = answers.iter().filter(|answer| **answer == Answer::Changed).count();
            assert_eq!((done, changed), (1, 7), "{resource:?}");
            let now = resource.version(&**rig.store(), owner).await.expect("there");
            let answers = rig.race_each(0..8, move |store, n: u32| async move {
                let removed = match n % 2 {
                    0 => resource.remove(&*store, owner, now.into()).await,
                    _ => None,
                };
                match removed {
                    Some(answer) => answer,
                    None => resource.change(&*store, (owner, "last", at), now.into()).await,
                }
            });
            let done = answers.iter().filter(|answer| **answer == Answer::Done).count();
            assert_eq!(done, 1, "{resource:?}: {answers:?}");
        }
    }
}

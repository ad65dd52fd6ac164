//! The address book: contacts, lists, who is on them, and who has opted out.

use std::collections::BTreeSet;

use sms_core::contact::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::store::ContactsWanted;
use sms_core::contact::{Contact, Details};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::list::join::{JoinPlan, Joined};
use sms_core::list::{ContactList, ListChange};
use sms_core::opt_out::{Added, OptOut};
use sms_core::phone::E164;
use sms_core::store::CommitError;
use sms_core::time::Timestamp;

use super::{AccountModel, Check, Model, Moment, read};

impl AccountModel {
    /// A contact as the API must show it.
    pub fn shown(&self, contact: &Contact) -> Contact {
        Contact { opted_out: self.opt_outs.contains_key(&contact.phone), ..contact.clone() }
    }
}

type Changed<T> = Result<T, CommitError<BookRefused>>;

/// The answer to a change of an address book. The change must be made unless it has to be refused.
fn allowed<'a, T>(
    doing: &str,
    must: Option<&BookRefused>,
    answer: &'a Changed<T>,
) -> Result<Option<&'a T>, String> {
    let (made, told) = match answer {
        Ok(made) => (Some(made), None),
        Err(CommitError::Refused(reason)) => (None, Some(reason)),
        Err(error) => return Err(format!("{doing} failed: {error}")),
    };
    ensure!(told == must, "{doing} meets {told:?} and must meet {must:?}");
    Ok(made)
}

impl Model {
    fn own(&mut self, id: AccountId) -> Result<&mut AccountModel, String> {
        self.accounts.get_mut(&id).ok_or_else(|| format!("no account {id}"))
    }

    /// A contact was made, or refused.
    pub fn saw_contact(&mut self, plan: &CreatePlan, answer: &Changed<Contact>) -> Check {
        let own = self.own(plan.account)?;
        let must = own.book.refuses(plan.id, Some(plan.phone));
        let Some(contact) = allowed("making a contact", must.as_ref(), answer)? else {
            return Ok(());
        };
        let expected = own.shown(&Contact {
            id: plan.id,
            account: plan.account,
            phone: plan.phone,
            details: plan.details.clone(),
            opted_out: false,
            created_at: plan.at,
            updated_at: plan.at,
        });
        ensure!(*contact == expected, "a contact became {contact:?} for {expected:?}");
        own.book.contacts.insert(contact.id, expected);
        Ok(())
    }

    /// A contact was changed, or that was refused.
    pub fn saw_contact_update(&mut self, plan: &UpdatePlan, answer: &Changed<Contact>) -> Check {
        let own = self.own(plan.account)?;
        let change = &plan.change;
        let must = match own.book.contacts.get(&plan.id) {
            None => Some(BookRefused::NoSuchContact),
            Some(_) => own.book.refuses(plan.id, change.phone),
        };
        let Some(contact) = allowed("changing a contact", must.as_ref(), answer)? else {
            return Ok(());
        };
        let before = own.book.contacts.get(&plan.id).ok_or("a contact came from nowhere")?;
        let mut after = Contact { updated_at: plan.at, ..before.clone() };
        after.phone = change.phone.unwrap_or(after.phone);
        if let Some(name) = &change.first_name {
            after.details.first_name.clone_from(name);
        }
        let expected = own.shown(&after);
        ensure!(*contact == expected, "a contact became {contact:?} for {expected:?}");
        own.book.contacts.insert(plan.id, after);
        Ok(())
    }

    /// A contact was removed, and from every list.
    pub fn saw_contact_gone(&mut self, plan: &RemovePlan, answer: &Changed<()>) -> Check {
        let book = &mut self.own(plan.account)?.book;
        let known = book.contacts.remove(&plan.id).is_some();
        for (_, members) in book.lists.values_mut() {
            members.remove(&plan.id);
        }
        let must = (!known).then_some(BookRefused::NoSuchContact);
        allowed("removing a contact", must.as_ref(), answer).map(|_| ())
    }

    /// A list was made.
    pub fn saw_list(&mut self, list: ContactList) -> Check {
        let (id, account) = (list.id, list.account);
        let before = self.own(account)?.book.lists.insert(id, (list, BTreeSet::new()));
        ensure!(before.is_none(), "{id} was made twice");
        Ok(())
    }

    /// A list was renamed.
    pub fn saw_list_update(
        &mut self,
        account: AccountId,
        id: ListId,
        change: ListChange,
        at: Timestamp,
        answer: Option<&ContactList>,
    ) -> Check {
        let book = &mut self.own(account)?.book;
        if let Some((list, _)) = book.lists.get_mut(&id) {
            list.updated_at = at;
            list.name = change.name.unwrap_or_else(|| list.name.clone());
        }
        let expected = book.list(id);
        ensure!(answer == expected.as_ref(), "a list became {answer:?} for {expected:?}");
        Ok(())
    }

    /// A list was removed, and cleared from the keywords that named it.
    pub fn saw_list_gone(&mut self, account: AccountId, id: ListId, answer: bool) -> Check {
        let own = self.own(account)?;
        let known = own.book.lists.remove(&id).is_some();
        ensure!(known == answer, "removing {id} answers {answer}");
        for keyword in own.keywords.values_mut() {
            keyword.add_to_list_id = keyword.add_to_list_id.filter(|list| *list != id);
        }
        Ok(())
    }

    /// Contacts were put on a list; numbers became contacts.
    pub fn saw_join(
        &mut self,
        moment: &Moment<'_>,
        plan: &JoinPlan,
        answer: &Changed<Joined>,
    ) -> Check {
        let book = &self.own(plan.account)?.book;
        let is_gone = !book.lists.contains_key(&plan.list);
        let must = is_gone.then_some(BookRefused::NoSuchList(plan.list));
        let Some(joined) = allowed("joining a list", must.as_ref(), answer)? else { return Ok(()) };
        let unknown: BTreeSet<ContactId> =
            plan.contacts.iter().copied().filter(|id| !book.contacts.contains_key(id)).collect();
        ensure!(joined.unknown == unknown, "{joined:?} does not know {unknown:?}");
        let mut wanted: Vec<ContactId> =
            plan.contacts.iter().copied().filter(|id| !unknown.contains(id)).collect();
        for phone in &plan.phones {
            wanted.push(self.welcome(moment, plan.account, *phone, plan.at)?);
        }
        let members = self.own(plan.account)?.book.lists.get_mut(&plan.list);
        let members = &mut members.ok_or("a list vanished")?.1;
        let before = members.len();
        members.extend(wanted);
        let added = members.len() - before;
        ensure!(joined.added == added, "{added} joined a list and {} were told", joined.added);
        self.list_kept(moment, plan.account, plan.list)
    }

    /// The contact with a number, which is created if needed.
    pub(super) fn welcome(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        phone: E164,
        at: Timestamp,
    ) -> Result<ContactId, String> {
        let known = self.own(account)?.book.of_number(phone).map(|contact| contact.id);
        let kept =
            read(moment.books.contacts_among(account, ContactsWanted::Phones(&[phone])))?.pop();
        let kept = kept.ok_or("a number became no contact")?;
        if let Some(known) = known {
            ensure!(kept.id == known, "a number is contact {} and was {known}", kept.id);
            return Ok(known);
        }
        let own = self.own(account)?;
        let expected = own.shown(&Contact {
            id: kept.id,
            account,
            phone,
            details: Details::default(),
            opted_out: false,
            created_at: at,
            updated_at: at,
        });
        ensure!(kept == expected, "a number became {kept:?} for {expected:?}");
        let before = own.book.contacts.insert(kept.id, kept);
        ensure!(before.is_none(), "a new contact took the place of {before:?}");
        Ok(expected.id)
    }

    /// Checks that the store's list equals the model's.
    pub(super) fn list_kept(&self, moment: &Moment<'_>, account: AccountId, id: ListId) -> Check {
        let own = self.accounts.get(&account).and_then(|own| own.book.list(id));
        let kept = read(moment.books.list_get(account, id))?;
        ensure!(kept == own, "{kept:?} is kept for {own:?}");
        Ok(())
    }

    /// A contact was taken off a list.
    pub fn saw_leave(
        &mut self,
        account: AccountId,
        list: ListId,
        contact: ContactId,
        answer: bool,
    ) -> Check {
        let lists = &mut self.own(account)?.book.lists;
        let was_there = lists.get_mut(&list).is_some_and(|(_, members)| members.remove(&contact));
        ensure!(was_there == answer, "leaving {list} answers {answer}");
        Ok(())
    }

    /// A user opted a number out.
    pub fn saw_opt_out(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        asked: &OptOut,
        answer: &Added,
    ) -> Check {
        let own = self.own(account)?;
        let known = own.opt_outs.contains_key(&asked.phone);
        let right = match answer {
            Added::New(opt_out) => !known && opt_out == asked,
            Added::Existing(opt_out) => known && opt_out.phone == asked.phone,
        };
        ensure!(right, "opting out answers {answer:?}, and was done before: {known}");
        if !known {
            own.opt_outs.insert(asked.phone, moment.step);
            own.opt_out_changes += 1;
        }
        Ok(())
    }

    /// A user opted a number in.
    pub fn saw_opt_out_gone(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        phone: E164,
        answer: bool,
    ) -> Check {
        let own = self.own(account)?;
        let known = own.opt_outs.remove(&phone).is_some();
        ensure!(known == answer, "opting in at step {} answers {answer}", moment.step);
        own.opt_out_changes += u64::from(known);
        Ok(())
    }
}

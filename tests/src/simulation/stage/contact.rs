//! The address book on the stage: contacts, lists, opt-outs.

use super::{Stage, first};
use crate::layer::prelude::*;
use crate::layer::{ContactLayer, Layer, ListLayer, OptOutLayer};

impl ContactLayer for Stage {
    async fn contact_create(
        &self,
        plan: CreatePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Contact>, CommitError<BookRefused>> {
        self.before("contact_create").await;
        let seen = plan.clone();
        let answer = self.inner.contact_create(plan, claim).await;
        let answer = match first(answer) {
            Ok(answer) => answer,
            Err(earlier) => return Ok(Once::Earlier(earlier)),
        };
        self.after(|model, _| model.saw_contact(&seen, &answer)).await;
        answer.map(Once::Done)
    }

    async fn contact_update(&self, plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>> {
        self.before("contact_update").await;
        let seen = plan.clone();
        let answer = self.inner.contact_update(plan).await;
        self.after(|model, _| model.saw_contact_update(&seen, &answer)).await;
        answer
    }

    async fn contact_delete(&self, plan: RemovePlan) -> Result<(), CommitError<BookRefused>> {
        self.before("contact_delete").await;
        let seen = plan.clone();
        let answer = self.inner.contact_delete(plan).await;
        self.after(|model, _| model.saw_contact_gone(&seen, &answer)).await;
        answer
    }

    async fn contacts_among(
        &self,
        account: AccountId,
        wanted: ContactsWanted<'_>,
    ) -> Result<Vec<Contact>, StoreError> {
        self.before("contacts_among").await;
        let answer = self.inner.contacts_among(account, wanted).await?;
        if let ContactsWanted::Phones(phones) = wanted {
            self.world
                .judge(|model, moment| model.saw_contacts_of(moment, account, phones, &answer));
        }
        Ok(answer)
    }
}

impl ListLayer for Stage {
    async fn list_create(
        &self,
        list: ContactList,
        claim: Option<&Claim>,
    ) -> Result<Once<ContactList>, StoreError> {
        self.before("list_create").await;
        let answer = self.inner.list_create(list, claim).await?;
        if let Once::Done(made) = &answer {
            let made = made.clone();
            self.after(|model, _| model.saw_list(made)).await;
        }
        Ok(answer)
    }

    async fn list_update(
        &self,
        account: AccountId,
        id: ListId,
        change: ListChange,
        at: Timestamp,
    ) -> Result<Option<ContactList>, CommitError<Changed>> {
        self.before("list_update").await;
        let asked = change.clone();
        let answer = self.inner.list_update(account, id, change, at).await?;
        self.after(|model, _| model.saw_list_update(account, id, asked, at, answer.as_ref())).await;
        Ok(answer)
    }

    async fn list_delete(
        &self,
        account: AccountId,
        id: ListId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        self.before("list_delete").await;
        let answer = self.inner.list_delete(account, id, if_version).await?;
        self.after(|model, _| model.saw_list_gone(account, id, answer)).await;
        Ok(answer)
    }

    async fn list_join(&self, plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>> {
        self.before("list_join").await;
        let seen = plan.clone();
        let answer = self.inner.list_join(plan).await;
        self.after(|model, moment| model.saw_join(moment, &seen, &answer)).await;
        answer
    }

    async fn list_leave(
        &self,
        account: AccountId,
        list: ListId,
        contact: ContactId,
    ) -> Result<bool, StoreError> {
        self.before("list_leave").await;
        let answer = self.inner.list_leave(account, list, contact).await?;
        self.after(|model, _| model.saw_leave(account, list, contact, answer)).await;
        Ok(answer)
    }
}

impl OptOutLayer for Stage {
    async fn opt_outs_among(
        &self,
        account: AccountId,
        numbers: &[E164],
    ) -> Result<BTreeSet<E164>, StoreError> {
        self.before("opt_outs_among").await;
        let answer = self.inner.opt_outs_among(account, numbers).await?;
        self.world.judge(|model, moment| model.saw_opt_outs(moment, account, numbers, &answer));
        Ok(answer)
    }

    async fn opt_out_create(
        &self,
        account: AccountId,
        opt_out: OptOut,
        claim: Option<&Claim>,
    ) -> Result<Once<Added>, StoreError> {
        self.before("opt_out_create").await;
        let asked = opt_out.clone();
        let answer = self.inner.opt_out_create(account, opt_out, claim).await?;
        if let Once::Done(added) = &answer {
            self.after(|model, moment| model.saw_opt_out(moment, account, &asked, added)).await;
        }
        Ok(answer)
    }

    async fn opt_out_delete(&self, account: AccountId, phone: E164) -> Result<bool, StoreError> {
        self.before("opt_out_delete").await;
        let answer = self.inner.opt_out_delete(account, phone).await?;
        self.after(|model, moment| model.saw_opt_out_gone(moment, account, phone, answer)).await;
        Ok(answer)
    }
}

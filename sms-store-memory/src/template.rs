//! Templates.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, TemplateId};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::template::store::{ReadsTemplates, TemplateStore};
use sms_core::template::{Template, TemplateChange, TemplateSearch};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};

use crate::MemoryStore;
use crate::search::{portion, search as look_for};

#[async_trait]
impl ReadsTemplates for MemoryStore {
    async fn template_get(
        &self,
        account: AccountId,
        id: TemplateId,
    ) -> Result<Option<Template>, StoreError> {
        let state = self.state();
        Ok(state.accounts.get(&account).and_then(|room| room.templates.get(&id)).cloned())
    }

    async fn template_list(
        &self,
        account: AccountId,
        search: Option<&TemplateSearch>,
        page: PageRequest,
    ) -> Result<Page<Template>, StoreError> {
        let found = look_for(
            page,
            |template: &Template| template.id,
            |before, most| {
                let state = self.state();
                let end = before.unwrap_or(TemplateId::from_u128(u128::MAX));
                let room = state.accounts.get(&account).into_iter();
                let rows = room.flat_map(|room| room.templates.range(..end).rev());
                portion(rows.map(|(id, template)| (*id, template)), most, |template| {
                    search.is_none_or(|search| search.finds(template)).then(|| template.clone())
                })
            },
        );
        Ok(found.await)
    }
}

#[async_trait]
impl TemplateStore for MemoryStore {
    async fn template_create(
        &self,
        template: Template,
        claim: Option<&Claim>,
    ) -> Result<Once<Template>, StoreError> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let doing = "saving a template of an account that does not exist";
        let room = state.accounts.get_mut(&template.account);
        let room = room.ok_or(StoreError::Internal { doing, source: None })?;
        room.templates.insert(template.id, template.clone());
        state.remember(claim, &template);
        Ok(Once::Done(template))
    }

    async fn template_update(
        &self,
        account: AccountId,
        id: TemplateId,
        change: TemplateChange,
        at: Timestamp,
    ) -> Result<Option<Template>, CommitError<Changed>> {
        let mut state = self.state();
        let room = state.accounts.get_mut(&account);
        let Some(template) = room.and_then(|room| room.templates.get_mut(&id)) else {
            return Ok(None);
        };
        *template = change.apply(template.clone(), at).map_err(CommitError::Refused)?;
        Ok(Some(template.clone()))
    }

    async fn template_delete(
        &self,
        account: AccountId,
        id: TemplateId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let mut state = self.state();
        let Some(room) = state.accounts.get_mut(&account) else { return Ok(false) };
        let Some(template) = room.templates.get(&id) else { return Ok(false) };
        if_version.check(template).map_err(CommitError::Refused)?;
        Ok(room.templates.remove(&id).is_some())
    }
}

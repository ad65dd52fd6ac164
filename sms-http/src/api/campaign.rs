//! `/campaigns`: a message to every contact of a list, drafted, then launched.

use poem::web::Data;
use poem_openapi::OpenApi;
use sms_core::Sms;
use sms_core::campaign::Campaign;
use sms_core::campaign::launch::QuietHoursApplied;
use sms_core::idempotency::{Made, Replay};
use sms_core::service::campaign::CampaignLaunched;
use sms_core::service::{AccountHandle, Caller};
use sms_core::version::Versioned;

use super::campaign_shape::{
    CampaignInput, CampaignPatch, CampaignShape, CancelMeta, LaunchBody, LaunchMeta, shape,
};
use super::page::{CursorText, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::api::idempotency::{KeyHeader, created};
use crate::api::version::if_version;
use crate::failure::{Conflict, ConflictOrChanged, Refused};
use crate::web::body::{Body, OptionalBody};
use crate::web::entity_tag::{IfMatch, Tagged};
use crate::web::envelope::{Answer, CreatedOrNot, NoContent, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::param::{HeaderParam, Limit, QueryParam};
use crate::web::path_param::PathParam;

/// The handlers of `/campaigns`.
#[derive(Debug)]
pub struct CampaignApi {
    sms: Sms,
}

impl CampaignApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }

    fn tagged(&self, campaign: Campaign) -> Tagged<Answer<CampaignShape>> {
        let tag = campaign.version().to_string();
        Tagged::new(tag, Answer::new(self.shown(campaign)))
    }

    fn shown(&self, campaign: Campaign) -> CampaignShape {
        shape(campaign, self.sms.now())
    }
}

#[OpenApi(prefix_path = "/campaigns", tag = "Tag::Campaigns")]
impl CampaignApi {
    /// List campaigns
    ///
    /// Newest first, with counts of their messages by status.
    #[oai(path = "/", method = "get", operation_id = "campaign_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most campaigns per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<CampaignShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        let page = self.account(&caller).campaign_list(page).await?;
        let next = page.next.map(|cursor| cursor.to_string());
        let campaigns = page.items.into_iter().map(|campaign| self.shown(campaign));
        Ok(Answer::page(campaigns.collect(), next))
    }

    /// Create a campaign
    ///
    /// Creates a draft: nothing is sent or charged until it is launched.
    #[oai(path = "/", method = "post", operation_id = "campaign_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<CampaignInput>,
    ) -> Result<Tagged<CreatedOrNot<CampaignShape, Option<ReplayMeta>>>, Failing<Conflict>> {
        let (KeyHeader(key), input) = checked((key, body))?;
        let input = input.into_core()?;
        let campaign = self.account(&caller).keyed(key).campaign_create(input).await?;
        let tag = campaign.value.version().to_string();
        Ok(Tagged::new(tag, created(campaign.map(|campaign| self.shown(campaign)))))
    }

    /// Read a campaign
    ///
    /// Its status, and how many of its messages have each status.
    #[oai(path = "/:id", method = "get", operation_id = "campaign_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The campaign's id.
        id: PathParam,
    ) -> Result<Tagged<Answer<CampaignShape>>, ApiError> {
        let campaign = self.account(&caller).campaign_get(path_id(&id)?).await?;
        Ok(self.tagged(campaign))
    }

    /// Change a campaign
    ///
    /// Only a draft can be changed. Absent fields stay as they are.
    #[oai(path = "/:id", method = "patch", operation_id = "campaign_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The campaign's id.
        id: PathParam,
        /// Changes only the version of the campaign with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
        body: Body<CampaignPatch>,
    ) -> Result<Tagged<Answer<CampaignShape>>, Failing<ConflictOrChanged>> {
        let id = path_id(&id)?;
        let (if_match, patch) = checked((if_match, body))?;
        let account = self.account(&caller);
        // The campaign is looked up first: only its owner learns that a list id is malformed.
        account.campaign_get(id).await?;
        let change = patch.into_core()?.if_version(if_version(if_match));
        Ok(self.tagged(account.campaign_update(id, change).await?))
    }

    /// Delete a campaign
    ///
    /// Only a draft can be deleted.
    #[oai(path = "/:id", method = "delete", operation_id = "campaign_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The campaign's id.
        id: PathParam,
        /// Deletes only the version of the campaign with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
    ) -> Result<NoContent, Failing<ConflictOrChanged>> {
        let id = path_id(&id)?;
        let version = if_version(checked(if_match)?);
        self.account(&caller).campaign_delete_if(id, version).await?;
        Ok(NoContent)
    }

    /// Launch a campaign
    ///
    /// Now or at a given time. The credits for all its messages are charged at once, or nothing
    /// happens. During the account's quiet hours it waits for their end, unless
    /// `ignore_quiet_hours` is true. Fields of the body override the draft. With an
    /// `Idempotency-Key`, a retry returns the campaign as its launch left it and launches nothing.
    #[oai(path = "/:id/send", method = "post", operation_id = "campaign_send")]
    async fn send(
        &self,
        caller: Data<&Caller>,
        /// The campaign's id.
        id: PathParam,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: OptionalBody<LaunchBody>,
    ) -> Result<Answer<CampaignShape, LaunchMeta>, Failing<Refused>> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let KeyHeader(key) = errors.take(key);
        let options = errors.take(body).map(LaunchBody::into_core).unwrap_or_default();
        errors.finish_with(|| options.check(self.sms.now()).into_iter().collect())?;
        let Made { value, replay } =
            self.account(&caller).keyed(key).campaign_launch(id, options).await?;
        let CampaignLaunched { campaign, quiet_hours, .. } = value;
        let quiet_hours_applied = quiet_hours == QuietHoursApplied::Yes;
        let meta = LaunchMeta { quiet_hours_applied, replayed: replay == Replay::Repeated };
        let at = campaign.launch.as_ref().map_or_else(|| self.sms.now(), |launch| launch.at);
        Ok(Answer { data: shape(campaign, at), meta })
    }

    /// Cancel a campaign
    ///
    /// Only while it is `scheduled` or `sending`. Messages that no worker has claimed are cancelled
    /// and refunded; `meta.cancelled_messages` counts them.
    #[oai(path = "/:id/cancel", method = "post", operation_id = "campaign_cancel")]
    async fn cancel(
        &self,
        caller: Data<&Caller>,
        /// The campaign's id.
        id: PathParam,
    ) -> Result<Answer<CampaignShape, CancelMeta>, Failing<Conflict>> {
        let cancelled = self.account(&caller).campaign_cancel(path_id(&id)?).await?;
        let meta = CancelMeta { cancelled_messages: cancelled.messages };
        Ok(Answer { data: self.shown(cancelled.campaign), meta })
    }
}

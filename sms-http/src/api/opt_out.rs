//! `/opt-outs`: numbers that get no messages.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::idempotency::Made;
use sms_core::opt_out::{Added, MAX_NOTE, OptOut, OptOutSource, Via};
use sms_core::page::{Limit as PageLimit, OffsetPage, OffsetRequest};
use sms_core::phone::{parse_any, parse_uk_mobile};
use sms_core::service::{AccountHandle, Caller};

use super::tag::Tag;
use crate::api::idempotency::{KeyHeader, answered, created};
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, CreatedOrNot, Meta, NoContent, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldCode, FieldErrors, checked};
use crate::web::fields::text::Mistake;
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam, Text, Whole};
use crate::web::path_param::PathParam;

/// How many characters a number may be written with.
const MAX_PHONE: usize = 40;
/// The largest offset: up to here every number is exact in any client.
const MAX_OFFSET: i64 = (1 << 53) - 1;

request_body! {
    /// A number that gets no messages.
    struct OptOutInput as "OptOutInput" {
        /// A UK mobile number, in any common format.
        required phone: String = text().min(1).max(MAX_PHONE).checked(check_phone),
            example "07700 900123";
        /// Your note.
        optional note: String = text().max(MAX_NOTE), example "Asked on the phone";
    }
}

fn check_phone(phone: &str) -> Result<(), Mistake> {
    let parsed = parse_uk_mobile(phone);
    parsed.map(|_| ()).map_err(|reason| (FieldCode::InvalidFormat.as_str(), reason.to_string()))
}

/// A number that gets no messages.
#[derive(Debug, Object)]
#[oai(rename = "OptOut")]
struct OptOutShape {
    /// The number in E.164.
    phone: String,
    /// How the number was opted out.
    source: Named<OptOutSource>,
    /// Your own note; null if there is none.
    note: Option<String>,
    /// When the number was opted out.
    created_at: Moment,
}

impl From<OptOut> for OptOutShape {
    fn from(opt_out: OptOut) -> Self {
        Self {
            phone: opt_out.phone.to_string(),
            source: Named(opt_out.source),
            note: opt_out.note,
            created_at: opt_out.created_at.into(),
        }
    }
}

/// The meta of a list that is read by position.
#[derive(Debug, Object)]
struct TotalMeta {
    /// The length of the whole list.
    total: u64,
}

impl Meta for TotalMeta {
    const NAME_END: &'static str = "Page";
}

/// The handlers of `/opt-outs`.
#[derive(Debug)]
pub struct OptOutApi {
    sms: Sms,
}

impl OptOutApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/opt-outs", tag = "Tag::OptOuts")]
impl OptOutApi {
    /// List opt-outs
    ///
    /// Newest first, starting at `offset`. `meta.total` counts all opt-outs, or with `q` all
    /// matches.
    #[oai(path = "/", method = "get", operation_id = "opt_out_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most opt-outs per page.
        limit: QueryParam<Limit>,
        /// How many opt-outs to skip; 0 by default.
        offset: QueryParam<Option<Whole<0, MAX_OFFSET>>>,
        /// A phone number in any format, or text to find in the note.
        q: QueryParam<Option<Text<200>>>,
    ) -> Result<Answer<Vec<OptOutShape>, TotalMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let limit = PageLimit::new(errors.take(limit).0).unwrap_or_default();
        let offset = errors.take(offset).and_then(|offset| u64::try_from(offset.0).ok());
        let q = errors.take(q).map(|text| text.0);
        errors.finish()?;
        let wanted = OffsetRequest { limit, offset: offset.unwrap_or_default() };
        let page = self.account(&caller).opt_out_list(q.as_deref(), wanted).await?;
        let OffsetPage { items, total } = page;
        let data = items.into_iter().map(Into::into).collect();
        Ok(Answer { data, meta: TotalMeta { total } })
    }

    /// Opt a number out
    ///
    /// 201 for a new opt-out; 200 with the existing one if the number has opted out already.
    #[oai(path = "/", method = "post", operation_id = "opt_out_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<OptOutInput>,
    ) -> Result<CreatedOrNot<OptOutShape, Option<ReplayMeta>>, Failing<Conflict>> {
        let (KeyHeader(key), OptOutInput { phone, note }) = checked((key, body))?;
        let Made { value, replay } =
            self.account(&caller).keyed(key).opt_out_create(&phone, note, Via::Api).await?;
        Ok(match value {
            Added::New(opt_out) => created(Made { value: opt_out, replay }),
            Added::Existing(opt_out) => {
                let Answer { data, meta } = answered(Made { value: opt_out, replay });
                CreatedOrNot::Existing(data, meta)
            }
        })
    }

    /// Remove an opt-out
    ///
    /// Do this only if the person has asked to hear from you again.
    #[oai(path = "/:phone", method = "delete", operation_id = "opt_out_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The number: E.164, URL-encoded, or in any common format.
        phone: PathParam,
    ) -> Result<NoContent, ApiError> {
        let phone = parse_any(&phone).map_err(|_| ApiError::not_found())?;
        self.account(&caller).opt_out_delete(phone).await?;
        Ok(NoContent)
    }
}

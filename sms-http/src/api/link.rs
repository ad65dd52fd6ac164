//! `/links`: tracked links and their clicks. [`crate::short_link`] redirects them.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::link::{Link, LinkFilter};
use sms_core::page::Page;
use sms_core::service::Caller;

use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::web::envelope::{Answer, PageMeta};
use crate::web::error::ApiError;
use crate::web::field_error::FieldErrors;
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam, Text};
use crate::web::path_param::PathParam;

/// A short URL in one message to one recipient.
#[derive(Debug, Object)]
#[oai(rename = "Link")]
struct LinkShape {
    /// `lnk_` and 26 characters.
    id: String,
    /// The unique code: 10 letters and digits.
    code: String,
    /// The short URL in the message.
    short_url: String,
    /// The destination.
    url: String,
    /// The message it was sent in.
    message_id: String,
    /// The campaign of that message; null if there is none.
    campaign_id: Option<String>,
    /// The number it was sent to.
    contact_number: Option<String>,
    /// How many times it was followed; every click counts.
    clicks: u64,
    /// When it was first clicked; null if it was not.
    first_clicked_at: Option<Moment>,
    /// When it was last clicked; null if it was not.
    last_clicked_at: Option<Moment>,
    /// When it was created.
    created_at: Moment,
}

/// The handlers of `/links`.
#[derive(Debug)]
pub struct LinkApi {
    sms: Sms,
}

impl LinkApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn shape(&self, link: Link) -> LinkShape {
        LinkShape {
            id: link.id.to_string(),
            code: link.code.to_string(),
            short_url: self.sms.link_base().short_url(link.code),
            message_id: link.message.to_string(),
            campaign_id: link.campaign.map(|id| id.to_string()),
            contact_number: Some(link.contact_number.to_string()),
            clicks: link.clicks,
            first_clicked_at: link.first_clicked_at.map(Into::into),
            last_clicked_at: link.last_clicked_at.map(Into::into),
            created_at: link.created_at().into(),
            url: link.url,
        }
    }
}

#[OpenApi(prefix_path = "/links", tag = "Tag::Links")]
impl LinkApi {
    /// List tracked links
    ///
    /// One for each URL and recipient, newest first. A link must match all filters; an unknown id
    /// matches none.
    #[oai(path = "/", method = "get", operation_id = "link_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most links per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
        /// The campaign they were sent in.
        campaign_id: QueryParam<Option<Text<200>>>,
        /// The message they were sent in.
        message_id: QueryParam<Option<Text<200>>>,
    ) -> Result<Answer<Vec<LinkShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        let campaign = errors.take(campaign_id).map(|text| text.0.parse());
        let message = errors.take(message_id).map(|text| text.0.parse());
        errors.finish()?;
        // A malformed id names no campaign and no message, so no link matches.
        let (Ok(campaign), Ok(message)) = (campaign.transpose(), message.transpose()) else {
            return Ok(Answer::page(Vec::new(), None));
        };
        let account = self.sms.account(caller.account, caller.mode);
        let links = account.link_list(LinkFilter { campaign, message }, page).await?;
        let shown: Page<LinkShape> = links.map(|link| self.shape(link));
        Ok(page_answer(shown))
    }

    /// Read a tracked link
    ///
    /// Its destination, and how often it was followed.
    #[oai(path = "/:id", method = "get", operation_id = "link_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The link's id.
        id: PathParam,
    ) -> Result<Answer<LinkShape>, ApiError> {
        let account = self.sms.account(caller.account, caller.mode);
        let link = account.link_get(path_id(&id)?).await?;
        Ok(Answer::new(self.shape(link)))
    }
}

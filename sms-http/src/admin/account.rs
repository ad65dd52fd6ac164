//! `/accounts`: creating, approving, suspending and configuring accounts.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::account::settings::{LINE_CHARACTERS, SettingsChange};
use sms_core::account::{Account, AccountChange, AccountStatus, LocalTime, Settings, Share};
use sms_core::credits::Credits;
use sms_core::service::operator::{MAX_NAME, NewAccountInput, check_name};

use super::amount::MAX_CREDITS;
use super::tag::Tag;
use crate::api::idempotency::KeyHeader;
use crate::api::page::{CursorText, page_answer, page_request};
use crate::api::path_id::path_id;
use crate::api::version::{created, if_version, shown};
use crate::failure::{Changed, Conflict};
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::entity_tag::{IfMatch, Tagged};
use crate::web::envelope::{Answer, CreatedOrNot, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldCode, FieldErrors};
use crate::web::fields::text::{Mistake, Text, text};
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam};
use crate::web::path_param::PathParam;

const MAX_SHARE: u64 = Share::MAX as u64;

fn time_of_day() -> Text {
    let pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$";
    text().undocumented_max(5).pattern(pattern).checked(check_time)
}

fn line() -> Text {
    text().min(*LINE_CHARACTERS.start()).max(*LINE_CHARACTERS.end())
}

fn check_time(text: &str) -> Result<(), Mistake> {
    let parsed = text.parse::<LocalTime>();
    let message = || "must be a time of day, HH:MM".to_owned();
    parsed.map(|_| ()).map_err(|_| (FieldCode::InvalidFormat.as_str(), message()))
}

request_body! {
    /// Settings of an account. Absent fields stay as they are.
    struct SettingsInput as "SettingsInput" {
        /// The start of quiet hours, `HH:MM` in Europe/London.
        given quiet_hours_start: String = time_of_day();
        /// The end of quiet hours, `HH:MM` in Europe/London.
        given quiet_hours_end: String = time_of_day();
        /// Whether campaigns track links by default.
        given track_links_default: bool = boolean();
        /// The opt-out line of a message from a number.
        given opt_out_line: String = line();
        /// The opt-out line of a message from a sender name; `{number}` is replaced by the
        /// account's number.
        given opt_out_line_sender: String = line();
    }
}

impl From<SettingsInput> for SettingsChange {
    fn from(input: SettingsInput) -> Self {
        let time = |text: Option<String>| text.and_then(|text| text.parse().ok());
        Self {
            quiet_hours_start: time(input.quiet_hours_start),
            quiet_hours_end: time(input.quiet_hours_end),
            track_links_default: input.track_links_default,
            opt_out_line: input.opt_out_line,
            opt_out_line_sender: input.opt_out_line_sender,
        }
    }
}

request_body! {
    /// A new account.
    struct AccountInput as "AccountInput" {
        /// The name.
        required name: String = text().min(1).max(MAX_NAME);
        /// Whether the account may send; `pending` by default.
        optional status: AccountStatus = choice();
        /// The opening balance in credits; 0 by default.
        optional credits: u64 = count(0..=MAX_CREDITS);
        /// The account's settings. Omitted settings have default values.
        optional settings: SettingsInput = object();
    }
}

request_body! {
    /// Changes to an account. Absent fields stay as they are.
    struct AccountPatch as "AccountPatch" {
        /// The new name.
        given name: String = text().min(1).max(MAX_NAME);
        /// The new status: approves or suspends the account.
        given status: AccountStatus = choice();
        /// The account's new share of a route while messages of several accounts wait: with 3, it
        /// sends three times as many as an account with 1.
        given share: u64 = count(1..=MAX_SHARE);
        /// New settings. Absent settings stay as they are.
        optional settings: SettingsInput = object();
    }
}

/// Settings of an account.
#[derive(Debug, Object)]
#[oai(rename = "Settings")]
struct SettingsShape {
    /// The start of quiet hours, `HH:MM` in Europe/London.
    quiet_hours_start: String,
    /// The end of quiet hours, `HH:MM` in Europe/London.
    quiet_hours_end: String,
    /// Whether campaigns track links by default.
    track_links_default: bool,
    /// The opt-out line of a message from a number.
    opt_out_line: String,
    /// The opt-out line of a message from a sender name.
    opt_out_line_sender: String,
}

/// An account.
#[derive(Debug, Object)]
#[oai(rename = "Account")]
struct AccountShape {
    /// `acc_` and 26 characters.
    id: String,
    /// The name.
    name: String,
    /// Whether the account may send.
    status: Named<AccountStatus>,
    /// The balance in credits.
    credits: u64,
    /// Its weight among accounts whose messages wait: 1 to 100, 1 at first.
    share: u16,
    /// The settings of the account.
    settings: SettingsShape,
    /// When it was created.
    created_at: Moment,
    /// When it was last changed.
    updated_at: Moment,
}

impl From<Account> for AccountShape {
    fn from(account: Account) -> Self {
        let Settings { quiet_hours, track_links_default, opt_out_line, opt_out_line_sender } =
            account.settings;
        Self {
            id: account.id.to_string(),
            name: account.name,
            status: Named(account.status),
            credits: account.balance.get(),
            share: account.share.get(),
            settings: SettingsShape {
                quiet_hours_start: quiet_hours.start.to_string(),
                quiet_hours_end: quiet_hours.end.to_string(),
                track_links_default,
                opt_out_line,
                opt_out_line_sender,
            },
            created_at: account.created_at.into(),
            updated_at: account.updated_at.into(),
        }
    }
}

/// The handlers of `/accounts`.
#[derive(Debug)]
pub struct AccountApi {
    sms: Sms,
}

impl AccountApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/accounts", tag = "Tag::Accounts")]
impl AccountApi {
    /// Create an account
    ///
    /// Pending unless `status` says otherwise: then only its test keys work.
    #[oai(path = "/", method = "post", operation_id = "account_create")]
    async fn create(
        &self,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<AccountInput>,
    ) -> Result<Tagged<CreatedOrNot<AccountShape, Option<ReplayMeta>>>, Failing<Conflict>> {
        let mut errors = FieldErrors::new();
        let KeyHeader(key) = errors.take(key);
        let AccountInput { name, status, credits, settings } = errors.take(body);
        errors.finish_with(|| check_name(&name).into_iter().collect())?;
        let settings = settings.map_or_else(Settings::default, |given| {
            SettingsChange::from(given).apply(Settings::default())
        });
        let input = NewAccountInput::active(name, 0)
            .status(status.unwrap_or(AccountStatus::Pending))
            .credits(Credits::new(credits.unwrap_or_default()).unwrap_or(Credits::MAX))
            .settings(settings);
        Ok(created(self.sms.operator().keyed(key).account_create(input).await?))
    }

    /// List accounts
    ///
    /// Newest first.
    #[oai(path = "/", method = "get", operation_id = "account_list")]
    async fn list(
        &self,
        /// The most accounts per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<AccountShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.sms.operator().account_list(page).await?))
    }

    /// Read an account
    ///
    /// Its status, its balance and its settings.
    #[oai(path = "/:id", method = "get", operation_id = "account_get")]
    async fn get(
        &self,
        /// The account's id.
        id: PathParam,
    ) -> Result<Tagged<Answer<AccountShape>>, ApiError> {
        Ok(shown(self.sms.operator().account_get(path_id(&id)?).await?))
    }

    /// Change an account
    ///
    /// Approves (`active`), suspends or renames the account, or changes its settings.
    #[oai(path = "/:id", method = "patch", operation_id = "account_update")]
    async fn update(
        &self,
        /// The account's id.
        id: PathParam,
        /// Changes only the version of the account with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
        body: Body<AccountPatch>,
    ) -> Result<Tagged<Answer<AccountShape>>, Failing<Changed>> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let if_version = if_version(errors.take(if_match));
        let AccountPatch { name, status, share, settings } = errors.take(body);
        errors.finish_with(|| name.as_deref().and_then(check_name).into_iter().collect())?;
        let share = share.and_then(|share| Share::new(u16::try_from(share).ok()?).ok());
        let settings = settings.map(Into::into).unwrap_or_default();
        let change = AccountChange { name, status, settings, share, if_version };
        Ok(shown(self.sms.operator().account_update(id, change).await?))
    }
}

//! `/accounts`: making, approving, suspending and setting up accounts.

use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::account::settings::SettingsChange;
use sms_core::account::{Account, AccountChange, AccountStatus, LocalTime, Settings};
use sms_core::credits::Credits;
use sms_core::service::operator::NewAccountInput;

use super::{MAX_CREDITS, Tag};
use crate::api::balance::AccountStatusName;
use crate::api::page::{CursorText, page_answer, page_request};
use crate::api::path_id::path_id;
use crate::web::body::Body;
use crate::web::envelope::{Answer, Created, PageMeta};
use crate::web::error::ApiError;
use crate::web::field_error::{FieldCode, FieldErrors, checked};
use crate::web::fields::{Fields, FromFields, Given, rule};
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam};

const MAX_NAME: usize = 200;
const MAX_LINE: usize = 160;

/// Settings of an account; what is absent stays.
#[derive(Debug, Default, Object)]
#[oai(rename = "SettingsInput")]
struct SettingsInput {
    /// When quiet hours begin, `HH:MM` in Europe/London.
    #[oai(validator(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
    quiet_hours_start: Given<String>,
    /// When quiet hours end.
    #[oai(validator(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
    quiet_hours_end: Given<String>,
    /// Whether campaigns track links unless told otherwise.
    track_links_default: Given<bool>,
    /// The opt-out line of a text from a number.
    #[oai(validator(min_length = 1, max_length = 160))]
    opt_out_line: Given<String>,
    /// The opt-out line of a text from a sender name; `{number}` stands for the account's number.
    #[oai(validator(min_length = 1, max_length = 160))]
    opt_out_line_sender: Given<String>,
}

impl FromFields for SettingsInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        let input = Self {
            quiet_hours_start: fields.given("quiet_hours_start", rule::text().max(5)),
            quiet_hours_end: fields.given("quiet_hours_end", rule::text().max(5)),
            track_links_default: fields.given("track_links_default", rule::boolean()),
            opt_out_line: fields.given("opt_out_line", rule::text().min(1).max(MAX_LINE)),
            opt_out_line_sender: fields
                .given("opt_out_line_sender", rule::text().min(1).max(MAX_LINE)),
        };
        let times = [
            ("quiet_hours_start", &input.quiet_hours_start),
            ("quiet_hours_end", &input.quiet_hours_end),
        ];
        for (name, time) in times {
            if time.0.as_deref().is_some_and(|text| text.parse::<LocalTime>().is_err()) {
                fields.note(name, FieldCode::InvalidFormat, "give a time of day as HH:MM");
            }
        }
        input
    }
}

impl From<SettingsInput> for SettingsChange {
    fn from(input: SettingsInput) -> Self {
        let time = |text: Given<String>| text.0.and_then(|text| text.parse().ok());
        Self {
            quiet_hours_start: time(input.quiet_hours_start),
            quiet_hours_end: time(input.quiet_hours_end),
            track_links_default: input.track_links_default.0,
            opt_out_line: input.opt_out_line.0,
            opt_out_line_sender: input.opt_out_line_sender.0,
        }
    }
}

/// A new account.
#[derive(Debug, Object)]
struct AccountInput {
    /// Its name.
    #[oai(validator(min_length = 1, max_length = 200))]
    name: String,
    /// Whether it may send; `pending` unless given.
    status: Option<AccountStatusName>,
    /// What it can spend from the start.
    #[oai(validator(minimum(value = "0"), maximum(value = "9007199254740991")))]
    credits: Option<u64>,
    /// Its settings.
    settings: Option<SettingsInput>,
}

impl FromFields for AccountInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        let credits = fields.optional("credits", rule::whole(0..=MAX_CREDITS));
        Self {
            name: fields.required("name", rule::text().min(1).max(MAX_NAME)),
            status: fields.optional("status", rule::one_of()),
            credits: credits.and_then(|credits| u64::try_from(credits).ok()),
            settings: fields.optional("settings", rule::object()),
        }
    }
}

/// Changes to an account; what is absent stays.
#[derive(Debug, Object)]
struct AccountPatch {
    /// A new name.
    #[oai(validator(min_length = 1, max_length = 200))]
    name: Given<String>,
    /// Approves or suspends it.
    status: Given<AccountStatusName>,
    /// New settings, each by itself.
    settings: Option<SettingsInput>,
}

impl FromFields for AccountPatch {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.given("name", rule::text().min(1).max(MAX_NAME)),
            status: fields.given("status", rule::one_of()),
            settings: fields.optional("settings", rule::object()),
        }
    }
}

/// Settings of an account.
#[derive(Debug, Object)]
#[oai(rename = "Settings")]
struct SettingsShape {
    /// When quiet hours begin.
    quiet_hours_start: String,
    /// When quiet hours end.
    quiet_hours_end: String,
    /// Whether campaigns track links unless told otherwise.
    track_links_default: bool,
    /// The opt-out line of a text from a number.
    opt_out_line: String,
    /// The opt-out line of a text from a sender name.
    opt_out_line_sender: String,
}

/// An account.
#[derive(Debug, Object)]
#[oai(rename = "Account")]
struct AccountShape {
    /// `acc_` and 26 characters.
    id: String,
    /// Its name.
    name: String,
    /// Whether it may send.
    status: AccountStatusName,
    /// What it can spend.
    credits: u64,
    /// Its settings.
    settings: SettingsShape,
    /// When it was made.
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
            status: account.status.into(),
            credits: account.balance.get(),
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
    /// Make an account
    #[oai(path = "/", method = "post", operation_id = "account_create")]
    async fn create(&self, body: Body<AccountInput>) -> Result<Created<AccountShape>, ApiError> {
        let AccountInput { name, status, credits, settings } = checked(body)?;
        let input = NewAccountInput {
            name,
            status: status.map_or(AccountStatus::Pending, Into::into),
            credits: Credits::new(credits.unwrap_or_default()).unwrap_or(Credits::MAX),
            settings: settings.map_or_else(Settings::default, |given| {
                SettingsChange::from(given).apply(Settings::default())
            }),
        };
        let account = self.sms.operator().account_create(input).await?;
        Ok(Created::new(account.into()))
    }

    /// List accounts
    #[oai(path = "/", method = "get", operation_id = "account_list")]
    async fn list(
        &self,
        /// How many accounts a page holds.
        limit: QueryParam<Limit>,
        /// The previous page's `meta.next_cursor`.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<AccountShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.sms.operator().account_list(page).await?))
    }

    /// Read an account
    #[oai(path = "/:id", method = "get", operation_id = "account_get")]
    async fn get(
        &self,
        /// The account's id.
        id: Path<String>,
    ) -> Result<Answer<AccountShape>, ApiError> {
        let account = self.sms.operator().account_get(path_id(&id)?).await?;
        Ok(Answer::new(account.into()))
    }

    /// Change an account
    ///
    /// Approves it (`active`), suspends it, renames it, or changes its settings.
    #[oai(path = "/:id", method = "patch", operation_id = "account_update")]
    async fn update(
        &self,
        /// The account's id.
        id: Path<String>,
        body: Body<AccountPatch>,
    ) -> Result<Answer<AccountShape>, ApiError> {
        let id = path_id(&id)?;
        let AccountPatch { name, status, settings } = checked(body)?;
        let change = AccountChange {
            name: name.0,
            status: status.0.map(Into::into),
            settings: settings.map(Into::into).unwrap_or_default(),
        };
        let account = self.sms.operator().account_update(id, change).await?;
        Ok(Answer::new(account.into()))
    }
}

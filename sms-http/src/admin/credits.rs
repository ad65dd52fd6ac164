//! `/accounts/{id}/credits` and `/accounts/{id}/ledger`.

use poem_openapi::param::Path;
use poem_openapi::{Enum, Object, OpenApi};
use sms_core::Sms;
use sms_core::credits::Change;
use sms_core::credits::ledger::{Cause, Entry, Kind};

use super::{MAX_CREDITS, Tag};
use crate::api::page::{CursorText, page_answer, page_request};
use crate::api::path_id::path_id;
use crate::web::body::Body;
use crate::web::envelope::{Answer, PageMeta};
use crate::web::error::ApiError;
use crate::web::field_error::{FieldCode, FieldErrors, checked};
use crate::web::fields::{Fields, FromFields, rule};
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam};

/// A change of a balance.
#[derive(Debug, Object)]
struct CreditsInput {
    /// Credits to add, or below zero to take back; not 0.
    #[oai(validator(minimum(value = "-9007199254740991"), maximum(value = "9007199254740991")))]
    amount: i64,
    /// Why, for the ledger.
    #[oai(validator(max_length = 500))]
    note: Option<String>,
}

impl FromFields for CreditsInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        let amount = fields.required("amount", rule::whole(-MAX_CREDITS..=MAX_CREDITS));
        // A mistake noted before keeps its place: this one is then not noted again.
        if amount == 0 {
            fields.note("amount", FieldCode::OutOfRange, "the amount must not be 0");
        }
        Self { amount, note: fields.optional("note", rule::text().max(500)) }
    }
}

/// What an account can spend after a change.
#[derive(Debug, Object)]
struct BalanceAfter {
    /// Credits.
    balance: u64,
}

/// What kind of change an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "LedgerKind", rename_all = "snake_case")]
enum KindName {
    /// Taken by a send.
    Send,
    /// Given back for a text.
    Refund,
    /// Taken for a rented number.
    Rent,
    /// Added by the operator.
    TopUp,
    /// Taken by the operator.
    Adjustment,
}

impl From<Kind> for KindName {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Send => Self::Send,
            Kind::Refund => Self::Refund,
            Kind::Rent => Self::Rent,
            Kind::TopUp => Self::TopUp,
            Kind::Adjustment => Self::Adjustment,
        }
    }
}

/// One entry of the ledger.
#[derive(Debug, Object)]
struct LedgerEntry {
    /// `led_` and 26 characters.
    id: String,
    /// What kind of change it is.
    kind: KindName,
    /// By how much the balance changed.
    amount: i64,
    /// The balance after it.
    balance_after: u64,
    /// The text refunded.
    message_id: Option<String>,
    /// The send request.
    batch_id: Option<String>,
    /// The campaign.
    campaign_id: Option<String>,
    /// The number rented.
    number_id: Option<String>,
    /// Why.
    note: Option<String>,
    /// When.
    created_at: Moment,
}

impl From<Entry> for LedgerEntry {
    fn from(entry: Entry) -> Self {
        let (message_id, batch_id, campaign_id, number_id) = match entry.cause {
            Cause::Send { batch, campaign } => {
                (None, Some(batch.to_string()), campaign.map(|id| id.to_string()), None)
            }
            Cause::Refund { message, batch, campaign } => (
                Some(message.to_string()),
                batch.map(|id| id.to_string()),
                campaign.map(|id| id.to_string()),
                None,
            ),
            Cause::Rent { number, due_at: _ } => (None, None, None, Some(number.to_string())),
            Cause::TopUp | Cause::Adjustment => (None, None, None, None),
        };
        Self {
            id: entry.id.to_string(),
            kind: entry.cause.kind().into(),
            amount: entry.amount.get(),
            balance_after: entry.balance_after.get(),
            message_id,
            batch_id,
            campaign_id,
            number_id,
            note: entry.note,
            created_at: entry.created_at.into(),
        }
    }
}

/// The handlers of credits and ledger.
#[derive(Debug)]
pub struct CreditsApi {
    sms: Sms,
}

impl CreditsApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/accounts", tag = "Tag::Credits")]
impl CreditsApi {
    /// Add credits, or take some back
    ///
    /// The balance never goes below zero: 409 `balance_out_of_range`, and nothing changes.
    #[oai(path = "/:id/credits", method = "post", operation_id = "credits_adjust")]
    async fn adjust(
        &self,
        /// The account's id.
        id: Path<String>,
        body: Body<CreditsInput>,
    ) -> Result<Answer<BalanceAfter>, ApiError> {
        let account = path_id(&id)?;
        let CreditsInput { amount, note } = checked(body)?;
        let change = Change::new(amount).unwrap_or_default();
        let balance = self.sms.operator().credits_adjust(account, change, note).await?;
        Ok(Answer::new(BalanceAfter { balance: balance.get() }))
    }

    /// Read the ledger
    ///
    /// Newest first, in the order booked.
    #[oai(path = "/:id/ledger", method = "get", operation_id = "ledger_list")]
    async fn ledger(
        &self,
        /// The account's id.
        id: Path<String>,
        /// How many entries a page holds.
        limit: QueryParam<Limit>,
        /// The previous page's `meta.next_cursor`.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<LedgerEntry>, PageMeta>, ApiError> {
        let account = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.sms.operator().ledger_list(account, page).await?))
    }
}

//! `/accounts/{id}/credits` and `/accounts/{id}/ledger`.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::credits::Change;
use sms_core::credits::adjust::MAX_NOTE;
use sms_core::credits::ledger::{Cause, Entry, Kind};

use super::amount::MAX_CREDITS;
use super::tag::Tag;
use crate::api::idempotency::{KeyHeader, answered};
use crate::api::page::{CursorText, page_answer, page_request};
use crate::api::path_id::path_id;
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam};
use crate::web::path_param::PathParam;

/// The largest change.
const MOST: i64 = MAX_CREDITS.cast_signed();

request_body! {
    /// A change of the balance.
    struct CreditsInput as "CreditsInput" {
        /// Credits to add; negative to take credits back; not 0.
        required amount: i64 = whole(-MOST..=MOST).but(0);
        /// The reason, kept in the ledger.
        optional note: String = text().max(MAX_NOTE);
    }
}

/// The balance after a change.
#[derive(Debug, Object)]
struct BalanceAfter {
    /// The balance in credits.
    balance: u64,
}

/// One entry of the ledger.
#[derive(Debug, Object)]
struct LedgerEntry {
    /// `led_` and 26 characters.
    id: String,
    /// The kind of change.
    kind: Named<Kind>,
    /// The change of the balance; negative for a charge.
    amount: i64,
    /// The balance after the change.
    balance_after: u64,
    /// The refunded message; null if there is none.
    message_id: Option<String>,
    /// The send request; null if there is none.
    batch_id: Option<String>,
    /// The campaign; null if there is none.
    campaign_id: Option<String>,
    /// The rented number; null if there is none.
    number_id: Option<String>,
    /// The reason given by the operator; null if there is none.
    note: Option<String>,
    /// When the change was made.
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
            kind: Named(entry.cause.kind()),
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
    /// Add credits, or take credits back
    ///
    /// The balance cannot go below zero: the answer is 409 `balance_out_of_range`, and nothing
    /// changes. With an `Idempotency-Key`, a retry returns the first answer with `meta.replayed`
    /// and changes nothing.
    #[oai(path = "/:id/credits", method = "post", operation_id = "credits_adjust")]
    async fn adjust(
        &self,
        /// The account's id.
        id: PathParam,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<CreditsInput>,
    ) -> Result<Answer<BalanceAfter, Option<ReplayMeta>>, Failing<Conflict>> {
        let account = path_id(&id)?;
        let (KeyHeader(key), CreditsInput { amount, note }) = checked((key, body))?;
        let change = Change::new(amount).unwrap_or_default();
        let operator = self.sms.operator().keyed(key);
        let balance = operator.credits_adjust(account, change, note).await?;
        Ok(answered(balance.map(|balance| BalanceAfter { balance: balance.get() })))
    }

    /// Read the ledger
    ///
    /// Newest entry first.
    #[oai(path = "/:id/ledger", method = "get", operation_id = "ledger_list")]
    async fn ledger(
        &self,
        /// The account's id.
        id: PathParam,
        /// The most entries per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<LedgerEntry>, PageMeta>, ApiError> {
        let account = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.sms.operator().ledger_list(account, page).await?))
    }
}

//! `/numbers`: the operator's numbers, shared or dedicated to an account.

use poem_openapi::{Object, OpenApi};
use sms_core::credits::Credits;
use sms_core::number::Number;
use sms_core::number::release::Quarantine;
use sms_core::route::RouteName;
use sms_core::service::operator::NumberInput as CoreInput;
use sms_core::time::Timestamp;
use sms_core::{Error, Sms};

use super::amount::MAX_CREDITS;
use super::tag::Tag;
use crate::api::idempotency::{KeyHeader, created};
use crate::api::path_id::path_id;
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::envelope::{Answer, CreatedOrNot, NoContent, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::FieldErrors;
use crate::web::moment::Moment;
use crate::web::param::HeaderParam;
use crate::web::path_param::PathParam;

request_body! {
    /// A new number.
    struct NumberInput as "NumberInput" {
        /// The number, in any common format.
        required phone_number: String = text().min(1).max(40), example "07700 900001";
        /// The account that rents it; without one the number is shared.
        optional account_id: String = text();
        /// The route that carries its messages; the default route if absent.
        optional route: String = text().min(1).max(40);
        /// Credits taken every 30 days; 0 by default.
        optional rental_credits: u64 = count(0..=MAX_CREDITS);
        /// The standard monthly rent in credits; by default the same as `rental_credits`.
        optional monthly_credits: u64 = count(0..=MAX_CREDITS);
        /// Whether it may be a number that another holder released less than 30 days ago.
        optional force: bool = boolean(), example false;
    }
}

/// Builds the input without the account, whose id is parsed later.
impl From<NumberInput> for CoreInput {
    fn from(input: NumberInput) -> Self {
        let credits = |given: u64| Credits::new(given).unwrap_or(Credits::MAX);
        let rental_credits = credits(input.rental_credits.unwrap_or_default());
        Self::shared(input.phone_number)
            .route(input.route.map(RouteName::new))
            .rental_credits(rental_credits)
            .monthly_credits(input.monthly_credits.map_or(rental_credits, credits))
            .quarantine(match input.force {
                Some(true) => Quarantine::Override,
                Some(false) | None => Quarantine::Respect,
            })
    }
}

/// One of the operator's numbers.
#[derive(Debug, Object)]
#[oai(rename = "Number")]
struct NumberShape {
    /// `gw_` and 26 characters.
    id: String,
    /// The number in E.164.
    phone_number: String,
    /// The account that rents it; null if it is shared.
    account_id: Option<String>,
    /// The route that carries its messages; null for the default route.
    route: Option<String>,
    /// Whether its gateway checked in within the last five minutes.
    online: bool,
    /// Credits taken every 30 days.
    rental_credits: u64,
    /// The standard monthly rent in credits.
    monthly_credits: u64,
    /// When rent was last taken; null before the first time.
    rental_charged_at: Option<Moment>,
    /// When it was assigned to its holder.
    assigned_at: Moment,
    /// When the earliest unpaid rent fell due; null if all is paid. Seven days later, nothing is
    /// sent from the number until it is paid.
    overdue_since: Option<Moment>,
    /// The unpaid rent in credits.
    overdue_credits: u64,
}

impl NumberShape {
    fn of(number: Number, now: Timestamp) -> Self {
        let overdue = number.overdue(now);
        Self {
            online: number.is_online(now),
            id: number.id.to_string(),
            phone_number: number.phone.to_string(),
            account_id: number.holder.account().map(|id| id.to_string()),
            route: number.route.map(|route| route.to_string()),
            rental_credits: number.rental_credits.get(),
            monthly_credits: number.monthly_credits.get(),
            rental_charged_at: number.rental_charged_at.map(Into::into),
            assigned_at: number.assigned_at.into(),
            overdue_since: overdue.map(|overdue| overdue.since.into()),
            overdue_credits: overdue.map_or(0, |overdue| overdue.credits.get()),
        }
    }
}

/// The handlers of `/numbers`.
#[derive(Debug)]
pub struct NumberApi {
    sms: Sms,
}

impl NumberApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/numbers", tag = "Tag::Numbers")]
impl NumberApi {
    /// Add a number
    ///
    /// A number that another holder released less than 30 days ago is 409 `number_quarantined`,
    /// unless `force` is true. `details.until` says when it is free. With an `Idempotency-Key`, a
    /// retry returns the number as it was added, with its rent as it is now.
    #[oai(path = "/", method = "post", operation_id = "number_create")]
    async fn create(
        &self,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<NumberInput>,
    ) -> Result<CreatedOrNot<NumberShape, Option<ReplayMeta>>, Failing<Conflict>> {
        let operator = self.sms.operator();
        let mut errors = FieldErrors::new();
        let KeyHeader(key) = errors.take(key);
        let mut body = errors.take(body);
        let account_id = body.account_id.take();
        let mut input = CoreInput::from(body);
        errors.finish_with(|| operator.number_check(&input))?;
        if let Some(id) = account_id {
            let Ok(account) = id.parse() else {
                return Err(Error::UnknownReference { resource: "account", id }.into());
            };
            input.account = Some(account);
        }
        let number = operator.keyed(key).number_create(input).await?;
        Ok(created(number.map(|number| NumberShape::of(number, self.sms.now()))))
    }

    /// List numbers
    ///
    /// Newest first, shared numbers included.
    #[oai(path = "/", method = "get", operation_id = "number_list")]
    async fn list(&self) -> Result<Answer<Vec<NumberShape>>, ApiError> {
        let now = self.sms.now();
        let numbers = self.sms.operator().number_list().await?;
        let shapes = numbers.into_iter().map(|number| NumberShape::of(number, now));
        Ok(Answer::new(shapes.collect()))
    }

    /// Remove a number
    ///
    /// For 30 days, other holders do not get it, and what arrives on it belongs to the account that
    /// last sent the person a message from it. Messages that still wait are sent from the account's
    /// present number.
    #[oai(path = "/:id", method = "delete", operation_id = "number_delete")]
    async fn delete(
        &self,
        /// The number's id.
        id: PathParam,
    ) -> Result<NoContent, ApiError> {
        self.sms.operator().number_delete(path_id(&id)?).await?;
        Ok(NoContent)
    }

    /// Check in
    ///
    /// Reports that the number's gateway is up: the number is online for five minutes.
    #[oai(path = "/:id/check-in", method = "post", operation_id = "number_check_in")]
    async fn check_in(
        &self,
        /// The number's id.
        id: PathParam,
    ) -> Result<NoContent, ApiError> {
        self.sms.operator().number_check_in(path_id(&id)?).await?;
        Ok(NoContent)
    }
}

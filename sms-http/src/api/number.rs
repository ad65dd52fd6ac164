//! `GET /numbers`: the numbers that an account rents.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::number::Number;
use sms_core::service::Caller;
use sms_core::time::Timestamp;

use super::tag::Tag;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::moment::Moment;

/// A dedicated number of the account.
#[derive(Debug, Object)]
struct DedicatedNumber {
    /// `gw_` and 26 characters.
    id: String,
    /// The number in E.164.
    phone_number: Option<String>,
    /// Whether the gateway behind it checked in within the last five minutes.
    online: bool,
    /// Credits taken from the balance every 30 days; 0 is free.
    rental_credits: u64,
    /// The standard monthly rent in credits.
    monthly_credits: u64,
    /// When the last period whose rent was taken fell due; null before the first.
    rental_charged_at: Option<Moment>,
    /// When it was assigned to the account.
    assigned_at: Moment,
    /// When the earliest unpaid rent fell due; null if all is paid. Seven days later, nothing is
    /// sent from the number until it is paid.
    overdue_since: Option<Moment>,
    /// The unpaid rent in credits.
    overdue_credits: u64,
}

impl DedicatedNumber {
    fn of(number: &Number, now: Timestamp) -> Self {
        let overdue = number.overdue(now);
        Self {
            id: number.id.to_string(),
            phone_number: Some(number.phone.to_string()),
            online: number.is_online(now),
            rental_credits: number.rental_credits.get(),
            monthly_credits: number.monthly_credits.get(),
            rental_charged_at: number.rental_charged_at.map(Into::into),
            assigned_at: number.assigned_at.into(),
            overdue_since: overdue.map(|overdue| overdue.since.into()),
            overdue_credits: overdue.map_or(0, |overdue| overdue.credits.get()),
        }
    }
}

/// The handler of `/numbers`.
#[derive(Debug)]
pub struct NumberApi {
    sms: Sms,
}

impl NumberApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(tag = "Tag::Account")]
impl NumberApi {
    /// List numbers
    ///
    /// The account's dedicated numbers, newest first. Request and release numbers in the dashboard.
    #[oai(path = "/numbers", method = "get", operation_id = "dedicated_number_list")]
    async fn list(&self, caller: Data<&Caller>) -> Result<Answer<Vec<DedicatedNumber>>, ApiError> {
        let numbers = self.sms.account(caller.account, caller.mode).number_list().await?;
        let now = self.sms.now();
        let shapes = numbers.iter().map(|number| DedicatedNumber::of(number, now));
        Ok(Answer::new(shapes.collect()))
    }
}

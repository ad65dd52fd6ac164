//! `/stats`: counts of an account's messages and credits.

use chrono::{DateTime, Utc};
use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::service::{AccountHandle, Caller};
use sms_core::statistics::summary::{Day, Summary, SummaryRequest};
use sms_core::statistics::{Counted, Counts};
use sms_core::time::Timestamp;

use super::tag::Tag;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::moment::Moment;
use crate::web::param::{QueryParam, Whole};

/// The most days of a summary or a timeseries.
const MOST_DAYS: i64 = sms_core::statistics::summary::MOST_DAYS as i64;

/// Counts of a period.
#[derive(Debug, Object)]
struct Totals {
    /// Messages sent. Each event counts at its own time; messages of test keys do not count.
    sent: i64,
    /// Messages delivered.
    delivered: i64,
    /// Messages that failed before they were sent, and messages that the network could not deliver.
    failed: i64,
    /// Messages received.
    received: i64,
    /// Credits charged for sends, less refunds.
    credits: i64,
}

impl From<Counts> for Totals {
    fn from(counts: Counts) -> Self {
        let Counts { sent, delivered, failed, received, credits, .. } = counts;
        Self { sent, delivered, failed, received, credits }
    }
}

/// The change from the period before, in percent with one decimal; null if that period had none.
#[derive(Debug, Object)]
struct ChangeInPercent {
    /// The change of messages sent.
    sent: Option<f64>,
    /// The change of messages delivered.
    delivered: Option<f64>,
    /// The change of messages that failed.
    failed: Option<f64>,
    /// The change of messages received.
    received: Option<f64>,
    /// The change of credits.
    credits: Option<f64>,
}

impl ChangeInPercent {
    fn of(summary: &Summary) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "no change that matters is that large")]
        let percent = |counted| summary.change(counted).map(|change| change.tenths() as f64 / 10.0);
        Self {
            sent: percent(Counted::Sent),
            delivered: percent(Counted::Delivered),
            failed: percent(Counted::Failed),
            received: percent(Counted::Received),
            credits: percent(Counted::Credits),
        }
    }
}

/// The counts of a period, compared with the period before.
#[derive(Debug, Object)]
#[oai(rename = "StatisticsSummary")]
struct SummaryShape {
    /// The start of the period.
    from: Moment,
    /// The end of the period, exclusive.
    to: Moment,
    /// Messages sent. Each event counts at its own time; messages of test keys do not count.
    sent: i64,
    /// Messages delivered.
    delivered: i64,
    /// Messages that failed before they were sent, and messages that the network could not deliver.
    failed: i64,
    /// Messages received.
    received: i64,
    /// Credits charged for sends, less refunds.
    credits: i64,
    /// The counts of the period of equal length before.
    previous: Totals,
    /// The change from that period, in percent.
    change: ChangeInPercent,
}

impl From<Summary> for SummaryShape {
    fn from(summary: Summary) -> Self {
        let change = ChangeInPercent::of(&summary);
        let Totals { sent, delivered, failed, received, credits } = summary.counts.into();
        Self {
            from: summary.period.from.into(),
            to: summary.period.to.into(),
            sent,
            delivered,
            failed,
            received,
            credits,
            previous: summary.previous.into(),
            change,
        }
    }
}

/// The counts of one day.
#[derive(Debug, Object)]
#[oai(rename = "StatisticsDay")]
struct DayShape {
    /// The day in London, `2026-11-21`.
    date: String,
    /// Messages sent.
    sent: i64,
    /// Messages delivered.
    delivered: i64,
    /// Messages that failed before they were sent, and messages that the network could not deliver.
    failed: i64,
    /// Messages received.
    received: i64,
    /// Credits charged for sends, less refunds.
    credits: i64,
}

impl From<Day> for DayShape {
    fn from(day: Day) -> Self {
        let Totals { sent, delivered, failed, received, credits } = day.counts.into();
        Self { date: day.date.to_string(), sent, delivered, failed, received, credits }
    }
}

/// The handlers of `/stats`.
#[derive(Debug)]
pub struct StatisticsApi {
    sms: Sms,
}

impl StatisticsApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/stats", tag = "Tag::Statistics")]
impl StatisticsApi {
    /// Summarise a period
    ///
    /// The counts of a period, and the change from the period of equal length before. `days=7`
    /// means the seven days in London that end today. `from` and `to` are exact to the millisecond,
    /// and override `days`.
    #[oai(path = "/summary", method = "get", operation_id = "statistics_summary")]
    async fn summary(
        &self,
        caller: Data<&Caller>,
        /// The number of days, ending today; 30 by default.
        days: QueryParam<Option<Whole<1, MOST_DAYS>>>,
        /// The start of the period.
        from: QueryParam<Option<DateTime<Utc>>>,
        /// The end of the period, exclusive; the end of today by default.
        to: QueryParam<Option<DateTime<Utc>>>,
    ) -> Result<Answer<SummaryShape>, ApiError> {
        let mut errors = FieldErrors::new();
        let mut request = SummaryRequest::default();
        request.days = whole_days(errors.take(days));
        request.from = errors.take(from).map(Timestamp::from);
        request.to = errors.take(to).map(Timestamp::from);
        // With an invalid end there is nothing to compare the start with.
        if !errors.covers("to")
            && let Err(more) = request.window(self.sms.now())
        {
            errors.extend(more);
        }
        errors.finish()?;
        let summary = self.account(&caller).statistics_summary(request).await?;
        Ok(Answer::new(summary.into()))
    }

    /// Summarise each day
    ///
    /// One entry for each of the last days in London, including today, oldest first. Days without
    /// activity are included.
    #[oai(path = "/timeseries", method = "get", operation_id = "statistics_timeseries")]
    async fn timeseries(
        &self,
        caller: Data<&Caller>,
        /// The number of days, ending today; 30 by default.
        days: QueryParam<Option<Whole<1, MOST_DAYS>>>,
    ) -> Result<Answer<Vec<DayShape>>, ApiError> {
        let days = whole_days(checked(days)?);
        let lines = self.account(&caller).statistics_timeseries(days).await?;
        Ok(Answer::new(lines.into_iter().map(Into::into).collect()))
    }
}

fn whole_days(days: Option<Whole<1, MOST_DAYS>>) -> Option<u16> {
    days.and_then(|days| u16::try_from(days.0).ok())
}

//! `/stats`: what an account's texts came to.

use chrono::{DateTime, Utc};
use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::service::{AccountHandle, Caller};
use sms_core::statistics::{Counted, Counts, Day, Summary, SummaryRequest};
use sms_core::time::Timestamp;

use super::Tag;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::moment::Moment;
use crate::web::param::{QueryParam, Whole};

/// The most days of a summary or a timeseries.
const MOST_DAYS: i64 = sms_core::statistics::summary::MOST_DAYS as i64;

/// How much of each there was.
#[derive(Debug, Object)]
struct Totals {
    /// Texts that left; each thing counts at its own moment, and texts of test keys are left out.
    sent: i64,
    /// Texts that arrived.
    delivered: i64,
    /// Texts that failed before leaving, and texts that the network could not deliver.
    failed: i64,
    /// Texts that came in.
    received: i64,
    /// Credits taken by sends, less those given back.
    credits: i64,
}

impl From<Counts> for Totals {
    fn from(counts: Counts) -> Self {
        let Counts { sent, delivered, failed, received, credits } = counts;
        Self { sent, delivered, failed, received, credits }
    }
}

/// The change on the period before in percent, with one decimal; null where there was nothing.
#[derive(Debug, Object)]
struct ChangeInPercent {
    /// Of texts that left.
    sent: Option<f64>,
    /// Of texts that arrived.
    delivered: Option<f64>,
    /// Of texts that failed.
    failed: Option<f64>,
    /// Of texts that came in.
    received: Option<f64>,
    /// Of credits.
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

/// What was counted in a period, beside the one before it.
#[derive(Debug, Object)]
#[oai(rename = "StatisticsSummary")]
struct SummaryShape {
    /// The period's first moment.
    from: Moment,
    /// The first moment after it.
    to: Moment,
    /// Texts that left; each thing counts at its own moment, and texts of test keys are left out.
    sent: i64,
    /// Texts that arrived.
    delivered: i64,
    /// Texts that failed before leaving, and texts that the network could not deliver.
    failed: i64,
    /// Texts that came in.
    received: i64,
    /// Credits taken by sends, less those given back.
    credits: i64,
    /// The same of the period of equal length before it.
    previous: Totals,
    /// The change on it in percent.
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

/// What was counted on one day.
#[derive(Debug, Object)]
#[oai(rename = "StatisticsDay")]
struct DayShape {
    /// The day in London, `2026-11-21`.
    date: String,
    /// Texts that left.
    sent: i64,
    /// Texts that arrived.
    delivered: i64,
    /// Texts that failed before leaving, and texts that the network could not deliver.
    failed: i64,
    /// Texts that came in.
    received: i64,
    /// Credits taken by sends, less those given back.
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
    /// Sum up a period
    ///
    /// What was counted in it, and the change on the period of equal length before. `days=7` is the
    /// seven days in London that end with today; `from` and `to` win over `days`, to the
    /// millisecond.
    #[oai(path = "/summary", method = "get", operation_id = "statistics_summary")]
    async fn summary(
        &self,
        caller: Data<&Caller>,
        /// How many days, today the last; 30 if left out.
        days: QueryParam<Option<Whole<1, MOST_DAYS>>>,
        /// The first moment.
        from: QueryParam<Option<DateTime<Utc>>>,
        /// The first moment after it; the end of today if left out.
        to: QueryParam<Option<DateTime<Utc>>>,
    ) -> Result<Answer<SummaryShape>, ApiError> {
        let mut errors = FieldErrors::new();
        let request = SummaryRequest {
            days: whole_days(errors.take(days)),
            from: errors.take(from).map(Timestamp::from),
            to: errors.take(to).map(Timestamp::from),
        };
        // What stands in for a bad end says nothing about the beginning.
        if !errors.covers("to")
            && let Err(more) = request.window(self.sms.now())
        {
            errors.extend(more);
        }
        errors.finish()?;
        let summary = self.account(&caller).statistics_summary(request).await?;
        Ok(Answer::new(summary.into()))
    }

    /// Sum up each day
    ///
    /// A line for each of the last days in London, today included, oldest first; days without
    /// anything are there too.
    #[oai(path = "/timeseries", method = "get", operation_id = "statistics_timeseries")]
    async fn timeseries(
        &self,
        caller: Data<&Caller>,
        /// How many days, today the last; 30 if left out.
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

//! The account: its balance, its numbers, and what it did.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::choice::open_choice;
use crate::client::Client;
use crate::ids::NumberId;
use crate::private_text::Phone;
use crate::timestamp::Timestamp;

open_choice! {
    /// Whether an account may send.
    AccountStatus {
        /// It may send.
        Active = "active",
        /// It awaits approval.
        Pending = "pending",
        /// It is suspended.
        Suspended = "suspended",
    }
}

/// What an account has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// How many credits.
    pub credits: u64,
    /// Whether it may send.
    pub account_status: AccountStatus,
}

/// A number that only this account has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DedicatedNumber {
    /// Its id.
    pub id: NumberId,
    /// The number, in E.164.
    pub phone_number: Option<Phone>,
    /// Whether its gateway works.
    pub online: bool,
    /// What it costs every 30 days.
    pub rental_credits: u64,
    /// What numbers usually cost.
    pub monthly_credits: u64,
    /// When the rent was taken last.
    pub rental_charged_at: Option<Timestamp>,
    /// When the account got it.
    pub assigned_at: Timestamp,
    /// When the earliest unpaid rent fell due; `None` if all is paid.
    pub overdue_since: Option<Timestamp>,
    /// The unpaid rent.
    pub overdue_credits: u64,
}

/// Counts of a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Messages that left.
    pub sent: u64,
    /// Messages that arrived.
    pub delivered: u64,
    /// Messages that failed or could not be delivered.
    pub failed: u64,
    /// Messages that came in.
    pub received: u64,
    /// Credits spent.
    pub credits: u64,
}

/// How counts changed, in percent; `None` where the previous period had none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeInPercent {
    /// Messages that left.
    pub sent: Option<f64>,
    /// Messages that arrived.
    pub delivered: Option<f64>,
    /// Messages that failed or could not be delivered.
    pub failed: Option<f64>,
    /// Messages that came in.
    pub received: Option<f64>,
    /// Credits spent.
    pub credits: Option<f64>,
}

/// What an account did in a period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticsSummary {
    /// The start of the period.
    pub from: Timestamp,
    /// The end of the period, exclusive.
    pub to: Timestamp,
    /// Its counts.
    #[serde(flatten)]
    pub totals: Totals,
    /// The counts of the period before it.
    pub previous: Totals,
    /// How the counts changed.
    pub change: ChangeInPercent,
}

/// What an account did on a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsDay {
    /// The day, as `2026-12-24`.
    pub date: String,
    /// Its counts.
    #[serde(flatten)]
    pub totals: Totals,
}

/// The period of a summary: days that end today, or a start and an end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct StatisticsPeriod {
    /// How many days, today included; 30 by default.
    pub days: Option<u16>,
    /// The start.
    pub from: Option<Timestamp>,
    /// The end, exclusive.
    pub to: Option<Timestamp>,
}

impl Client {
    /// Reads the balance.
    pub fn balance_get(&self) -> Call<Balance> {
        self.get(&["balance"])
    }

    /// Lists the account's own numbers.
    pub fn dedicated_number_list(&self) -> Call<Vec<DedicatedNumber>> {
        self.get(&["numbers"])
    }

    /// Counts what happened in a period, and in the one before it.
    pub fn statistics_summary(&self, period: &StatisticsPeriod) -> Call<StatisticsSummary> {
        self.get_with(&["stats", "summary"], period)
    }

    /// Counts what happened on each of the last days.
    pub fn statistics_timeseries(&self, days: Option<u16>) -> Call<Vec<StatisticsDay>> {
        let period = StatisticsPeriod { days, ..StatisticsPeriod::default() };
        self.get_with(&["stats", "timeseries"], &period)
    }
}

//! An account's statistics.

use super::account::AccountHandle;
use super::reading::Read;
use super::sms::Sms;
use crate::error::Error;
use crate::statistics::Period;
use crate::statistics::summary::{Day, Summary, SummaryRequest, days_until};
use crate::store_error::StoreError;
use crate::upkeep::Chore;

impl AccountHandle {
    /// The statistics of a period, and of the period before it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn statistics_summary(&self, request: SummaryRequest) -> Result<Summary, Error> {
        let window = request.window(self.sms.now()).map_err(Error::Invalid)?;
        let periods = [window.current, window.previous];
        let _turn = self.read_turn(Read::Page).await;
        let counts = self.sms.store().statistics_within(self.id, &periods).await?;
        let [counts, previous] = counts.try_into().map_err(|_| no_answer())?;
        Ok(Summary { period: window.current, counts, previous })
    }

    /// The statistics of each of the last days in London, including today, oldest first: 1 to 366
    /// days, 30 by default.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for any other number of days.
    pub async fn statistics_timeseries(&self, days: Option<u16>) -> Result<Vec<Day>, Error> {
        let days = days_until(days, self.sms.now()).map_err(|error| Error::Invalid(vec![error]))?;
        let periods: Vec<Period> = days.iter().map(|(_, period)| *period).collect();
        let _turn = self.read_turn(Read::Page).await;
        let counts = self.sms.store().statistics_within(self.id, &periods).await?;
        if counts.len() != days.len() {
            return Err(no_answer().into());
        }
        let lines = days.into_iter().zip(counts);
        Ok(lines.map(|((date, _), counts)| Day { date, counts }).collect())
    }
}

impl Sms {
    /// Adds up to `limit` of the differences that commits left to the totals. Returns how many; 0
    /// if there are none for now. Without it statistics are the same, but reading them slows down
    /// as differences accumulate.
    pub async fn fold_statistics(&self, limit: usize) -> Result<usize, Error> {
        Ok(self.store().tidy(Chore::Statistics, limit).await?)
    }
}

/// A store that answers for other periods than those asked for breaks its contract.
fn no_answer() -> StoreError {
    StoreError::Internal { doing: "reading statistics", source: None }
}

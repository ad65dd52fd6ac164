//! Receipts that match no message, and why that may be.

use std::collections::BTreeMap;

use super::operator::Operator;
use super::sms::Sms;
use crate::error::Error;
use crate::receipt::report::{EARLY_FOR, NetworkId, NetworkReport};
use crate::receipt::unmatched::{
    UNMATCHED_AFTER, UNMATCHED_MOST, UNMATCHED_SHOWN, Unmatched, UnmatchedReport,
};
use crate::route::{Reading, Route, RouteKind};
use crate::route_name::RouteName;
use crate::upkeep::Chore;

/// Of how many unmatched receipts the ids are read in other ways.
const SAMPLED: usize = 50;

/// The receipts of a route that match no message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnmatchedReceipts {
    /// How many there are, counted up to [`UNMATCHED_MOST`].
    pub count: usize,
    /// The newest ones, newest first.
    pub newest: Vec<UnmatchedReport>,
    /// What the operator may try: most of them match messages if their ids are read in another way.
    pub hint: Option<&'static str>,
}

impl UnmatchedReceipts {
    /// What is wrong, in a sentence for the operator; `None` if nothing is.
    pub fn advice(&self) -> Option<String> {
        let more = if self.count >= UNMATCHED_MOST { " or more" } else { "" };
        let (noun, verb) =
            if self.count == 1 { ("receipt", "matches") } else { ("receipts", "match") };
        let found = format!("{}{more} {noun} {verb} no message", self.count);
        match self.hint {
            _ if self.count == 0 => None,
            Some(hint) => Some(format!("{found}; {hint}")),
            None => Some(found),
        }
    }
}

impl Operator {
    /// The receipts of a route that match no message: the newest, at most `limit` of them and no
    /// more than 100, and what their ids look like.
    pub async fn unmatched_receipts(
        &self,
        route: &RouteName,
        limit: usize,
    ) -> Result<UnmatchedReceipts, Error> {
        let found = self.sms.routes().iter().find(|it| it.name() == route);
        let route = found.ok_or(Error::NotFound("route"))?;
        self.sms.unmatched(&**route, limit.min(UNMATCHED_SHOWN)).await
    }
}

impl Sms {
    async fn unmatched(&self, route: &dyn Route, limit: usize) -> Result<UnmatchedReceipts, Error> {
        if route.kind() == RouteKind::Simulated {
            return Ok(UnmatchedReceipts::default());
        }
        let before = self.now().minus(UNMATCHED_AFTER);
        let wanted = limit.max(SAMPLED);
        let found = self.store().reports_unmatched(route.name(), before, wanted).await?;
        let Unmatched { count, mut newest } = found;
        let sample = &newest[..newest.len().min(SAMPLED)];
        let hint = self.hint(route, sample).await?;
        newest.truncate(limit);
        Ok(UnmatchedReceipts { count, newest, hint })
    }

    /// The reading under which at least half of these reports are about messages that were sent.
    async fn hint(
        &self,
        route: &dyn Route,
        sample: &[UnmatchedReport],
    ) -> Result<Option<&'static str>, Error> {
        let mut asked = Vec::new();
        let mut reports = Vec::new();
        for (nth, report) in sample.iter().enumerate() {
            for Reading { hint, ids } in route.readings(report.id.as_told()) {
                for id in ids {
                    let id = NetworkId::new(route.name().clone(), id);
                    asked.push((hint, nth));
                    let read = NetworkReport::new(id, report.status);
                    reports.push(read.between(report.numbers.iter().copied()));
                }
            }
        }
        if reports.is_empty() {
            return Ok(None);
        }
        let sent = self.store().segments_sent(reports).await?;
        let mut matched: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for ((hint, nth), _) in asked.into_iter().zip(sent).filter(|(_, sent)| *sent) {
            let those = matched.entry(hint).or_default();
            if those.last() != Some(&nth) {
                those.push(nth);
            }
        }
        let best = matched.into_iter().max_by_key(|(_, those)| those.len());
        let best = best.filter(|(_, those)| those.len() * 2 >= sample.len());
        Ok(best.map(|(hint, _)| hint))
    }

    /// Removes up to `limit` unmatched receipts beyond those that are kept of each route.
    pub(super) async fn trim_unmatched(&self, limit: usize) -> Result<usize, Error> {
        let before = self.now().minus(EARLY_FOR);
        let mut removed = 0;
        for route in self.routes().iter().filter(|route| route.kind() == RouteKind::Real) {
            let (route, keep) = (route.name().clone(), UNMATCHED_MOST);
            let surplus = Chore::UnmatchedReports { route, before, keep };
            removed += self.store().tidy(surplus, limit).await?;
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_the_number_and_what_to_try() {
        let of = |count, hint| UnmatchedReceipts { count, newest: Vec::new(), hint }.advice();
        let try_it = Some("ids look like ours in decimal: try IDS=hex-decimal");
        assert_eq!(of(0, None), None);
        assert_eq!(of(1, None).as_deref(), Some("1 receipt matches no message"));
        let with =
            "412 receipts match no message; ids look like ours in decimal: try IDS=hex-decimal";
        assert_eq!(of(412, try_it).as_deref(), Some(with));
        let most = "10000 or more receipts match no message";
        assert_eq!(of(UNMATCHED_MOST, None).as_deref(), Some(most));
    }
}

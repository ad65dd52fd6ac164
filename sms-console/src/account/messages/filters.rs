//! The filters of the list of messages: those of the API, as people choose them.

use std::str::FromStr;

use chrono::{NaiveDate, NaiveTime};
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::time::{Timestamp, london};

use crate::format::worded;
use crate::query::Query;

/// The names of the filters in an address.
const NAMES: [&str; 8] =
    ["q", "direction", "status", "since", "until", "client_ref", "batch_id", "campaign_id"];

/// Some filters have values that no message can have, such as half an id.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidFilters {
    /// What is wrong with each, in a sentence.
    pub problems: Vec<String>,
}

/// What the filters of an address ask for, without what it searches for. Its days are London's, and
/// the last one is included.
pub(super) fn filter_of(query: &Query) -> Result<MessageFilter, InvalidFilters> {
    let mut reader = Reader { query, problems: Vec::new() };
    let until: Option<NaiveDate> = reader.read("until", "To day", A_DAY);
    let filter = MessageFilter {
        direction: reader.read("direction", "Direction", A_WORD),
        status: reader.read("status", "State", A_WORD),
        search: None,
        campaign_id: reader.read("campaign_id", "Campaign", AN_ID),
        batch_id: reader.read("batch_id", "Send", AN_ID),
        client_ref: query.get("client_ref").map(str::to_owned),
        since: reader.read("since", "From day", A_DAY).map(beginning_of),
        until: until.and_then(|day| day.succ_opt()).map(beginning_of),
    };
    match reader.problems {
        problems if problems.is_empty() => Ok(filter),
        problems => Err(InvalidFilters { problems }),
    }
}

// What is wrong with a value that was to be a date, one of the API's words, or an id.
const A_DAY: &str = "is not a date";
const A_WORD: &str = "is not a known value";
const AN_ID: &str = "is not a valid id";

/// Reads the filters, and takes down what is wrong with them.
struct Reader<'a> {
    query: &'a Query,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn read<T: FromStr>(&mut self, name: &str, label: &str, problem: &str) -> Option<T> {
        let value = self.query.get(name)?;
        let read = value.parse().ok();
        if read.is_none() {
            self.problems.push(format!("{label}: “{value}” {problem}."));
        }
        read
    }
}

fn beginning_of(day: NaiveDate) -> Timestamp {
    london::moment(day.and_time(NaiveTime::MIN))
}

/// Whether an address has a filter.
pub(super) fn any(query: &Query) -> bool {
    NAMES.iter().any(|name| query.get(name).is_some())
}

/// The address with the same filters in the API, at `path`. `filter` is what `query` asks for.
pub(super) fn api_address(path: &str, query: &Query, filter: &MessageFilter) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    for (name, moment) in [("since", filter.since), ("until", filter.until)] {
        if let Some(moment) = moment {
            pairs.append_pair(name, &moment.to_string());
        }
    }
    for name in NAMES.into_iter().filter(|name| !["since", "until"].contains(name)) {
        if let Some(value) = query.get(name) {
            pairs.append_pair(name, value);
        }
    }
    let query = pairs.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// The directions, as people choose them.
pub(super) fn directions() -> Vec<(&'static str, String)> {
    let of = |direction: Direction, words: &str| (direction.as_str(), words.to_owned());
    vec![
        ("", "Both".to_owned()),
        of(Direction::Outbound, "Sent by you"),
        of(Direction::Inbound, "Received"),
    ]
}

/// The states, as people choose them.
pub(super) fn statuses() -> Vec<(&'static str, String)> {
    let all = MessageStatus::ALL.into_iter();
    let all = all.map(|status| (status.as_str(), worded(status.as_str())));
    std::iter::once(("", "Any".to_owned())).chain(all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(query: &str) -> Result<MessageFilter, InvalidFilters> {
        filter_of(&Query::of(query))
    }

    #[test]
    fn days_are_those_of_london_and_the_last_one_is_included() {
        let summer = filter("since=2026-07-01&until=2026-07-01").unwrap();
        let shown = |at: Option<Timestamp>| at.map(|at| at.to_string());
        assert_eq!(shown(summer.since).as_deref(), Some("2026-06-30T23:00:00.000Z"));
        assert_eq!(shown(summer.until).as_deref(), Some("2026-07-01T23:00:00.000Z"));
    }

    #[test]
    fn a_value_that_no_message_can_have_is_named() {
        for (query, words) in [
            ("direction=up", "Direction: “up” is not a known value."),
            ("status=lost", "State: “lost” is not a known value."),
            ("batch_id=7", "Send: “7” is not a valid id."),
            ("campaign_id=x", "Campaign: “x” is not a valid id."),
            ("since=today", "From day: “today” is not a date."),
            ("until=2026-02-30", "To day: “2026-02-30” is not a date."),
        ] {
            assert_eq!(filter(query), Err(InvalidFilters { problems: vec![words.to_owned()] }));
        }
        assert_eq!(filter("status=&q=+&x=1"), Ok(MessageFilter::default()));
    }

    #[test]
    fn the_export_has_the_filters_of_the_list() {
        let query = Query::of("q=a&status=sent&since=2026-11-01&cursor=1");
        assert_eq!(
            api_address("/export", &query, &filter_of(&query).unwrap()),
            "/export?since=2026-11-01T00%3A00%3A00.000Z&q=a&status=sent"
        );
        assert!(any(&query) && !any(&Query::of("cursor=1&status=")));
    }
}

//! The filters of the list of messages: those of the API, as people choose them.

use std::str::FromStr;

use chrono::{NaiveDate, NaiveTime};
use sms_core::message::filter::Search;
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::time::{Timestamp, london};

use crate::format::worded;
use crate::query::Query;

/// The names of the filters in an address.
const NAMES: [&str; 8] =
    ["q", "direction", "status", "since", "until", "client_ref", "batch_id", "campaign_id"];

/// What the filters of an address ask for.
#[derive(Debug)]
pub(super) enum Wanted {
    /// The messages that this filter accepts.
    Some(Box<MessageFilter>),
    /// No message: a filter has a value that no message can have, such as half an id.
    Nothing,
}

/// A filter has a value that no message can have.
struct Impossible;

impl Wanted {
    /// What an address asks for. Its days are London's, and the last one is included.
    pub(super) fn of(query: &Query) -> Self {
        filter_of(query).map_or(Self::Nothing, |filter| Self::Some(Box::new(filter)))
    }
}

fn filter_of(query: &Query) -> Result<MessageFilter, Impossible> {
    let until: Option<NaiveDate> = read(query, "until")?;
    Ok(MessageFilter {
        direction: read(query, "direction")?,
        status: read(query, "status")?,
        search: query.get("q").and_then(Search::parse),
        campaign_id: read(query, "campaign_id")?,
        batch_id: read(query, "batch_id")?,
        client_ref: query.get("client_ref").map(str::to_owned),
        since: read(query, "since")?.map(beginning_of),
        until: until.and_then(|day| day.succ_opt()).map(beginning_of),
    })
}

fn read<T: FromStr>(query: &Query, name: &str) -> Result<Option<T>, Impossible> {
    query.get(name).map(str::parse).transpose().map_err(|_| Impossible)
}

fn beginning_of(day: NaiveDate) -> Timestamp {
    london::moment(day.and_time(NaiveTime::MIN))
}

/// Whether an address has a filter.
pub(super) fn any(query: &Query) -> bool {
    NAMES.iter().any(|name| query.get(name).is_some())
}

/// The address of the export with the same filters, in the words of the API.
pub(super) fn export_address(query: &Query) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    if let Ok(MessageFilter { since, until, .. }) = filter_of(query) {
        for (name, moment) in [("since", since), ("until", until)] {
            if let Some(moment) = moment {
                pairs.append_pair(name, &moment.to_string());
            }
        }
    }
    for name in NAMES.into_iter().filter(|name| !["since", "until"].contains(name)) {
        if let Some(value) = query.get(name) {
            pairs.append_pair(name, value);
        }
    }
    let query = pairs.finish();
    let path = "/console/api/v1/messages/export";
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

    fn filter(query: &str) -> Option<MessageFilter> {
        match Wanted::of(&Query::of(query)) {
            Wanted::Some(filter) => Some(*filter),
            Wanted::Nothing => None,
        }
    }

    #[test]
    fn days_are_those_of_london_and_the_last_one_is_included() {
        let summer = filter("since=2026-07-01&until=2026-07-01").unwrap();
        let shown = |at: Option<Timestamp>| at.map(|at| at.to_string());
        assert_eq!(shown(summer.since).as_deref(), Some("2026-06-30T23:00:00.000Z"));
        assert_eq!(shown(summer.until).as_deref(), Some("2026-07-01T23:00:00.000Z"));
    }

    #[test]
    fn a_value_that_no_message_can_have_finds_nothing() {
        for query in ["direction=up", "status=lost", "batch_id=7", "campaign_id=x", "since=today"] {
            assert!(filter(query).is_none(), "{query}");
        }
        assert_eq!(filter("status=&q=+&x=1"), Some(MessageFilter::default()));
    }

    #[test]
    fn the_export_has_the_filters_of_the_list() {
        let query = Query::of("q=a&status=sent&since=2026-11-01&cursor=1");
        assert_eq!(
            export_address(&query),
            "/console/api/v1/messages/export?since=2026-11-01T00%3A00%3A00.000Z&q=a&status=sent"
        );
        assert!(any(&query) && !any(&Query::of("cursor=1&status=")));
    }
}

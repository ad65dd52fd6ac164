//! The entries of a journal as lines of text: a checksum, a space, and JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Completeness, Entry, IfUnanswered, Unsettled};
use crate::dispatch::queue::LeaseToken;
use crate::hand_over::HandOver;
use crate::ids::MessageId;
use crate::message::error_code::ErrorCode;
use crate::receipt::report::NetworkId;
use crate::route_name::RouteName;
use crate::time::Timestamp;

/// How many octets of the checksum a line has, two characters each.
const CHECK: usize = 4;

/// The first line of a journal. `run` names what has to be the same for the journal to be whole:
/// the run of the machine, not of the program.
pub fn head(run: &str) -> String {
    spelled(&json!(["journal", 1, run]))
}

/// An entry as a line, with its end.
pub fn line(entry: &Entry) -> String {
    spelled(&match entry {
        Entry::Claimed { lease, at, messages } => {
            json!(["claimed", format!("{:032x}", lease.0), at.as_millis(), messages])
        }
        Entry::Submitting { messages, unanswered } => {
            let word = match unanswered {
                IfUnanswered::Again => "again",
                IfUnanswered::Undelivered => "undelivered",
            };
            json!(["submitting", word, messages])
        }
        Entry::Answered { message, result, at } => {
            json!(["answered", message, at.as_millis(), outcome(result)])
        }
        Entry::Settled { messages } => json!(["settled", messages]),
    })
}

fn spelled(value: &Value) -> String {
    let text = value.to_string();
    format!("{} {text}\n", check(&text))
}

fn check(text: &str) -> String {
    let mut check = String::with_capacity(2 * CHECK);
    for octet in Sha256::digest(text.as_bytes()).iter().take(CHECK) {
        // Writing to a string cannot fail.
        let _ = write!(check, "{octet:02x}");
    }
    check
}

fn outcome(result: &HandOver) -> Value {
    match result {
        HandOver::Taken { simulated: _ } => json!(["taken"]),
        HandOver::Submitted { parts } => {
            let parts = parts.iter().map(|part| json!([part.route.as_str(), &*part.id]));
            json!(["submitted", parts.collect::<Vec<_>>()])
        }
        HandOver::Refused { error, detail } => json!(["refused", error.as_str(), detail]),
        HandOver::GivenBack => json!(["given_back"]),
        HandOver::TryLater { detail } => json!(["later", detail]),
        HandOver::Unanswered { detail } => json!(["unanswered", detail]),
        HandOver::Abandoned { error, detail } => json!(["abandoned", error.as_str(), detail]),
    }
}

/// What a journal says: the messages that are not settled, and whether it has all entries.
///
/// The end of the program may have cut the last line off: what it began to say had not happened
/// yet. Anything else that cannot be read ends the reading, and puts in doubt what came before.
pub fn read(octets: &[u8], run: &str) -> (Unsettled, Completeness) {
    let mut unsettled = Unsettled::default();
    let mut lines = octets.split_inclusive(|octet| *octet == b'\n');
    let Some(first) = lines.next() else { return (unsettled, Completeness::Whole) };
    let mut completeness =
        if first == head(run).as_bytes() { Completeness::Whole } else { Completeness::Doubtful };
    for read in lines {
        if !read.ends_with(b"\n") {
            break;
        }
        let Some(entry) = entry(read) else {
            completeness = Completeness::Doubtful;
            break;
        };
        // What the journal does not know as claimed is settled, or was never written.
        let _ = unsettled.apply(entry);
    }
    (unsettled, completeness)
}

/// The entry of a line; `None` if it cannot be read.
fn entry(line: &[u8]) -> Option<Entry> {
    let text = std::str::from_utf8(line).ok()?.trim_end_matches('\n');
    let (checksum, text) = text.split_once(' ')?;
    if checksum != check(text) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    match (value[0].as_str()?, value.as_array()?.as_slice()) {
        ("claimed", [_, lease, at, messages]) => Some(Entry::Claimed {
            lease: LeaseToken(u128::from_str_radix(lease.as_str()?, 16).ok()?),
            at: Timestamp::from_millis(at.as_i64()?),
            messages: ids(messages)?,
        }),
        ("submitting", [_, word, messages]) => Some(Entry::Submitting {
            messages: ids(messages)?,
            unanswered: match word.as_str()? {
                "again" => IfUnanswered::Again,
                "undelivered" => IfUnanswered::Undelivered,
                _ => return None,
            },
        }),
        ("answered", [_, message, at, result]) => Some(Entry::Answered {
            message: message.as_str()?.parse().ok()?,
            at: Timestamp::from_millis(at.as_i64()?),
            result: outcome_of(result)?,
        }),
        ("settled", [_, messages]) => Some(Entry::Settled { messages: ids(messages)? }),
        _ => None,
    }
}

fn ids(value: &Value) -> Option<Vec<MessageId>> {
    value.as_array()?.iter().map(|id| id.as_str()?.parse().ok()).collect()
}

fn outcome_of(value: &Value) -> Option<HandOver> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let code = |value: &Value| value.as_str()?.parse::<ErrorCode>().ok();
    match (value[0].as_str()?, value.as_array()?.as_slice()) {
        ("taken", [_]) => Some(HandOver::Taken { simulated: Vec::new() }),
        ("submitted", [_, parts]) => {
            let part = |part: &Value| {
                let route = RouteName::new(part[0].as_str()?.to_owned());
                Some(NetworkId::new(route, part[1].as_str()?))
            };
            let parts = parts.as_array()?.iter().map(part).collect::<Option<Vec<_>>>()?;
            Some(HandOver::Submitted { parts })
        }
        ("refused", [_, error, detail]) => {
            Some(HandOver::Refused { error: code(error)?, detail: text(detail) })
        }
        ("given_back", [_]) => Some(HandOver::GivenBack),
        ("later", [_, detail]) => Some(HandOver::TryLater { detail: text(detail)? }),
        ("unanswered", [_, detail]) => Some(HandOver::Unanswered { detail: text(detail)? }),
        ("abandoned", [_, error, detail]) => {
            Some(HandOver::Abandoned { error: code(error)?, detail: text(detail)? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;

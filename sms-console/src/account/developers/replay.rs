//! The form that sends an endpoint again what the event log has for it.

use std::collections::BTreeSet;
use std::time::Duration;

use maud::{Markup, html};
use sms_core::Error;
use sms_core::event::EventType;
use sms_core::service::replay::{ReplayFrom, ReplayRequest};
use sms_core::time::Timestamp;
use sms_core::webhook::endpoint::Endpoint;
use sms_core::webhook::replay::ReplayBegun;

use crate::form::{FieldTroubles, Form};
use crate::format::{counted, from_field, full_time, to_field};
use crate::part::field::Field;
use crate::part::notice::{Notice, notice};

/// The fields that the form shows.
pub(super) const FIELDS: &[&str] = &["from", "to", "types"];
/// Where the form begins, before now.
const A_DAY: Duration = Duration::from_hours(24);

/// What is in the form.
#[derive(Debug)]
pub(super) struct ReplayFields {
    from: String,
    to: String,
    types: BTreeSet<EventType>,
}

impl ReplayFields {
    /// The last day, and all that the endpoint subscribes to.
    pub(super) fn fresh(endpoint: &Endpoint, now: Timestamp) -> Self {
        let types = endpoint.events.iter().copied().collect();
        Self { from: to_field(now.minus(A_DAY)), to: String::new(), types }
    }

    /// What the person sent with the form.
    pub(super) fn typed(form: &Form) -> Self {
        let asked = form.all("types");
        let types = EventType::SUBSCRIBABLE.into_iter();
        Self {
            from: form.text("from").to_owned(),
            to: form.text("to").to_owned(),
            types: types.filter(|one| asked.contains(&one.as_str())).collect(),
        }
    }

    /// What to send again.
    pub(super) fn request(&self) -> Result<ReplayRequest, Error> {
        let no_time = |field| {
            Error::invalid(field, "invalid_format", "choose a day and a time, such as 08:00")
        };
        let from = from_field(&self.from).ok_or_else(|| no_time("from"))?;
        let to = match &*self.to {
            "" => None,
            text => Some(from_field(text).ok_or_else(|| no_time("to"))?),
        };
        if self.types.is_empty() {
            return Err(Error::invalid("types", "required", "choose at least one kind of event"));
        }
        Ok(ReplayRequest { from: ReplayFrom::Time(from), to, types: Some(self.types.clone()) })
    }

    /// The fields. Only what the endpoint subscribes to can be chosen.
    pub(super) fn view(&self, endpoint: &Endpoint, troubles: &FieldTroubles) -> Markup {
        html! {
            p {
                "The endpoint gets these events again, in order, alongside new ones. "
                "It also gets events that it has already accepted: your program recognises them by "
                "their ids."
            }
            (Field::moment("from", "From")
                .value(&*self.from)
                .hint("In London time.")
                .required()
                .trouble(troubles.get("from")))
            (Field::moment("to", "To")
                .value(&*self.to)
                .hint("Leave it empty for all events up to now.")
                .optional()
                .trouble(troubles.get("to")))
            fieldset.stack-tight {
                legend.legend { "Events" }
                @if let Some(trouble) = troubles.get("types") { p.problem { (trouble) } }
                @for event in &endpoint.events {
                    (Field::check("types", event.as_str())
                        .id(format!("replay-{event}"))
                        .value(event.as_str())
                        .ticked_if(self.types.contains(event)))
                }
            }
        }
    }
}

/// What a replay does, once it has begun. `reached` is when the last of its events happened, or the
/// last that was read.
pub(super) fn begun(replay: &ReplayBegun, reached: Option<Timestamp>) -> Markup {
    let reached = reached.map(full_time);
    if replay.events == 0 && replay.has_more {
        let more = html! {
            p {
                "No such event was found in the first part of the log"
                @if let Some(reached) = reached { ", which ends on " (reached) }
                ". Choose a later start time."
            }
        };
        return notice(Notice::Info, &more);
    }
    if replay.events == 0 {
        let nothing = html! { p { "There is nothing to send again: the log has no such event." } };
        return notice(Notice::Info, &nothing);
    }
    let content = html! {
        p { (counted(replay.events as u64, "event")) " will be sent again, up to 200 a second." }
        @if let Some(reached) = &reached {
            p { "The last of them happened on " (reached) "." }
        }
        @if replay.has_more {
            p {
                "There are more events than one replay can send. When this one has finished, start "
                "another from " @if reached.is_some() { "that time." } @else { "a later time." }
            }
        }
    };
    notice(Notice::Good, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_that_leaves_events_out_says_where_to_continue() {
        let at: Timestamp = "2026-11-23T09:00:00Z".parse().unwrap();
        let day = "Monday 23 November 2026 at 09:00:00, London time";
        let none = "No such event was found in the first part of the log";
        let more = "There are more events than one replay can send. When this one has finished, \
                    start another from";
        for (events, reached, words) in [
            (0, Some(at), format!("{none}, which ends on {day}. Choose a later start time.")),
            (0, None, format!("{none}. Choose a later start time.")),
            (2, Some(at), format!("of them happened on {day}.</p><p>{more} that time.")),
            (2, None, format!("200 a second.</p><p>{more} a later time.")),
        ] {
            let replay = ReplayBegun { events, reached: None, has_more: true };
            let shown = begun(&replay, reached).into_string();
            assert!(shown.contains(&words), "{shown}");
        }
    }
}

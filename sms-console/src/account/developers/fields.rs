//! The form of an endpoint, and what it sends.

use maud::{Markup, html};
use sms_core::event::EventType;
use sms_core::webhook::endpoint::{
    DisabledReason, Endpoint, EndpointChange, EndpointInput, MAX_DESCRIPTION, Power,
};

use crate::form::{FieldTroubles, Form};
use crate::meanwhile::{Edited, Values};
use crate::part::field::Field;

/// The fields that the form shows.
pub(super) const FIELDS: &[&str] = &["url", "description", "events", "enabled"];
const REACHABLE: &str =
    "It must be reachable on the public internet, such as https://example.com/hooks.";

/// What is in the form.
#[derive(Debug)]
pub(super) struct EndpointFields {
    url: String,
    description: String,
    events: Vec<EventType>,
    power: Power,
}

impl Edited for EndpointFields {
    fn values(&self) -> Values {
        let Self { url, description, events, power } = self;
        let values = Values::default()
            .with("url", &**url)
            .with("description", &**description)
            .ticked("enabled", power.is_on());
        events.iter().fold(values, |values, event| values.one_of("events", event.as_str()))
    }

    fn sent(form: &Form) -> Self {
        let asked = form.all("events");
        let events = EventType::SUBSCRIBABLE.into_iter();
        Self {
            url: form.text("url").to_owned(),
            description: form.text("description").to_owned(),
            events: events.filter(|event| asked.contains(&event.as_str())).collect(),
            power: if form.checked("enabled").is_yes() {
                Power::On
            } else {
                Power::Off(DisabledReason::ByOwner)
            },
        }
    }
}

impl EndpointFields {
    /// Those of a new endpoint.
    pub(super) fn empty() -> Self {
        let events = EventType::SUBSCRIBABLE.into();
        Self { url: String::new(), description: String::new(), events, power: Power::On }
    }

    /// Those of this endpoint.
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Self {
            url: endpoint.url.clone(),
            description: endpoint.description.clone().unwrap_or_default(),
            events: endpoint.events.iter().copied().collect(),
            power: endpoint.power,
        }
    }

    /// The endpoint to make.
    pub(super) fn input(&self) -> EndpointInput {
        let input = EndpointInput::new(&self.url, self.events.clone()).power(self.power);
        match &*self.description {
            "" => input,
            about => input.description(about),
        }
    }

    /// The change to make.
    pub(super) fn change(&self) -> EndpointChange {
        let about = Some(&*self.description).filter(|about| !about.is_empty());
        let change = EndpointChange::default().url(&self.url).events(self.events.clone());
        change.description(about).power(self.power)
    }

    /// The fields, each with what is wrong with it.
    pub(super) fn view(&self, troubles: &FieldTroubles) -> Markup {
        html! {
            (Field::input("url", "Address", "url")
                .value(&*self.url)
                .hint(REACHABLE)
                .required()
                .trouble(troubles.get("url")))
            (Field::text("description", "About")
                .value(&*self.description)
                .optional()
                .longest(MAX_DESCRIPTION)
                .trouble(troubles.get("description")))
            fieldset.stack-tight {
                legend.legend { "Events" }
                @if let Some(trouble) = troubles.get("events") { p.problem { (trouble) } }
                @for event in EventType::SUBSCRIBABLE {
                    (Field::check("events", format!("{} ({event})", about(event)))
                        .id(format!("event-{event}"))
                        .value(event.as_str())
                        .ticked_if(self.events.contains(&event)))
                }
            }
            (Field::check("enabled", "On").value("on").ticked_if(self.power.is_on()))
        }
    }
}

fn about(event: EventType) -> &'static str {
    match event {
        EventType::MessageSent => "A message was sent to the network",
        EventType::MessageDelivered => "A message was delivered",
        EventType::MessageFailed => "A message failed",
        EventType::MessageReceived => "Somebody texted you",
        EventType::OptOutCreated => "Somebody opted out",
        EventType::LinkClicked => "Somebody opened a tracked link",
        EventType::RepliesPaused => "Automatic replies pause",
        EventType::WebhookTest => "A test of the endpoint",
    }
}

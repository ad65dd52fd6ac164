//! The deliveries to an endpoint, each with its body.

use maud::{Markup, html};
use serde_json::Value;
use sms_core::webhook::delivery::Delivery;

use crate::format::{time, time_or, whole};
use crate::part::badge::status_badge;
use crate::part::button::{closes, opens, submit};
use crate::part::dialog::dialog;
use crate::part::table::{column, right, table, unlabelled};

/// The table of deliveries. `address` is that of their endpoint.
pub(super) fn rows(deliveries: &[Delivery], address: &str, csrf: &str) -> Markup {
    let columns = [
        column("Event"),
        column("State"),
        column("Last answer"),
        right("Attempts"),
        column("Made"),
        column("Next attempt"),
        unlabelled("Actions"),
    ];
    let rows = table("Deliveries", columns, deliveries, |one| {
        [
            html! { strong { (one.event_type) } },
            status_badge(one.status.as_str()),
            html! { (last_answer(one)) },
            html! { (whole(u64::from(one.attempts))) },
            time(one.created_at),
            time_or(one.next_attempt_at, "–"),
            actions(one, address, csrf),
        ]
    });
    html! {
        (rows)
        @for one in deliveries { (details(one)) }
    }
}

fn last_answer(one: &Delivery) -> String {
    let code = one.last_status_code.map(|code| code.to_string());
    let error = one.last_error.map(|error| error.as_str().replace('_', " "));
    let said: Vec<String> = code.into_iter().chain(error).collect();
    if said.is_empty() { "–".to_owned() } else { said.join(", ") }
}

fn actions(one: &Delivery, address: &str, csrf: &str) -> Markup {
    let event = one.event_type;
    html! {
        div.actions {
            (opens("Details", dialog_id(one)).small().label(format!("Details of {event}")))
            form method="post" action={ (address) "/deliveries/" (one.id) "/retry" } {
                input type="hidden" name="csrf" value=(csrf);
                (submit("Retry").small().label(format!("Retry {event}")))
            }
        }
    }
}

fn dialog_id(one: &Delivery) -> String {
    format!("details-{}", one.id)
}

fn details(one: &Delivery) -> Markup {
    let body = serde_json::from_str::<Value>(one.body.as_str());
    let body = body.and_then(|body| serde_json::to_string_pretty(&body));
    let body = body.unwrap_or_else(|_| one.body.as_str().to_owned());
    let id = dialog_id(one);
    let content = html! {
        dl.facts {
            dt { "Event" } dd { code { (one.event_id) } }
            dt { "Delivery" } dd { code { (one.id) } }
            dt { "Attempts" } dd { (whole(u64::from(one.attempts))) }
            dt { "Last attempt" } dd { (time_or(one.last_attempt_at, "–")) }
            dt { "Delivered" } dd { (time_or(one.delivered_at, "–")) }
        }
        pre.wrap tabindex="0" role="group" aria-label="Body" { (body) }
        div.actions { (closes("Close", id.as_str())) }
    };
    dialog(&id, "The delivery", &content)
}

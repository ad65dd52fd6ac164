//! The routes to the networks, and their connections.

use maud::{Markup, html};
use sms_core::dispatch::Lane;
use sms_core::route::RouteName;
use sms_core::{Error, Sms};

use crate::form::sentence;
use crate::format::whole;
use crate::part::badge::{Tone, badge, status_badge};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::part::table::{column, right, table};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page};
use crate::visit::OperatorVisit;

const PATH: &str = "/console/operator/routes";

pub(super) fn places() -> Vec<Place> {
    vec![Place::get(PATH, operator(list))]
}

async fn list(visit: OperatorVisit) -> Outcome {
    let lead = "The first is the default. While it is down, the next one carries its messages.";
    let advice = advice(&visit).await?;
    let content = html! {
        (head("Routes").lead(lead))
        div #routes data-live="5" {
            (rows(&visit.sms))
            @for (route, words) in &advice {
                (notice(Notice::Warn, &html! { p { strong { (route) } ": " (words) } }))
            }
        }
    };
    Ok(Page::new("Routes", content).into())
}

/// What the operator may mend, by route: receipts that match no message.
async fn advice(visit: &OperatorVisit) -> Result<Vec<(RouteName, String)>, Error> {
    let mut advice = Vec::new();
    for route in visit.sms.routes() {
        let unmatched = visit.operator().unmatched_receipts(route.name(), 0).await?;
        advice.extend(unmatched.advice().map(|words| (route.name().clone(), sentence(&words))));
    }
    Ok(advice)
}

fn rows(sms: &Sms) -> Markup {
    let columns = [
        column("Name"),
        column("State"),
        column("Connections"),
        right("In hand"),
        right("Pace"),
        right("Down for"),
    ];
    let live = sms.routes().iter().filter(|route| *route.name() != RouteName::test());
    table("Routes", columns, live, |route| {
        let connections = route.connections();
        let of = |shown: Option<String>| html! { (shown.as_deref().unwrap_or("–")) };
        let count = |count: usize| whole(u64::try_from(count).unwrap_or(u64::MAX));
        let down_for = connections.as_ref().and_then(|all| all.down_for);
        [
            html! {
                span {
                    strong { (route.name()) }
                    @if route.name() == sms.default_route() { " " (badge("Default", Tone::Plain)) }
                }
            },
            status_badge(route.fitness(Lane::Bulk).as_str()),
            html! {
                @if let Some(all) = &connections { (all.up) " of " (all.wanted) " up" }
                @else { "None needed" }
            },
            of(connections.as_ref().map(|all| count(all.in_hand))),
            of(connections.as_ref().map(|all| format!("{}%", all.pace_percent))),
            of(down_for.map(|time| format!("{} s", whole(time.as_secs())))),
        ]
    })
}

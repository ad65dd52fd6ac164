//! The routes to the networks, and their connections.

use maud::{Markup, html};
use sms_core::Sms;
use sms_core::dispatch::Lane;
use sms_core::route::RouteName;

use crate::format::whole;
use crate::part::badge::{Tone, badge, status_badge};
use crate::part::head::head;
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
    let content = html! {
        (head("Routes").lead(lead))
        div #routes data-live="5" { (rows(&visit.sms)) }
    };
    Ok(Page::new("Routes", content).into())
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

//! Messages that came in on a number and belong to no account.

use maud::{Markup, html};
use sms_core::inbound::Unrouted;

use crate::format::{number, party, time};
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page};
use crate::visit::OperatorVisit;

const PATH: &str = "/console/operator/unrouted";

pub(super) fn places() -> Vec<Place> {
    vec![Place::get(PATH, operator(list))]
}

async fn list(visit: OperatorVisit) -> Outcome {
    let texts = visit.operator().unrouted_list(page_request(&visit)).await?;
    let lead = "People sent these to a shared number, and no account has messaged them recently.";
    let content = html! {
        (head("Unrouted messages").lead(lead))
        div #unrouted data-live="10" {
            @if texts.items.is_empty() {
                (empty("Nothing is unrouted", &html! {
                    "Every inbound message has reached an account."
                }, None))
            } @else {
                (rows(&texts.items))
                (pager(&visit, texts.next))
            }
        }
    };
    Ok(Page::new("Unrouted messages", content).into())
}

fn rows(texts: &[Unrouted]) -> Markup {
    let columns = [column("From"), column("To"), column("Text"), right("When")];
    table("Unrouted messages", columns, texts, |text| {
        [
            html! { strong.number { (party(&text.from)) } },
            html! { (number(text.to)) },
            html! { span.wrap { (text.body.as_str()) } },
            time(text.received_at),
        ]
    })
}

//! The conversations on the left: who wrote, what, when, and how much of it is unread.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::conversation::{Conversation, ReadState};
use sms_core::message::Direction;
use sms_core::phone::E164;
use sms_core::service::conversation::Inbox;
use sms_core::time::Timestamp;

use super::address;
use crate::format::{party, time_near};
use crate::part::badge::{Tone, badge};
use crate::part::field::Field;
use crate::part::filters::filters;
use crate::part::pager::{nothing_so_far, page_request, pager};
use crate::part::state::empty;
use crate::query::Query;
use crate::visit::AccountVisit;

/// The page of conversations that the address asks for.
pub(super) async fn read(visit: &AccountVisit) -> Result<Inbox, Error> {
    let state = visit.query("unread").map(|_| ReadState::Unread);
    visit.handle().conversation_list(state, visit.query("q"), page_request(visit)).await
}

/// The filters. They leave the open conversation where it is.
pub(super) fn filter_form(visit: &AccountVisit) -> Markup {
    let show = [("", "All"), ("true", "Unread")];
    let fields = html! {
        (Field::search("q", "Search conversations").hide_label().longest(200)
            .placeholder("Name or number").value(visit.query("q").unwrap_or_default()))
        (Field::select("unread", "Show", show).hide_label()
            .value(visit.query("unread").unwrap_or_default()))
    };
    filters("Filter conversations", visit.uri.path(), &fields)
}

/// One page of conversations, newest first, and the links to the others.
pub(super) fn view(visit: &AccountVisit, inbox: &Inbox, open: Option<E164>) -> Markup {
    let all = &inbox.conversations;
    if all.items.is_empty() {
        return match all.next {
            Some(next) => nothing_so_far(visit, next),
            None => nothing(visit.queries()),
        };
    }
    html! {
        ul.conversations {
            @for one in &all.items {
                li { (row(one, open, visit.queries(), visit.now())) }
            }
        }
        (pager(visit, all.next))
    }
}

fn nothing(query: &Query) -> Markup {
    if ["q", "unread", "cursor"].iter().any(|name| query.get(name).is_some()) {
        empty("Nothing found", &html! { "No conversation matches." }, None)
    } else {
        let text = html! { "When somebody texts you, or answers, it appears here." };
        empty("No conversations yet", &text, None)
    }
}

fn row(one: &Conversation, open: Option<E164>, query: &Query, now: Timestamp) -> Markup {
    let Conversation { number: from, contact, unread, last_message: last } = one;
    let party_of = one.other_party();
    let name = contact.as_ref().and_then(|contact| contact.name.clone());
    let current = (open == Some(*from)).then_some("true");
    html! {
        a.conversation.conversation-unread[*unread > 0] aria-current=[current]
            href={ (address::conversation(&party_of, query)) "#conversation" } {
            span.conversation-head {
                span.conversation-name { (name.unwrap_or_else(|| party(&party_of))) }
                span.small.faint { (time_near(last.created_at(), now)) }
            }
            span.conversation-foot {
                span.conversation-text {
                    @if last.direction == Direction::Outbound { span.faint { "You: " } }
                    (last.body.as_str())
                }
                @if *unread > 0 {
                    (badge(&unread.to_string(), Tone::Accent))
                    span.unseen { " unread" }
                }
            }
        }
    }
}

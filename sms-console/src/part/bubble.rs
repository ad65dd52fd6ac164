//! A conversation: each message as a bubble, under its day, with how far it got.

use maud::{Markup, html};
use sms_core::message::{Direction, Message, MessageStatus};
use sms_core::time::{Timestamp, london};

use super::badge::reason;
use crate::format::{clock, day_in_words, worded};

/// The bubbles of these messages, oldest first.
pub fn bubbles(messages: &[Message], now: Timestamp) -> Markup {
    let day_of = |message: &Message| london::shown(message.created_at()).date();
    html! {
        ol.bubbles {
            @for (at, message) in messages.iter().enumerate() {
                @if at == 0 || day_of(&messages[at - 1]) != day_of(message) {
                    li.bubble-day { (day_in_words(message.created_at(), now)) }
                }
                (bubble(message))
            }
        }
    }
}

fn bubble(message: &Message) -> Markup {
    let is_out = message.direction == Direction::Outbound;
    let failed = matches!(message.status, MessageStatus::Failed | MessageStatus::Undelivered);
    html! {
        li.bubble.bubble-out[is_out].bubble-bad[failed] {
            span.unseen { @if is_out { "You wrote: " } @else { "They wrote: " } }
            div.bubble-text { (message.body.as_str()) }
            div.bubble-foot {
                (clock(message.created_at()))
                @if is_out {
                    a href={ "/console/messages/" (message.id) } {
                        (worded(message.status.as_str()))
                    }
                }
                @if message.mode.is_test() { span { "Test" } }
                @if let Some(error) = message.error.filter(|_| failed) {
                    span.why { (reason(error.as_str())) }
                }
            }
        }
    }
}

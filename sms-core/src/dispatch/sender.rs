//! The sender of a message, checked again when the message is claimed: by then its number may
//! belong to no account or to another one, its rent may be overdue, and its sender name may have
//! been rejected.

use crate::ids::{AccountId, MessageId};
use crate::message::error_code::ErrorCode;
use crate::message::record::Message;
use crate::mode::Mode;
use crate::number::{Number, sending_number};
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::time::Timestamp;

/// Whether the sender name that a message shows may still be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStanding {
    /// The message shows a number.
    NotUsed,
    /// The name is approved.
    Approved,
    /// The name is no longer approved.
    NotApproved,
}

/// Another number for a message whose own can no longer be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSender {
    /// The account of the message.
    pub account: AccountId,
    /// The message that gets the other number.
    pub message: MessageId,
    /// The number that it is sent from.
    pub from: E164,
    /// The route that carries it, also in the queue.
    pub route: RouteName,
}

impl NewSender {
    /// The message with this sender.
    pub(crate) fn put_on(&self, message: &Message) -> Message {
        Message { from: self.from, route: self.route.clone(), ..message.clone() }
    }

    /// The line of the timeline that says so.
    pub(super) fn told(&self, before: E164) -> String {
        format!("{before} can no longer be used; sent from {}", self.from)
    }
}

/// Whether a message may be sent from its number, which the store found by its phone number; `None`
/// if the operator has no such number.
pub fn keeps_number(message: &Message, number: Option<&Number>, at: Timestamp) -> bool {
    number
        .is_some_and(|number| number.phone == message.from && number.sends_for(message.account, at))
}

/// Who the message is sent from: `None` for the number that it has. `numbers` holds the account's
/// numbers and the shared ones, or only the message's own if that can be used.
pub(super) fn look_again(
    message: &Message,
    name: NameStanding,
    numbers: &[Number],
    default_route: &RouteName,
    at: Timestamp,
) -> Result<Option<NewSender>, ErrorCode> {
    if name == NameStanding::NotApproved {
        return Err(ErrorCode::SenderNotApproved);
    }
    if numbers.iter().any(|number| keeps_number(message, Some(number), at)) {
        return Ok(None);
    }
    let number = sending_number(numbers, message.account, at).ok_or(ErrorCode::NoNumber)?;
    let route = match message.mode {
        Mode::Test => &message.route,
        Mode::Live => number.route.as_ref().unwrap_or(default_route),
    };
    Ok(Some(NewSender {
        account: message.account,
        message: message.id,
        from: number.phone,
        route: route.clone(),
    }))
}

//! The sender of a message, as it is when a worker claims the message.

use sms_core::ids::NumberId;
use sms_core::message::{ErrorCode, Message};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::sender_name::ReviewStatus;
use sms_core::time::Timestamp;

use super::record::{FIRST_ROUTE, ONLINE};
use super::{Model, OwnNumber};

/// Another number for a message, and what its history says about it.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    pub from: E164,
    pub route: RouteName,
    pub told: String,
}

impl Model {
    /// The number that a message has to get, if its own can no longer be used, or why it has none.
    pub(super) fn sender_at(
        &self,
        message: &Message,
        at: Timestamp,
    ) -> Result<Option<Moved>, ErrorCode> {
        if let Some(name) = &message.sender {
            let approved = self.sender_names.values().any(|own| {
                own.account == message.account
                    && own.status == ReviewStatus::Approved
                    && own.value.as_str().eq_ignore_ascii_case(name)
            });
            if !approved {
                return Err(ErrorCode::SenderNotApproved);
            }
        }
        let account = Some(message.account);
        let usable: Vec<(&NumberId, &OwnNumber)> = self
            .numbers
            .iter()
            .filter(|(_, own)| own.holder.account().is_none() || own.holder.account() == account)
            .filter(|(_, own)| !own.is_stopped(at))
            .collect();
        if usable.iter().any(|(_, own)| own.phone == message.from) {
            return Ok(None);
        }
        let is_online =
            |own: &OwnNumber| own.checked_in_at.is_some_and(|then| at.since(then) <= ONLINE);
        let mine = || usable.iter().filter(|(_, own)| own.holder.account().is_some());
        let shared = usable.iter().filter(|(_, own)| own.holder.account().is_none());
        let best = mine().filter(|(_, own)| is_online(own)).max_by_key(|(id, _)| **id);
        let best = best.or(shared.min_by_key(|(id, _)| **id));
        let (_, best) = best.or(mine().max_by_key(|(id, _)| **id)).ok_or(ErrorCode::NoNumber)?;
        let route = match &best.route {
            _ if message.mode.is_test() => message.route.clone(),
            Some(route) => route.clone(),
            None => RouteName::new(FIRST_ROUTE),
        };
        let told = format!("{} can no longer be used; sent from {}", message.from, best.phone);
        Ok(Some(Moved { from: best.phone, route, told }))
    }
}

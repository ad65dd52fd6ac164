//! Messages of one route, on their way to the route that carries them: claimed ones, and those held
//! [from the start](super::from_birth).

use std::sync::Arc;

use super::hold::Hold;
use super::room::Permit;
use crate::dispatch::held::HeldMessage;
use crate::hand_over::OutboundMessage;
use crate::route::Route;
use crate::route_name::RouteName;

/// Messages of one route, and the route that carries them.
pub(super) struct Group<'a> {
    /// The messages as the route gets them.
    pub(super) messages: Vec<OutboundMessage>,
    /// The same messages, as this program knows them.
    pub(super) carried: Vec<Carried>,
    pub(super) carrier: Option<&'a Arc<dyn Route>>,
}

/// A message that this program holds.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    pub(super) held: Arc<HeldMessage>,
    pub(super) hold: Hold,
    /// The room that it takes, if it was held from the start.
    pub(super) permit: Option<Arc<Permit>>,
}

/// The messages grouped by route, each group in the order in which its messages fell due.
pub(super) fn group_by_route<'a>(
    messages: impl Iterator<Item = (OutboundMessage, Carried)>,
    carrier: impl Fn(&RouteName) -> Option<&'a Arc<dyn Route>>,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (text, carried) in messages {
        match groups.iter_mut().find(|group| group.messages[0].route == text.route) {
            Some(group) => {
                group.messages.push(text);
                group.carried.push(carried);
            }
            None => groups.push(Group {
                carrier: carrier(&text.route),
                messages: vec![text],
                carried: vec![carried],
            }),
        }
    }
    groups
}

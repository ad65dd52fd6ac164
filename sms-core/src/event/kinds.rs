//! Sets of kinds of event.

use super::EventType;

/// A set of kinds of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u8);

impl Kinds {
    /// All kinds that endpoints can subscribe to.
    pub fn all() -> Self {
        EventType::SUBSCRIBABLE.into_iter().collect()
    }

    /// The set as a number, one bit for each kind: what a store compares. Kinds keep their bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set with this [number](Self::bits).
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Adds a kind; adding it again changes nothing.
    pub(super) fn insert(&mut self, kind: EventType) {
        self.0 |= bit(kind);
    }

    /// Whether the kind is among them.
    pub fn contains(self, kind: EventType) -> bool {
        self.0 & bit(kind) != 0
    }

    /// Whether every kind is among those of `others`.
    pub const fn are_among(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Whether some kind is in both.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl FromIterator<EventType> for Kinds {
    fn from_iter<I: IntoIterator<Item = EventType>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |bits, kind| bits | bit(kind)))
    }
}

fn bit(kind: EventType) -> u8 {
    match kind {
        EventType::MessageSent => 1,
        EventType::MessageDelivered => 2,
        EventType::MessageFailed => 4,
        EventType::MessageReceived => 8,
        EventType::OptOutCreated => 16,
        EventType::LinkClicked => 32,
        // It is not raised, and no log has it.
        EventType::WebhookTest => 64,
        EventType::RepliesPaused => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_keep_their_bits() {
        let bits = EventType::SUBSCRIBABLE.map(|kind| Kinds::from_iter([kind]).bits());
        assert_eq!(bits, [1, 2, 4, 8, 16, 32, 128]);
        assert!(Kinds::all().meets(Kinds::from_iter([EventType::LinkClicked])));
        assert!(!Kinds::default().meets(Kinds::all()));
        let one = Kinds::from_iter([EventType::LinkClicked]);
        assert!(one.are_among(Kinds::all()) && !Kinds::all().are_among(one));
        assert_eq!(Kinds::of_bits(one.bits()), one);
    }
}

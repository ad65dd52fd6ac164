//! Ids of every kind: a prefix and 26 characters of Crockford base32 that encode a UUIDv7 (RFC
//! 9562).
//!
//! Ids sort by the millisecond in which they were made, so that "newest first" means descending
//! ids. Within one [`Ids`] they sort in the order drawn. Stores keep an id as 16 bytes.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::random::{Random, SplitMix};
use crate::time::Timestamp;

/// The text is not an id of the requested kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id: expected {prefix}_ and 26 characters")]
pub struct NotAnId {
    prefix: &'static str,
}

/// What an id identifies. The end of this file lists the kinds in alphabetical order, one per line.
pub trait Kind: Copy + Eq + Ord + fmt::Debug + Send + Sync + 'static {
    /// The text before the underscore, such as `msg`.
    const PREFIX: &'static str;
}

/// An id of one kind.
///
/// ```
/// use sms_core::ids::MessageId;
///
/// let id: MessageId = "msg_01k9z1f7q8e2v5n3r4t6w8y0ac".parse()?;
/// assert_eq!(id.to_string(), "msg_01k9z1f7q8e2v5n3r4t6w8y0ac");
/// assert!("bat_01k9z1f7q8e2v5n3r4t6w8y0ac".parse::<MessageId>().is_err());
/// # Ok::<(), sms_core::ids::NotAnId>(())
/// ```
pub struct Id<K>(u128, PhantomData<fn() -> K>);

impl<K: Kind> Id<K> {
    /// The id whose 16 bytes, big-endian, are this number.
    pub const fn from_u128(value: u128) -> Self {
        Self(value, PhantomData)
    }

    /// The 16 bytes of the id as a big-endian number.
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// The millisecond in which the id was made.
    pub fn timestamp(self) -> Timestamp {
        let millis = u64::try_from(self.0 >> 80).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    /// The smallest id that can be made at `at`, for range queries by time.
    pub fn first_at(at: Timestamp) -> Self {
        let millis = u64::try_from(at.as_millis()).unwrap_or(0);
        Self::from_u128(u128::from(millis) << 80)
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
impl<K> std::hash::Hash for Id<K> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crockford::encode(self.0);
        write!(f, "{}_{}", K::PREFIX, text.as_str())
    }
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<K: Kind> std::str::FromStr for Id<K> {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        text.strip_prefix(K::PREFIX)
            .and_then(|rest| rest.strip_prefix('_'))
            .and_then(crockford::decode)
            .map(Self::from_u128)
            .ok_or(NotAnId { prefix: K::PREFIX })
    }
}

/// Past the formatting machinery: an answer has several ids for each message.
impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = [K::PREFIX, "_", crockford::encode(self.0).as_str()].concat();
        serializer.serialize_str(&text)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The 74 bits of a UUIDv7 that are neither time, version nor variant.
const RANDOM_BITS: u32 = 74;

/// Builds a UUIDv7 (RFC 9562, section 5.7) from its milliseconds and 74 free bits.
fn uuid_v7(millis: u64, free: u128) -> u128 {
    let high = (free >> 62) & 0xFFF;
    let low = free & ((1 << 62) - 1);
    (u128::from(millis) << 80) | (0x7 << 76) | (high << 64) | (0b10 << 62) | low
}

/// Issues [`Ids`] so that later ones sort after earlier ones, even within one millisecond and when
/// the clock steps back.
#[derive(Debug, Default)]
pub struct IdSource(Mutex<Issued>);

#[derive(Debug, Default)]
struct Issued {
    millis: u64,
    free: u128,
}

impl IdSource {
    /// A run of ids made at `now`.
    pub fn draw(&self, now: Timestamp, random: &dyn Random) -> Ids {
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        let seed = random.next_u64();
        let mut issued = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if millis > issued.millis {
            // Start in the lower half of the range, so that runs of this millisecond have room to
            // rise.
            let wide = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
            *issued = Issued { millis, free: wide & ((1 << (RANDOM_BITS - 1)) - 1) };
        } else {
            // An id uses at most 2^24 of these, so that there is room for a million ids between
            // runs.
            issued.free += (1 << 44) + u128::from(random.next_u64() >> 20);
            if issued.free >= 1 << (RANDOM_BITS - 1) {
                // After hundreds of millions of runs in one millisecond, borrow from the next.
                *issued = Issued { millis: issued.millis + 1, free: 0 };
            }
        }
        Ids { millis: issued.millis, free: issued.free, spread: SplitMix::new(seed) }
    }
}

/// A run of fresh ids in ascending order. A plan carries one, so that a store can name what a
/// verdict creates without an id source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids {
    millis: u64,
    free: u128,
    spread: SplitMix,
}

impl Ids {
    /// The next id, of the kind that the caller asks for.
    #[expect(clippy::should_implement_trait, reason = "an iterator gives ids of one kind only")]
    pub fn next<K: Kind>(&mut self) -> Id<K> {
        self.free += 1 + u128::from(self.spread.next_u64() >> 40);
        Id::from_u128(uuid_v7(self.millis, self.free & ((1 << RANDOM_BITS) - 1)))
    }

    /// The millisecond that the ids of this run carry.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.millis).unwrap_or(i64::MAX))
    }
}

/// Crockford's base32 in lower case: 26 characters for 128 bits. The first character is 0 to 7.
pub(crate) mod crockford {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// 26 characters on the stack.
    pub(crate) struct Text([u8; 26]);

    impl Text {
        pub(crate) fn as_str(&self) -> &str {
            // Every byte comes from `ALPHABET`.
            std::str::from_utf8(&self.0).unwrap_or_default()
        }
    }

    pub(crate) fn encode(value: u128) -> Text {
        let mut text = [0; 26];
        for (position, character) in text.iter_mut().enumerate() {
            let shift = 5 * (25 - position);
            let [lowest, ..] = (value >> shift).to_le_bytes();
            *character = ALPHABET[usize::from(lowest & 31)];
        }
        Text(text)
    }

    /// Accepts lower case only and nothing outside the alphabet, so that each id has exactly one
    /// text.
    pub(crate) fn decode(text: &str) -> Option<u128> {
        let bytes = text.as_bytes();
        if bytes.len() != 26 || bytes[0] > b'7' {
            return None;
        }
        bytes.iter().try_fold(0u128, |value, byte| {
            let digit = ALPHABET.iter().position(|known| known == byte)?;
            Some((value << 5) | digit as u128)
        })
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $id:ident $prefix:literal;)*) => {$(
        #[doc = concat!("Marks ids that begin with `", $prefix, "_`.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind {}
        impl Kind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        $(#[$doc])*
        pub type $id = Id<$kind>;
    )*};
}

kinds! {
    /// Identifies an account.
    AccountKind AccountId "acc";
    /// Identifies an API key. It is not the key itself.
    ApiKeyKind ApiKeyId "key";
    /// Identifies a batch: the messages of one accepted send or one campaign launch.
    BatchKind BatchId "bat";
    /// Identifies a campaign.
    CampaignKind CampaignId "cmp";
    /// Identifies a saved contact.
    ContactKind ContactId "con";
    /// Identifies the delivery of one event to one webhook endpoint.
    DeliveryKind DeliveryId "whd";
    /// Identifies a webhook endpoint.
    EndpointKind EndpointId "whk";
    /// Identifies an event.
    EventKind EventId "evt";
    /// Identifies a follow-up: a receipt or reply that the simulated network brings back later.
    FollowUpKind FollowUpId "fup";
    /// Identifies a keyword.
    KeywordKind KeywordId "kw";
    /// Identifies an entry of the credit ledger.
    LedgerEntryKind LedgerEntryId "led";
    /// Identifies a tracked link.
    LinkKind LinkId "lnk";
    /// Identifies a list of contacts.
    ListKind ListId "lst";
    /// Identifies a message, outbound or inbound.
    MessageKind MessageId "msg";
    /// Identifies a rented or shared number.
    NumberKind NumberId "gw";
    /// Identifies a sender name.
    SenderNameKind SenderNameId "snd";
    /// Identifies a template.
    TemplateKind TemplateId "tpl";
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::SeededRandom;

    #[test]
    fn ids_rise_in_the_order_drawn_even_when_the_clock_stops_or_steps_back() {
        let source = IdSource::default();
        let random = SeededRandom::new(1);
        let mut last = MessageId::from_u128(0);
        for now in [5_000, 5_000, 4_000, 5_000, 5_001] {
            for _ in 0..50 {
                let mut ids = source.draw(Timestamp::from_millis(now), &random);
                for _ in 0..1_000 {
                    let id: MessageId = ids.next();
                    assert!(id > last);
                    last = id;
                }
            }
        }
        assert_eq!(last.timestamp(), Timestamp::from_millis(5_001));
    }

    #[test]
    fn an_id_is_a_uuid_of_version_7_and_variant_10() {
        let mut ids = IdSource::default()
            .draw(Timestamp::from_millis(1_763_708_830_123), &SeededRandom::new(2));
        for _ in 0..100 {
            let id: EventId = ids.next();
            assert_eq!((id.as_u128() >> 76) & 0xF, 7);
            assert_eq!((id.as_u128() >> 62) & 0b11, 0b10);
            assert_eq!(id.timestamp().as_millis(), 1_763_708_830_123);
        }
    }

    #[test]
    fn ids_of_one_millisecond_rise_with_their_free_bits_to_the_last_one() {
        for bit in 0..RANDOM_BITS {
            let above = uuid_v7(7, 1 << bit);
            assert!(above > uuid_v7(7, (1 << bit) - 1), "{bit}");
            assert!(above < uuid_v7(8, 0), "{bit}");
        }
        let all = uuid_v7(0x0123_4567_89AB, (1 << RANDOM_BITS) - 1);
        assert_eq!(all, 0x0123_4567_89AB_7FFF_BFFF_FFFF_FFFF_FFFF);
    }

    #[test]
    fn thousands_of_runs_in_one_millisecond_carry_its_time() {
        let (source, random) = (IdSource::default(), SeededRandom::new(5));
        for _ in 0..5_000 {
            assert_eq!(source.draw(Timestamp::from_millis(7), &random).timestamp().as_millis(), 7);
        }
    }

    /// Returns the same byte every time.
    #[derive(Debug)]
    struct Same(u8);

    impl Random for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn runs_of_one_millisecond_never_overlap_whatever_the_random_bits() {
        for random in [Same(0), Same(0xFF)] {
            let source = IdSource::default();
            let mut last = EventId::from_u128(0);
            for _ in 0..3 {
                let mut ids = source.draw(Timestamp::from_millis(7), &random);
                for _ in 0..1_000 {
                    let id: EventId = ids.next();
                    assert!(id > last, "{random:?}");
                    last = id;
                }
            }
        }
    }

    #[test]
    fn the_first_run_of_a_millisecond_begins_anywhere_in_the_lower_half() {
        let (source, random) = (IdSource::default(), SeededRandom::new(6));
        let begins = (1..100).map(|at| source.draw(Timestamp::from_millis(at), &random).free);
        let half = (1 << (RANDOM_BITS - 1)) - 1;
        let (ever, always) = begins.fold((0, half), |(ever, always), at| (ever | at, always & at));
        assert_eq!((ever, always), (half, 0));
    }

    #[test]
    fn ids_of_a_run_differ_even_if_the_random_increment_is_zero() {
        // The first number of this seed is 1, so that its upper bits are all zero.
        let spread = SplitMix::new(0xF836_4607_E9C9_49BD);
        assert_eq!(spread.clone().next_u64(), 1);
        let mut ids = Ids { millis: 7, free: 0, spread };
        let id: EventId = ids.next();
        assert!(id.as_u128() > uuid_v7(7, 0));
    }

    #[test]
    fn the_text_of_an_id_parses_back_and_no_other_text_parses() {
        let mut ids = IdSource::default().draw(Timestamp::from_millis(7), &SeededRandom::new(3));
        let id: BatchId = ids.next();
        assert_eq!(id.to_string().parse(), Ok(id));
        let text = id.to_string();
        for bad in [
            "",
            "bat_",
            &text[4..],
            &text.to_uppercase(),
            &format!("{text}0"),
            &text.replace("bat_", "msg_"),
            "bat_zzzzzzzzzzzzzzzzzzzzzzzzzz",
            "bat_01k9z1f7q8e2v5n3r4t6w8y0aé",
            "bat_01k9z1f7q8e2v5n3r4t6w8y0ai",
        ] {
            assert!(bad.parse::<BatchId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_kind_has_its_documented_prefix() {
        fn prefix<K: Kind>(id: Id<K>) -> String {
            id.to_string().split_once('_').unwrap().0.to_owned()
        }
        let prefixes = [
            prefix(MessageId::from_u128(0)),
            prefix(BatchId::from_u128(0)),
            prefix(CampaignId::from_u128(0)),
            prefix(ListId::from_u128(0)),
            prefix(LinkId::from_u128(0)),
            prefix(NumberId::from_u128(0)),
            prefix(EventId::from_u128(0)),
            prefix(DeliveryId::from_u128(0)),
            prefix(AccountId::from_u128(0)),
            prefix(ApiKeyId::from_u128(0)),
            prefix(ContactId::from_u128(0)),
            prefix(TemplateId::from_u128(0)),
            prefix(EndpointId::from_u128(0)),
            prefix(LedgerEntryId::from_u128(0)),
            prefix(SenderNameId::from_u128(0)),
            prefix(KeywordId::from_u128(0)),
        ];
        let documented = "msg bat cmp lst lnk gw evt whd acc key con tpl whk led snd kw";
        assert_eq!(prefixes.join(" "), documented);
    }

    #[test]
    fn ids_keep_rising_when_a_millisecond_is_used_up() {
        let used_up = Issued { millis: 5_000, free: (1 << (RANDOM_BITS - 1)) - 1 };
        let last = MessageId::from_u128(uuid_v7(used_up.millis, used_up.free));
        let source = IdSource(Mutex::new(used_up));
        let mut ids = source.draw(Timestamp::from_millis(5_000), &SeededRandom::new(4));
        let id: MessageId = ids.next();
        assert!(id > last);
        assert_eq!(
            (id.timestamp(), ids.timestamp()),
            (Timestamp::from_millis(5_001), id.timestamp())
        );
    }

    #[test]
    fn an_id_is_a_string_in_json() {
        let id = MessageId::from_u128(5);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, "\"msg_00000000000000000000000005\"");
        assert_eq!(serde_json::from_str::<MessageId>(&json).unwrap(), id);
        assert!(serde_json::from_str::<BatchId>(&json).is_err());
        assert!(serde_json::from_str::<MessageId>("5").is_err());
    }

    proptest! {
        #[test]
        fn the_text_of_any_id_parses_back(value in any::<u128>()) {
            let id = MessageId::from_u128(value);
            prop_assert_eq!(id.to_string().len(), 30);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn texts_sort_as_ids_do(one in any::<u128>(), other in any::<u128>()) {
            let (one, other) = (MessageId::from_u128(one), MessageId::from_u128(other));
            prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(&other));
        }

        #[test]
        fn a_range_of_time_starts_with_its_first_possible_id(
            millis in 1i64..253_402_300_799_999,
            seed in any::<u64>(),
        ) {
            let at = Timestamp::from_millis(millis);
            let before = Timestamp::from_millis(millis - 1);
            let made = |at| -> MessageId {
                IdSource::default().draw(at, &SeededRandom::new(seed)).next()
            };
            prop_assert!(made(before) < MessageId::first_at(at));
            prop_assert!(MessageId::first_at(at) <= made(at));
            prop_assert_eq!(made(at).timestamp(), at);
        }

        #[test]
        fn no_other_text_is_read_as_an_id(text in "\\PC{0,32}|msg_[0-9a-z]{25,27}") {
            if let Ok(id) = text.parse::<MessageId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}

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
#[error("not a valid {noun} id: expected {prefix}_ and 26 characters")]
pub struct NotAnId {
    /// What the text should have identified, such as `list`.
    pub(crate) noun: &'static str,
    prefix: &'static str,
}

/// What an id identifies. The end of this file lists the kinds in alphabetical order, one per line.
pub trait Kind: Copy + Eq + Ord + fmt::Debug + Send + Sync + 'static {
    /// The text before the underscore, such as `msg`.
    const PREFIX: &'static str;
    /// What the id identifies, for people, such as `message`.
    const NOUN: &'static str;
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

/// For inputs that take ids as text.
impl<K: Kind> From<Id<K>> for String {
    fn from(id: Id<K>) -> Self {
        id.to_string()
    }
}

impl<K: Kind> std::str::FromStr for Id<K> {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        text.strip_prefix(K::PREFIX)
            .and_then(|rest| rest.strip_prefix('_'))
            .and_then(crockford::decode)
            .map(Self::from_u128)
            .ok_or(NotAnId { noun: K::NOUN, prefix: K::PREFIX })
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
    ($($(#[$doc:meta])* $kind:ident $id:ident $prefix:literal $noun:literal;)*) => {$(
        #[doc = concat!("Marks ids that begin with `", $prefix, "_`.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind {}
        impl Kind for $kind {
            const PREFIX: &'static str = $prefix;
            const NOUN: &'static str = $noun;
        }
        $(#[$doc])*
        pub type $id = Id<$kind>;
    )*};
}

kinds! {
    /// Identifies an account: `acc_…`.
    AccountKind AccountId "acc" "account";
    /// Identifies an API key. It is not the key itself.
    ApiKeyKind ApiKeyId "key" "API key";
    /// Identifies a batch: the messages of one accepted send or one campaign launch.
    BatchKind BatchId "bat" "batch";
    /// Identifies a campaign, draft or launched: `cmp_…`.
    CampaignKind CampaignId "cmp" "campaign";
    /// Identifies a saved contact.
    ContactKind ContactId "con" "contact";
    /// Identifies the delivery of one event to one webhook endpoint.
    DeliveryKind DeliveryId "whd" "delivery";
    /// Identifies a webhook endpoint.
    EndpointKind EndpointId "whk" "endpoint";
    /// Identifies an event, the same in every delivery of it: `evt_…`.
    EventKind EventId "evt" "event";
    /// Identifies a follow-up: a receipt or reply that the simulated network brings back later.
    FollowUpKind FollowUpId "fup" "follow-up";
    /// Identifies a keyword, also after its word has changed: `kw_…`.
    KeywordKind KeywordId "kw" "keyword";
    /// Identifies an entry of the credit ledger.
    LedgerEntryKind LedgerEntryId "led" "ledger entry";
    /// Identifies a tracked link.
    LinkKind LinkId "lnk" "link";
    /// Identifies a list of contacts.
    ListKind ListId "lst" "list";
    /// Identifies a message, outbound or inbound.
    MessageKind MessageId "msg" "message";
    /// Identifies a rented or shared number.
    NumberKind NumberId "gw" "number";
    /// Identifies a sender name.
    SenderNameKind SenderNameId "snd" "sender name";
    /// Identifies a template, also after its text has changed: `tpl_…`.
    TemplateKind TemplateId "tpl" "template";
}

#[cfg(test)]
mod tests;

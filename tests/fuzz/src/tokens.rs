//! Ids, cursors, keys and codes: what is written reads back, each has one text, and any other text
//! is refused.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use sha2::{Digest, Sha256};
use sms_core::account::Mode;
use sms_core::account::api_key::ApiKey;
use sms_core::ids::{
    AccountId, AccountKind, ApiKeyId, BatchId, CampaignId, ContactId, DeliveryId, EndpointId,
    EventId, Id, KeywordId, Kind, LedgerEntryId, LinkId, ListId, MessageId, MessageKind, NumberId,
    SenderNameId, TemplateId,
};
use sms_core::link::LinkCode;
use sms_core::page::Cursor;
use sms_core::random::SeededRandom;
use sms_core::sending::IdempotencyKey;

use crate::text_of;

/// Tries the laws on a text, and on what its bytes mean.
pub fn check(input: &[u8]) {
    let text = text_of(input);
    ids_are_what_they_say(text);
    cursors_and_codes(text);
    keys(text);
    let mut bytes = [0; 16];
    let length = input.len().min(16);
    bytes[..length].copy_from_slice(&input[..length]);
    made_of(u128::from_be_bytes(bytes));
}

const DIGITS: &str = "0123456789abcdefghjkmnpqrstvwxyz";

/// 26 digits of Crockford's base32 in lower case, and no more than 128 bits.
fn is_number(text: &str) -> bool {
    text.len() == 26
        && text.chars().all(|c| DIGITS.contains(c))
        && text.starts_with(|c| ('0'..='7').contains(&c))
}

/// The number of these digits, by arithmetic.
fn value(text: &str) -> u128 {
    let digit = |c: char| DIGITS.find(c).unwrap_or_default() as u128;
    text.chars().map(digit).fold(0, |value, digit| value * 32 + digit)
}

fn ids_are_what_they_say(text: &str) {
    id::<MessageId>(text, "msg_");
    id::<BatchId>(text, "bat_");
    id::<CampaignId>(text, "cmp_");
    id::<ContactId>(text, "con_");
    id::<DeliveryId>(text, "whd_");
    id::<EndpointId>(text, "whk_");
    id::<EventId>(text, "evt_");
    id::<KeywordId>(text, "kw_");
    id::<LedgerEntryId>(text, "led_");
    id::<LinkId>(text, "lnk_");
    id::<ListId>(text, "lst_");
    id::<NumberId>(text, "gw_");
    id::<SenderNameId>(text, "snd_");
    id::<TemplateId>(text, "tpl_");
    id::<AccountId>(text, "acc_");
    id::<ApiKeyId>(text, "key_");
    if let Some(digits) = text.strip_prefix("msg_").filter(|digits| is_number(digits)) {
        let id: MessageId = text.parse().expect("it is one");
        assert_eq!(id.as_u128(), value(digits));
    }
}

fn id<T: FromStr + Display>(text: &str, prefix: &str) {
    let read = text.parse::<T>().ok().map(|id| id.to_string());
    let is_one = text.strip_prefix(prefix).is_some_and(is_number);
    assert_eq!(read.as_deref(), is_one.then_some(text));
}

fn cursors_and_codes(text: &str) {
    let cursor = text.parse::<Cursor>().ok();
    assert_eq!(cursor.is_some(), is_number(text), "{text:?}");
    if let Some(cursor) = cursor {
        assert_eq!(cursor.to_string(), text);
        assert_eq!(cursor.id::<MessageKind>().as_u128(), value(text));
        assert_eq!(u128::from(cursor.position()), value(text).min(u64::MAX.into()));
    }
    let code = text.parse::<LinkCode>().ok();
    let is_code = text.len() == 10 && text.chars().all(|c| c.is_ascii_alphanumeric());
    assert_eq!(code.map(|code| code.to_string()).as_deref(), is_code.then_some(text));
    let key = text.parse::<IdempotencyKey>().ok();
    let printable = text.chars().all(|c| !c.is_control());
    let is_key = printable && (1..=200).contains(&text.chars().count());
    assert_eq!(key.as_ref().map(IdempotencyKey::as_str), is_key.then_some(text));
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The last six characters of a key, of those before them.
fn checksum(text: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let mut rest = digest[..8].iter().fold(0_u64, |value, byte| value * 256 + u64::from(*byte));
    let mut checksum = String::new();
    for _ in 0..6 {
        checksum.push(char::from(BASE62[(rest % 62) as usize]));
        rest /= 62;
    }
    checksum
}

fn keys(text: &str) {
    let mode = [("cc_live_", Mode::Live), ("cc_test_", Mode::Test)];
    let begun = mode.iter().find(|(prefix, _)| text.starts_with(prefix));
    let is_key = begun.is_some()
        && text.len() == 46
        && text[8..].chars().all(|c| c.is_ascii_alphanumeric())
        && checksum(&text[..40]) == text[40..];
    let read = ApiKey::parse(text).ok();
    assert_eq!(read.as_ref().map(ApiKey::reveal), is_key.then_some(text));
    // A key with these characters in it.
    let random: String = text.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    for (prefix, mode) in mode {
        let begun = format!("{prefix}{random:0>32}");
        let whole = format!("{begun}{}", checksum(&begun));
        let key = ApiKey::parse(&whole).expect("its checksum is right");
        assert_eq!((key.reveal(), key.mode()), (whole.as_str(), mode));
        assert_eq!(key.last_four(), &whole[42..]);
        assert!(!format!("{key:?}").contains(&random) || random.len() < 8);
        let hash: [u8; 32] = Sha256::digest(whole.as_bytes()).into();
        assert_eq!(key.hash().as_bytes(), &hash);
        let at = 8 + text.len() % 38;
        let other = if whole.as_bytes()[at] == b'x' { "y" } else { "x" };
        let mut changed = whole.clone();
        changed.replace_range(at..=at, other);
        assert!(ApiKey::parse(&changed).is_err(), "one character is another");
    }
}

fn made_of(number: u128) {
    both_ways::<MessageKind>(number);
    both_ways::<AccountKind>(number);
    let cursor = Cursor::after(MessageId::from_u128(number));
    let digits = cursor.to_string();
    assert!(is_number(&digits) && value(&digits) == number);
    assert_eq!(digits.parse(), Ok(cursor));
    let position = u64::try_from(number & u128::from(u64::MAX)).unwrap_or_default();
    assert_eq!(Cursor::after_position(position).position(), position);
    let seeded = SeededRandom::new(position);
    let key = ApiKey::generate(Mode::Live, &seeded);
    assert_eq!(ApiKey::parse(key.reveal()), Ok(key.clone()));
    let code = LinkCode::draw(&seeded);
    assert_eq!(code.to_string().parse(), Ok(code));
}

fn both_ways<K: Kind>(number: u128)
where
    Id<K>: Debug,
{
    let id: Id<K> = Id::from_u128(number);
    let text = id.to_string();
    assert_eq!(text, format!("{}_{}", K::PREFIX, &text[text.len() - 26..]));
    assert_eq!(value(&text[text.len() - 26..]), number);
    assert_eq!(text.parse(), Ok(id));
    let json = serde_json::to_string(&id).unwrap_or_default();
    assert_eq!(serde_json::from_str::<Id<K>>(&json).ok(), Some(id));
}

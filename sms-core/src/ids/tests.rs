//! Ids: their order, their text and their kinds.

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
    let mut ids =
        IdSource::default().draw(Timestamp::from_millis(1_763_708_830_123), &SeededRandom::new(2));
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
    assert_eq!((id.timestamp(), ids.timestamp()), (Timestamp::from_millis(5_001), id.timestamp()));
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

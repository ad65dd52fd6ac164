//! The law of GCRA, and the headers.

use proptest::prelude::*;

use super::*;

const MILLI: u64 = SECOND / 1_000;

#[test]
fn a_burst_passes_and_the_next_has_to_wait() {
    let gcra = Gcra::new(20, 40);
    let (mut arrival, now) = (0, 5 * SECOND);
    for sent in 1..=40 {
        let verdict = gcra.judge(&mut arrival, now);
        assert_eq!(verdict.retry_after, None);
        assert_eq!(verdict.remaining, 40 - sent);
    }
    let refused = gcra.judge(&mut arrival, now);
    assert_eq!(refused.retry_after, Some(1));
    assert_eq!((refused.limit, refused.remaining, refused.reset), (40, 0, 2));
    assert_eq!(gcra.judge(&mut arrival, now + 50 * MILLI).retry_after, None);
    assert!(gcra.judge(&mut arrival, now + 60 * MILLI).retry_after.is_some());
}

#[test]
fn a_rate_that_does_not_divide_a_second_is_rounded_down() {
    let gcra = Gcra::new(3, 1);
    let mut arrival = 0;
    assert_eq!(gcra.judge(&mut arrival, 0).retry_after, None);
    assert_eq!(gcra.judge(&mut arrival, 333_333_333).retry_after, Some(1));
    assert_eq!(gcra.judge(&mut arrival, 333_333_334).retry_after, None);
}

#[test]
fn a_lot_is_an_eighth_of_the_burst_and_at_most_a_quarter_of_a_second() {
    let sizes = [(20, 40, 5), (20, 7, 1), (20, 16, 2), (20, 400, 5), (100, 40, 5), (1, 100, 1)];
    for (rate, burst, lot) in sizes {
        assert_eq!(Gcra::new(rate, burst).lot(), lot, "{rate} {burst}");
    }
}

#[test]
fn a_refusal_carries_its_headers() {
    let (gcra, mut arrival) = (Gcra::new(20, 1), 0);
    gcra.judge(&mut arrival, 0).headers().unwrap();
    let refused = gcra.judge(&mut arrival, 0).headers().unwrap_err();
    let response = poem::IntoResponse::into_response(refused);
    assert_eq!(response.status(), 429);
    for (name, value) in [("retry-after", "1"), ("ratelimit-limit", "1")] {
        assert_eq!(response.headers().get(name).unwrap(), value);
    }
}

proptest! {
    /// However the requests come, no window holds more than the burst and its share.
    #[test]
    fn no_window_holds_more_than_the_burst_and_its_share(
        rate in 1_u32..200,
        burst in 1_u32..100,
        gaps in prop::collection::vec(0_u64..200 * MILLI, 1..400),
    ) {
        let gcra = Gcra::new(rate, burst);
        let (mut arrival, mut now) = (0, 0);
        let mut admitted: Vec<u64> = Vec::new();
        for gap in gaps {
            now += gap;
            if gcra.judge(&mut arrival, now).retry_after.is_none() {
                admitted.push(now);
            }
        }
        for (index, first) in admitted.iter().enumerate() {
            for (count, last) in (1_u128..).zip(&admitted[index..]) {
                let window = u128::from(last - first);
                let share = window * u128::from(rate) / u128::from(SECOND);
                prop_assert!(count <= u128::from(burst) + share);
            }
        }
    }

    /// A client that waits as long as it was told is admitted, and the wait is never padded.
    #[test]
    fn retry_after_is_honest(
        rate in 1_u32..200,
        burst in 1_u32..100,
        gaps in prop::collection::vec(0_u64..20 * MILLI, 1..400),
    ) {
        let gcra = Gcra::new(rate, burst);
        let (mut arrival, mut now) = (0, 0);
        for gap in gaps {
            now += gap;
            let Some(seconds) = gcra.judge(&mut arrival, now).retry_after else { continue };
            prop_assert!(seconds >= 1);
            let wait = seconds * SECOND;
            let mut after = arrival;
            prop_assert_eq!(gcra.judge(&mut after, now + wait).retry_after, None);
            if seconds > 1 {
                let mut sooner = arrival;
                let short = wait - SECOND;
                prop_assert!(gcra.judge(&mut sooner, now + short).retry_after.is_some());
            }
        }
    }

    /// `remaining` is how many pass at once, and `reset` is enough to have them all.
    #[test]
    fn remaining_and_reset_are_honest(
        rate in 1_u32..200,
        burst in 1_u32..100,
        gaps in prop::collection::vec(0_u64..100 * MILLI, 1..200),
    ) {
        let gcra = Gcra::new(rate, burst);
        let (mut arrival, mut now) = (0, 0);
        for gap in gaps {
            now += gap;
            let verdict = gcra.judge(&mut arrival, now);
            let mut trial = arrival;
            for _ in 0..verdict.remaining {
                prop_assert_eq!(gcra.judge(&mut trial, now).retry_after, None);
            }
            prop_assert!(gcra.judge(&mut trial, now).retry_after.is_some());
            let mut rested = arrival;
            let at_reset = now + verdict.reset * SECOND;
            prop_assert_eq!(gcra.judge(&mut rested, at_reset).remaining, u64::from(burst) - 1);
        }
    }
}

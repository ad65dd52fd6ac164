use proptest::prelude::*;

use super::*;
use crate::dispatch::VALIDITY;
use crate::samples::{ids, millis, now, our_number, person};

fn give_up(validity: Duration) -> GiveUpPlan {
    let reply_limits = ReplyLimits::default();
    GiveUpPlan { before: now(), validity, reply_limits, at: now(), ids: ids() }
}

fn part(number: u8, total: u8, words: &str) -> SegmentPlan {
    let part = InboundSegment {
        from: person().into(),
        to: our_number(),
        reference: 7,
        place: Place::new(number, total).unwrap(),
        text: SegmentText::whole(words),
        route: RouteName::new("smpp"),
        received_at: millis(i64::from(number)),
    };
    SegmentPlan::new(part, VALIDITY, now(), ids())
}

#[test]
fn a_place_has_its_number_and_the_total() {
    let place = Place::new(2, 3).unwrap();
    assert_eq!((place.number(), place.total()), (2, 3));
    assert!(Place::new(3, 3).is_some());
    assert_eq!([(0, 3), (4, 3), (0, 0)].map(|(n, of)| Place::new(n, of)), [None; 3]);
}

/// A segment that arrives this many seconds after the others.
fn after(seconds: u64, number: u8, total: u8, words: &str) -> SegmentPlan {
    let mut plan = part(number, total, words);
    plan.part.received_at = plan.part.received_at.plus(Duration::from_secs(seconds));
    plan
}

/// Keeps what a store would; returns what is kept and the messages that were joined.
fn keep(plans: impl IntoIterator<Item = SegmentPlan>) -> (Vec<Gathered>, Vec<String>) {
    let (mut kept, mut joined) = (Vec::<Gathered>::new(), Vec::new());
    for plan in plans {
        let newest = kept.iter().rev().take(LOOKED_AT).cloned().collect();
        let gathered = match plan.settle(newest) {
            SegmentVerdict::Repeat => continue,
            SegmentVerdict::Keep(gathered) => gathered,
            SegmentVerdict::Join(gathered, plan) => {
                joined.push(plan.text.body.as_str().to_owned());
                gathered
            }
        };
        match kept.iter_mut().find(|kept| kept.nth == gathered.nth) {
            Some(kept) => *kept = gathered,
            None => kept.push(gathered),
        }
    }
    (kept, joined)
}

fn gather<'a>(parts: impl IntoIterator<Item = (u8, u8, &'a str)>) -> (Vec<Gathered>, Vec<String>) {
    keep(parts.into_iter().map(|(number, total, words)| part(number, total, words)))
}

/// What is delivered in the end of messages that stayed incomplete.
fn left(kept: &[Gathered], total: u8) -> Vec<String> {
    let plan = give_up(VALIDITY);
    let key = part(1, total, "").key();
    let given_up = kept.iter().filter_map(|kept| plan.clone().settle(key, kept));
    given_up.map(|plan| plan.text.body.as_str().to_owned()).collect()
}

#[test]
fn a_place_is_from_1_to_the_number_of_segments() {
    for (number, total, is_place) in
        [(0, 0, false), (0, 2, false), (1, 1, true), (2, 2, true), (3, 2, false)]
    {
        assert_eq!(Place::new(number, total).is_some(), is_place, "{number} of {total}");
    }
}

#[test]
fn segments_wait_until_all_have_arrived_and_repeats_change_nothing() {
    let (kept, joined) = gather([(2, 3, "b"), (2, 3, "b"), (3, 3, "c")]);
    let [kept] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((kept.state, kept.parts.len(), kept.first_at), (Gathering::Waiting, 2, millis(2)));
    assert_eq!(joined, [""; 0]);
    let (kept, joined) = gather([(2, 3, "b"), (3, 3, "c"), (1, 3, "a")]);
    assert_eq!(kept.iter().map(|kept| kept.state).collect::<Vec<_>>(), [Gathering::Joined]);
    assert_eq!(joined, ["abc"]);
}

#[test]
fn a_segment_that_never_came_does_not_spoil_the_next_message() {
    type Case<'a> = (&'a str, &'a [(u8, &'a str)], &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 8] = [
        ("the last is lost", &[(1, "a"), (1, "A"), (2, "B")], &["AB"], &["a[...]"]),
        ("a first without its last", &[(1, "a"), (2, "b"), (1, "A")], &["ab"], &["A[...]"]),
        ("twice lost", &[(1, "a"), (1, "A"), (1, "x"), (2, "y")], &["xy"], &["a[...]", "A[...]"]),
        ("another last", &[(2, "b"), (2, "B"), (1, "A")], &["AB"], &["[...]b"]),
        ("both complete", &[(1, "a"), (1, "A"), (2, "B"), (2, "b")], &["AB", "ab"], &[]),
        ("the same last", &[(1, "a"), (2, "z"), (1, "A"), (2, "z")], &["az", "Az"], &[]),
        ("a repeat of the first", &[(1, "a"), (1, "a"), (2, "b")], &["ab"], &[]),
        ("an old repeat", &[(1, "a"), (2, "b"), (1, "A"), (2, "B"), (1, "a")], &["ab", "AB"], &[]),
    ];
    for (what, parts, whole, rest) in cases {
        let (kept, joined) = gather(parts.iter().map(|(number, words)| (*number, 2, *words)));
        assert_eq!(
            (joined, left(&kept, 2)),
            (
                whole.iter().map(ToString::to_string).collect(),
                rest.iter().map(ToString::to_string).collect()
            ),
            "{what}"
        );
    }
}

#[test]
fn a_first_segment_that_comes_late_begins_another_message() {
    let within = FIRST_WITHIN.as_secs();
    for (seconds, whole, rest) in [(within - 1, "Ab", "[...]B"), (within + 1, "AB", "[...]b")] {
        let late = [after(seconds, 1, 2, "A"), after(seconds, 2, 2, "B")];
        let (kept, joined) = keep([part(2, 2, "b")].into_iter().chain(late));
        assert_eq!((joined, left(&kept, 2)), (vec![whole.to_owned()], vec![rest.to_owned()]));
    }
    let (_, joined) = keep([part(1, 2, "a"), after(80_000, 2, 2, "b")]);
    assert_eq!(joined, ["ab"], "any other may be late");
}

#[test]
fn repeats_of_a_joined_message_are_ignored_and_a_new_message_with_its_reference_is_not() {
    let whole = [(1, 2, "a"), (2, 2, "b")];
    let repeated = whole.into_iter().chain([(2, 2, "b"), (1, 2, "a")]);
    assert_eq!(gather(repeated).1, ["ab"]);
    let another = whole.into_iter().chain([(2, 2, "d"), (1, 2, "c")]);
    assert_eq!(gather(another).1, ["ab", "cd"]);
}

#[test]
fn what_came_of_a_message_is_recorded_in_order_and_marked() {
    let plan = give_up(VALIDITY);
    let key = part(1, 3, "").key();
    let (kept, _) = gather([(3, 3, "c"), (1, 3, "a")]);
    let taken = plan.clone().settle(key, &kept[0]).unwrap();
    assert_eq!((taken.text.body.as_str(), taken.at), ("a[...]c", now()));
    assert_eq!((taken.text.from, taken.text.to), (person().into(), our_number()));
    let note = "Incomplete: 2 of its 3 segments arrived in a day.";
    assert_eq!(taken.note.as_deref(), Some(note));
    let (kept, _) = gather([(1, 1, "a")]);
    assert_eq!(plan.settle(key, &kept[0]), None);
}

#[test]
fn the_answer_to_a_message_in_segments_has_the_configured_validity() {
    let validity = VALIDITY / 2;
    let plan = SegmentPlan { validity, ..part(1, 1, "a") };
    let key = plan.key();
    let SegmentVerdict::Join(whole, plan) = plan.settle(Vec::new()) else { panic!("it is joined") };
    assert_eq!((plan.validity, plan.note), (validity, None));
    let waiting = Gathered { state: Gathering::Waiting, ..whole };
    let plan = give_up(validity);
    assert_eq!(plan.settle(key, &waiting).unwrap().validity, validity);
}

#[test]
fn a_message_in_segments_keeps_the_name_that_it_came_from() {
    let from_acme = |number: u8, words: &str| {
        let mut plan = part(number, 2, words);
        plan.part.from = Originator::parse("ACME").unwrap();
        plan
    };
    let key = from_acme(1, "").key();
    assert_eq!(key.from, from_acme(2, "").part.from.number());
    let SegmentVerdict::Keep(kept) = from_acme(2, "b").settle(Vec::new()) else { panic!("kept") };
    let incomplete = give_up(VALIDITY).settle(key, &kept).unwrap();
    let SegmentVerdict::Join(_, whole) = from_acme(1, "a").settle(vec![kept]) else {
        panic!("it is joined")
    };
    for (plan, body) in [(*whole, "ab"), (incomplete, "[...]b")] {
        assert_eq!((plan.text.from.name(), plan.text.body.as_str()), (Some("ACME"), body));
    }
}

#[test]
fn no_message_holds_the_character_u_0000() {
    assert_eq!(gather([(1, 2, "a\0"), (2, 2, "b")]).1, ["ab"]);
}

proptest! {
    #[test]
    fn any_order_with_any_repeats_records_the_message_once(
        words in prop::collection::vec("[a-zд👋]{1,5}", 1..12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let total = u8::try_from(words.len()).unwrap();
        let numbered: Vec<(u8, u8, &str)> =
            (1..=total).map(|n| (n, total, words[usize::from(n) - 1].as_str())).collect();
        let some = order.iter().map(|index| *index.get(&numbered));
        let (_, joined) = gather(some.chain(numbered.clone()).chain(numbered.clone()));
        prop_assert_eq!(joined, [words.concat()]);
    }
}

//! How much a route asks for: enough to keep its network busy, and no more than it can submit in
//! time.

use std::sync::Mutex;

use sms_core::dispatch::Lane;
use sms_core::route::FRESH_FOR;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::session::Submitted;

fn route_with(window: usize, rate: Option<u32>) -> SmppRoute {
    let settings = settings_of(1).window(window).unwrap();
    route(match rate {
        None => settings,
        Some(rate) => settings.rate(rate).unwrap(),
    })
}

fn rooms(route: &SmppRoute) -> [usize; 2] {
    Lane::ALL.map(|lane| route.room(lane))
}

/// The network answered a message after so long.
async fn answered(route: &SmppRoute, after: Duration) {
    ended(route, after, &[Submitted::Accepted { id: String::new() }]).await;
}

/// The segments of a message had these outcomes after so long.
async fn ended(route: &SmppRoute, after: Duration, outcomes: &[Submitted]) {
    let mut place = route.inner.carrier.place(Lane::Normal).await;
    place.writes(outcomes.len());
    sleep(after).await;
    for submitted in outcomes {
        place.hears(submitted);
    }
}

#[tokio::test(start_paused = true)]
async fn a_route_asks_for_as_much_as_it_can_submit_in_time() {
    // Window, rate, answer time in milliseconds; what it asks for before the first answer and
    // after it. Its windows count only as far as it can write into them in half a second.
    let cases = [
        (10, None, 0, 10, usize::MAX),
        (10, None, 1_000, 10, 10 + 5),
        (10, Some(10), 0, 5, 5),
        (10, Some(10), 5_000, 5, 5),
        (10, Some(100), 5_000, 10, 10 + 1),
        (10, Some(1), 1_000, 1, 1),
        (1, None, 5_000, 1, 1),
        (1_000, Some(200), 5_000, 100, 100),
    ];
    for (window, rate, answer, before, after) in cases {
        let route = route_with(window, rate);
        let case = format!("window {window}, rate {rate:?}, answers after {answer} ms");
        assert_eq!(rooms(&route), [before; 2], "{case}: nothing is known of its network");
        answered(&route, Duration::from_millis(answer)).await;
        assert_eq!(rooms(&route), [after; 2], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_an_answer_tells_how_long_a_network_takes() {
    use Submitted::{NotWritten, Refused, Unanswered, Withheld};
    let accepted = Submitted::Accepted { id: String::new() };
    let fast = Duration::from_millis(100);
    for (outcomes, is_answer) in [
        (vec![accepted.clone()], true),
        (vec![Refused(Status::SYSTEM_ERROR)], true),
        (vec![accepted.clone(), accepted.clone()], true),
        (vec![Unanswered], false),
        (vec![accepted, Unanswered], false),
        (vec![NotWritten], false),
        (vec![Withheld], false),
    ] {
        let route = route_with(10, None);
        answered(&route, fast).await;
        let before = rooms(&route);
        assert_eq!(before, [60; 2], "its window, and what it answers in half a second");
        ended(&route, Duration::from_secs(30), &outcomes).await;
        assert_eq!(rooms(&route) != before, is_answer, "{outcomes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn both_lanes_share_what_a_route_can_submit() {
    let route = route_with(100, Some(100));
    answered(&route, Duration::from_millis(100)).await;
    let waits = |lane, count| -> Vec<InHand> {
        (0..count).map(|_| InHand::new(&route.inner, lane)).collect()
    };
    let bulk = waits(Lane::Bulk, 50);
    assert_eq!(rooms(&route), [40, 0], "bulk does not keep out what somebody waits for");
    drop(bulk);
    let normal = waits(Lane::Normal, 45);
    assert_eq!(rooms(&route), [5, 10], "bulk gets a fifth");
    assert!(!route.inner.is_worth_a_claim(Lane::Normal));
    normal.iter().for_each(InHand::writes);
    assert_eq!(rooms(&route), [50, 50], "what is written does not wait");
    assert!(route.inner.is_worth_a_claim(Lane::Normal));
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_slow_takes_one_only_when_its_turn_is_near() {
    let route = route_with(1, None);
    answered(&route, Duration::from_secs(5)).await;
    let mut place = route.inner.carrier.place(Lane::Normal).await;
    assert_eq!(rooms(&route), [1, 1]);
    place.writes(1);
    assert_eq!(rooms(&route), [0, 0], "its only place is taken");
    assert!(!Lane::ALL.iter().any(|lane| route.inner.is_worth_a_claim(*lane)));
    drop(place);
    assert_eq!(rooms(&route), [1, 1]);
}

/// What a network did.
#[derive(Default)]
struct Done {
    submitted: usize,
    given_back: usize,
}

/// Carries a message as a route does, to a network that answers after `answer`.
async fn carried(inner: Arc<Inner>, in_hand: InHand, answer: Duration, done: Arc<Mutex<Done>>) {
    let lane = Lane::Bulk;
    let turn = async {
        let place = inner.carrier.place(lane).await;
        inner.carrier.next_turn(lane).await;
        place
    };
    let Ok(mut place) = timeout(FRESH_FOR, turn).await else {
        done.lock().unwrap().given_back += 1;
        return;
    };
    in_hand.writes();
    place.writes(1);
    done.lock().unwrap().submitted += 1;
    sleep(answer).await;
    place.hears(&Submitted::Accepted { id: String::new() });
}

#[tokio::test(start_paused = true)]
async fn a_slow_network_is_kept_busy_and_little_is_given_back() {
    for (window, rate) in
        [(10, None), (10, Some(100)), (100, Some(10)), (1_000, Some(200)), (10, Some(1))]
    {
        let route = route_with(window, rate);
        let done = Arc::new(Mutex::new(Done::default()));
        let begin = Instant::now();
        let mut claimed = 0;
        while begin.elapsed() < Duration::from_mins(2) {
            if route.inner.is_worth_a_claim(Lane::Bulk) {
                for _ in 0..route.room(Lane::Bulk) {
                    claimed += 1;
                    let answer = Duration::from_millis(2_000 + claimed * 739 % 3_000);
                    let in_hand = InHand::new(&route.inner, Lane::Bulk);
                    let (inner, done) = (Arc::clone(&route.inner), Arc::clone(&done));
                    tokio::spawn(carried(inner, in_hand, answer, done));
                }
            }
            sleep(Duration::from_millis(10)).await;
        }
        let Done { submitted, given_back } = std::mem::take(&mut *done.lock().unwrap());
        // Bulk leaves one place in twenty free.
        let by_window = (window - window / 20) * 120 * 2 / 7;
        let possible = rate.map_or(by_window, |rate| by_window.min(rate as usize * 120));
        let case = format!("{submitted} of {possible}, window {window}, rate {rate:?}");
        assert!(submitted * 10 >= possible * 9, "{case}");
        assert!(given_back * 10 <= submitted, "{case}: {given_back} were given back");
    }
}

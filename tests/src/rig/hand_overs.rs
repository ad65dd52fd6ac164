//! What the servers' networks recorded: which message was sent when, and by which server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use sms_core::ids::MessageId;

use super::RigFailed;
use super::fault::Outage;
use super::fleet::{Life, Pause};
use super::report::Violation;
use super::site::name;

/// The most messages that one server hands over at a time: two workers with 500 each.
const IN_FLIGHT: usize = 1_000;

/// One hand-over of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving {
    pub(super) life: Life,
    /// Milliseconds since 1970.
    pub(super) at: i64,
}

/// All hand-overs by message, in order of time.
pub(super) type HandOvers = BTreeMap<MessageId, Vec<Leaving>>;

/// Reads what was recorded so far.
pub(super) fn read(folder: &Path) -> Result<HandOvers, RigFailed> {
    let mut all = HandOvers::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(life) = life(&name(&path)) else { continue };
        for line in std::fs::read_to_string(&path)?.lines() {
            let broken = || std::io::Error::other("a line of what was handed over is broken");
            let words: Vec<&str> = line.split(' ').collect();
            let [id, _attempt, what, at] = words[..] else { return Err(broken().into()) };
            let at = at.parse().map_err(|_| broken())?;
            let id = id.parse().map_err(|_| broken())?;
            if what == "left" {
                all.entry(id).or_default().push(Leaving { life, at });
            }
        }
    }
    for leavings in all.values_mut() {
        leavings.sort_by_key(|leaving| leaving.at);
    }
    Ok(all)
}

/// The server process in the name `handed-REPLICA-GENERATION`.
fn life(name: &str) -> Option<Life> {
    let (replica, generation) = name.strip_prefix("handed-")?.split_once('-')?;
    Some(Life { replica: replica.parse().ok()?, generation: generation.parse().ok()? })
}

/// Messages that were sent more than once, and why.
#[derive(Debug, Default)]
pub(super) struct Twice {
    /// The number of repeated hand-overs.
    pub(super) count: usize,
    /// How many were sent without a record, and failed when they were claimed again.
    pub(super) then_failed: usize,
    pub(super) violations: Vec<Violation>,
}

/// Explains every message that was sent more than once, or was sent and still `failed`. The only
/// valid explanations: the server that held it was killed, or stopped for longer than its lease,
/// before it could record the hand-over; or the database was unavailable for long. No fault may
/// explain more messages than were in flight.
pub(super) fn explain(
    all: &HandOvers,
    failed: &BTreeSet<MessageId>,
    pauses: &[Pause],
    outages: &[Outage],
    lease: Duration,
) -> Twice {
    let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
    let mut by_pause = vec![0_usize; pauses.len()];
    let mut twice = Twice::default();
    for (id, leavings) in all {
        for (place, &Leaving { life, at }) in leavings.iter().enumerate() {
            let next = leavings.get(place + 1);
            match next {
                Some(_) => twice.count += 1,
                None if failed.contains(id) => twice.then_failed += 1,
                None => continue,
            }
            let is_it = |pause: &Pause| {
                // What it held at that moment it had claimed or renewed within one lease before.
                let in_hand = at <= pause.from && pause.from - at <= lease;
                let for_long = pause.until.is_none_or(|until| until - at >= lease * 2 / 3);
                pause.life == life && in_hand && for_long
            };
            let is_outage = |(from, until): &Outage| {
                let lasted = until - from >= lease / 2;
                // A busy server may wait for its record, and renew its lease once meanwhile.
                lasted && (from - 2 * lease..=until + lease).contains(&at)
            };
            if let Some(place) = pauses.iter().position(is_it) {
                by_pause[place] += 1;
            } else if !outages.iter().any(is_outage) {
                let then = next.map_or("and failed".to_owned(), |next| {
                    let Life { replica, generation } = next.life;
                    format!("and, {} ms later, by {replica}-{generation}", next.at - at)
                });
                let told = format!("{id}, by replica {}-{} {then}", life.replica, life.generation);
                let rule =
                    "a sent message is sent again, or fails, only after a fault of its server";
                twice.violations.push(Violation::new(rule, told));
            }
        }
    }
    for (pause, count) in pauses.iter().zip(by_pause) {
        if count > IN_FLIGHT {
            let told = format!("{count} by replica {}", pause.life.replica);
            let rule = "no more messages are handed over again than were in flight";
            twice.violations.push(Violation::new(rule, told));
        }
    }
    twice
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    fn life(replica: usize) -> Life {
        Life { replica, generation: 0 }
    }

    /// The violations if a message was sent at these times, in seconds, by these servers.
    fn violations(leavings: &[(usize, i64)], pauses: &[Pause], outages: &[Outage]) -> usize {
        let leaving =
            |&(replica, at): &(usize, i64)| Leaving { life: life(replica), at: at * 1_000 };
        let all = [(MessageId::from_u128(1), leavings.iter().map(leaving).collect())].into();
        explain(&all, &BTreeSet::new(), pauses, outages, LEASE).violations.len()
    }

    #[test]
    fn only_a_fault_of_who_had_a_message_explains_that_it_left_and_failed() {
        let id = MessageId::from_u128(1);
        let all = [(id, vec![Leaving { life: life(0), at: 100_000 }])].into();
        let killed = Pause { life: life(0), from: 101_000, until: None };
        let violations = |pauses: &[Pause]| {
            let twice = explain(&all, &BTreeSet::from([id]), pauses, &[], LEASE);
            (twice.then_failed, twice.violations.len())
        };
        assert_eq!(violations(&[]), (1, 1));
        assert_eq!(violations(&[killed]), (1, 0));
    }

    #[test]
    fn only_a_fault_of_the_server_that_had_a_message_explains_that_it_left_again() {
        let killed =
            |replica, at: i64| Pause { life: life(replica), from: at * 1_000, until: None };
        let twice = [(0, 100), (1, 131)];
        assert_eq!(violations(&[(0, 100)], &[], &[]), 0, "it left once");
        assert_eq!(violations(&twice, &[killed(0, 101)], &[]), 0);
        assert_eq!(violations(&twice, &[], &[]), 1, "nothing happened");
        assert_eq!(violations(&twice, &[killed(1, 101)], &[]), 1, "it was another");
        assert_eq!(violations(&twice, &[killed(0, 99)], &[]), 1, "it was before");
        assert_eq!(violations(&twice, &[killed(0, 140)], &[]), 1, "it was long after");
        let stopped =
            |seconds: i64| [Pause { until: Some(101_000 + seconds * 1_000), ..killed(0, 101) }];
        assert_eq!(violations(&twice, &stopped(30), &[]), 0);
        assert_eq!(violations(&twice, &stopped(2), &[]), 1, "its lease held meanwhile");
        assert_eq!(violations(&twice, &[], &[(101_000, 120_000)]), 0);
        assert_eq!(violations(&twice, &[], &[(150_000, 170_000)]), 0, "its lease was renewed once");
        assert_eq!(violations(&twice, &[], &[(161_000, 181_000)]), 1, "it was long after");
        assert_eq!(violations(&twice, &[], &[(101_000, 103_000)]), 1, "it was there in time");
        assert_eq!(violations(&[(0, 100), (1, 131), (2, 162)], &[killed(0, 101)], &[]), 1);
    }
}

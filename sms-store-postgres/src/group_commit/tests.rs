use std::collections::BTreeSet;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::pooled::{Pooled, Shared};
use super::*;
use crate::error::PgError;

/// How an attempt fails.
#[derive(Clone, Copy)]
enum Fails {
    /// The database rolls back.
    Undone,
    /// It conflicts with another commit.
    Overtaken,
    /// No answer comes.
    Lost,
    /// The database takes no writes.
    ReadOnly,
}

/// Commits numbers. An attempt that includes a number in `bad` fails. Each entry of `passing` makes
/// one attempt fail, whatever it includes.
struct Numbers {
    bad: BTreeSet<u32>,
    passing: Vec<Fails>,
    is_reachable: bool,
    /// The plans of each attempt, and whether it was the first of its plans.
    attempts: Vec<(Vec<u32>, bool)>,
}

fn numbers() -> Numbers {
    Numbers { bad: BTreeSet::new(), passing: Vec::new(), is_reachable: true, attempts: Vec::new() }
}

impl Numbers {
    fn attempt(&mut self, plans: &[u32], attempt: Attempt) -> Result<Vec<u32>, StoreError> {
        self.attempts.push((plans.to_vec(), attempt == Attempt::First));
        let bad = plans.iter().any(|plan| self.bad.contains(plan)).then_some(Fails::Undone);
        let error = match self.passing.pop().or(bad) {
            None => return Ok(plans.to_vec()),
            Some(Fails::Undone) => PgError::Missing("number"),
            Some(Fails::Overtaken) => PgError::Overtaken,
            Some(Fails::ReadOnly) => PgError::ReadOnly,
            Some(Fails::Lost) => PgError::OutcomeUnknown(Box::new(PgError::Silent)),
        };
        Err(error.during("counting"))
    }
}

/// One committer for each way to handle a lost answer.
struct Failing(Numbers);
struct Repeating(Numbers);

macro_rules! committer {
    ($name:ident, $lost:expr, $together:expr) => {
        #[async_trait]
        impl Committer for $name {
            type Plan = u32;
            type Outcome = u32;
            type Answer = u32;
            const DOING: &'static str = "counting";
            const LIMITS: Limits = Limits {
                calls: 3,
                weight: 10,
                worth_a_commit: 5,
                tries_together: $together,
                lost: $lost,
                longest_wait: None,
                idle: None,
            };

            fn weight(plan: &u32) -> usize {
                usize::try_from(*plan).unwrap()
            }

            async fn commit(
                &mut self,
                plans: &[u32],
                attempt: Attempt,
                _: &mut Option<Turn<Self>>,
            ) -> Result<Vec<u32>, StoreError> {
                self.0.attempt(plans, attempt)
            }

            fn answer(plan: u32, outcome: u32) -> u32 {
                assert_eq!(plan, outcome);
                outcome
            }

            async fn is_reachable(&mut self) -> bool {
                self.0.is_reachable
            }

            async fn rest(&mut self) {}
        }
    };
}
committer!(Failing, LostAnswer::Fails, 3);
committer!(Repeating, LostAnswer::TriedAgain, 1);

/// The committed plans, with `None` for each that failed.
fn answers<E>(answers: Vec<Result<u32, E>>) -> Vec<Option<u32>> {
    answers.into_iter().map(Result::ok).collect()
}

/// What becomes of plans that a call each brings: the committed ones, with `None` for each that
/// failed.
async fn committed<C>(committer: &mut C, plans: Vec<u32>) -> Vec<Option<u32>>
where
    C: Committer<Plan = u32, Answer = u32>,
{
    let mut callers = Callers::<u32>::default();
    let (mut placed, mut answers) = (Vec::new(), Vec::new());
    for plan in plans {
        let (answer, answered) = oneshot::channel();
        placed.extend(callers.add(answer, vec![plan]));
        answers.push(answered);
    }
    commit(committer, placed, &mut callers, None).await;
    let answer = |mut answer: oneshot::Receiver<Answers<C>>| answer.try_recv().unwrap();
    answers.into_iter().map(|one| answer(one).pop().unwrap().ok()).collect()
}

#[tokio::test]
async fn a_failed_batch_is_halved_until_only_the_bad_plan_fails() {
    let mut committer = Failing(Numbers { bad: [6].into(), ..numbers() });
    let plans: Vec<u32> = (0..8).collect();
    let answered = committed(&mut committer, plans).await;
    let expected = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), None, Some(7)];
    assert_eq!(answered, expected);
    let parts: Vec<Vec<u32>> = committer.0.attempts.into_iter().map(|(plans, _)| plans).collect();
    let halves: [&[u32]; 7] =
        [&[0, 1, 2, 3, 4, 5, 6, 7], &[0, 1, 2, 3], &[4, 5, 6, 7], &[4, 5], &[6, 7], &[6], &[7]];
    assert_eq!(parts, halves);
}

/// Settles even numbers at once, and fails with all others.
struct Evens;

#[async_trait]
impl Committer for Evens {
    type Plan = u32;
    type Outcome = u32;
    type Answer = u32;
    const DOING: &'static str = "counting";
    const LIMITS: Limits = Failing::LIMITS;

    fn weight(_: &u32) -> usize {
        1
    }

    async fn settle_at_once(&mut self, plans: &[u32]) -> Result<BTreeMap<usize, u32>, StoreError> {
        let all = plans.iter().copied().enumerate();
        Ok(all.filter(|(_, plan)| plan.is_multiple_of(2)).collect())
    }

    async fn commit(
        &mut self,
        plans: &[u32],
        _: Attempt,
        _: &mut Option<Turn<Self>>,
    ) -> Result<Vec<u32>, StoreError> {
        assert!(plans.iter().all(|plan| !plan.is_multiple_of(2)), "{plans:?} are settled");
        Err(PgError::ReadOnly.during("counting"))
    }

    fn answer(_: u32, outcome: u32) -> u32 {
        outcome
    }

    async fn is_reachable(&mut self) -> bool {
        false
    }

    async fn rest(&mut self) {}
}

#[tokio::test]
async fn what_is_settled_at_once_is_answered_whatever_becomes_of_the_others() {
    let expected = [None, Some(2), Some(4), None];
    assert_eq!(committed(&mut Evens, vec![1, 2, 4, 5]).await, expected);
    assert_eq!(committed(&mut Evens, vec![6, 8]).await, [Some(6), Some(8)]);
}

/// Evens as a command on connections of the pool, whose others meet conflicts for ever.
struct SharedEvens;

#[async_trait]
impl Shared for SharedEvens {
    type Plan = u32;
    type Answer = u32;
    const DOING: &'static str = "counting";

    async fn settle_at_once(_: &PgPool, plans: &[u32]) -> Result<BTreeMap<usize, u32>, StoreError> {
        Evens.settle_at_once(plans).await
    }

    async fn commit(_: &PgPool, plans: Vec<u32>) -> Result<Vec<u32>, StoreError> {
        assert!(plans.iter().all(|plan| !plan.is_multiple_of(2)), "{plans:?} are settled");
        Err(PgError::Overtaken.during("counting"))
    }
}

#[tokio::test]
async fn what_a_shared_command_settles_at_once_does_not_run_again_after_a_conflict() {
    let pool = PgPoolOptions::new().connect_lazy_with(PgConnectOptions::new());
    let mut committer = Pooled::<SharedEvens>::new(pool);
    let expected = [None, Some(2), Some(4), None];
    assert_eq!(committed(&mut committer, vec![1, 2, 4, 5]).await, expected);
}

#[tokio::test]
async fn plans_that_conflict_with_others_are_retried_before_they_are_split() {
    let passing = vec![Fails::Overtaken, Fails::Overtaken];
    let mut committer = Failing(Numbers { passing, ..numbers() });
    assert_eq!(committed(&mut committer, vec![1, 2]).await, [Some(1), Some(2)]);
    assert_eq!(committer.0.attempts.len(), 3);
    let mut committer = Repeating(Numbers { passing: vec![Fails::Overtaken], ..numbers() });
    assert_eq!(committed(&mut committer, vec![1, 2]).await, [Some(1), Some(2)]);
    let parts = [(vec![1, 2], true), (vec![1], false), (vec![2], false)];
    assert_eq!(committer.0.attempts, parts);
}

#[tokio::test]
async fn after_a_lost_answer_the_rest_fails_unless_repeats_are_recognised() {
    let lost = || Numbers { passing: vec![Fails::Lost], ..numbers() };
    let mut failing = Failing(lost());
    assert_eq!(committed(&mut failing, vec![1, 2, 3]).await, [None; 3]);
    assert_eq!(failing.0.attempts.len(), 1);
    let mut repeating = Repeating(lost());
    let expected = [Some(1), Some(2), Some(3)];
    assert_eq!(committed(&mut repeating, vec![1, 2, 3]).await, expected);
    let attempts = [(vec![1, 2, 3], true), (vec![1], false), (vec![2], false), (vec![3], false)];
    assert_eq!(repeating.0.attempts, attempts);
    let mut away = Repeating(Numbers { is_reachable: false, ..lost() });
    assert_eq!(committed(&mut away, vec![1, 2, 3]).await, [None; 3]);
    assert_eq!(away.0.attempts.len(), 1);
}

#[tokio::test]
async fn when_the_database_takes_no_writes_all_plans_fail_at_once() {
    let read_only = || Numbers { passing: vec![Fails::ReadOnly], ..numbers() };
    let mut failing = Failing(read_only());
    assert_eq!(committed(&mut failing, vec![1, 2, 3]).await, [None; 3]);
    assert_eq!(failing.0.attempts.len(), 1);
    let mut repeating = Repeating(read_only());
    assert_eq!(committed(&mut repeating, vec![1, 2, 3]).await, [None; 3]);
    assert_eq!(repeating.0.attempts.len(), 1);
    // It becomes read-only while plans are tried alone.
    let passing = vec![Fails::ReadOnly, Fails::Lost];
    let mut later = Repeating(Numbers { passing, ..numbers() });
    assert_eq!(committed(&mut later, vec![1, 2, 3]).await, [None; 3]);
    assert_eq!(later.0.attempts.len(), 2);
}

#[tokio::test]
async fn a_single_plan_is_retried_after_a_lost_answer_if_repeats_are_recognised() {
    let lost = |times| Numbers { passing: vec![Fails::Lost; times], ..numbers() };
    for (times, expected) in [(2, Some(1)), (3, None)] {
        let mut repeating = Repeating(lost(times));
        assert_eq!(committed(&mut repeating, vec![1]).await, [expected]);
        assert_eq!(repeating.0.attempts.len(), 3);
    }
    let mut failing = Failing(lost(1));
    assert_eq!(committed(&mut failing, vec![1]).await, [None]);
}

type Queue = (mpsc::UnboundedSender<Call<Failing>>, Arc<Mutex<Waiting<Failing>>>);

fn queue(calls: &[&[u32]]) -> Queue {
    let (queue, calls_in) = mpsc::unbounded_channel();
    for plans in calls {
        let (answer, _) = oneshot::channel();
        let sent = queue.send(Call { plans: plans.to_vec(), answer, since: Instant::now() });
        assert!(sent.is_ok());
    }
    (queue, Arc::new(Mutex::new(Waiting { calls: calls_in, held: None })))
}

#[tokio::test]
async fn a_batch_takes_what_waits_up_to_its_limits_and_holds_what_does_not_fit() {
    // The limits are 3 calls and a weight of 10. The last call is larger than any batch.
    let (_queue, waiting) = queue(&[&[1], &[1], &[1], &[1], &[4, 4], &[3], &[40]]);
    let mut batches = Vec::new();
    for _ in 0..4 {
        let (taken, turn) = next(&waiting).await.unwrap();
        let plans: Vec<u32> = taken.into_iter().flat_map(|call| call.plans).collect();
        batches.push((plans, turn.is_some()));
    }
    let expected =
        [(vec![1, 1, 1], true), (vec![1, 4, 4], false), (vec![3], true), (vec![40], false)];
    assert_eq!(batches, expected);
}

#[tokio::test]
async fn the_turn_is_kept_while_a_small_batch_is_on_its_way() {
    let (_queue, waiting) = queue(&[&[1], &[2]]);
    let (_, turn) = next(&waiting).await.unwrap();
    assert!(waiting.try_lock().is_err(), "others wait, so that they share the next commit");
    drop(turn);
    assert!(waiting.try_lock().is_ok());
}

#[tokio::test]
async fn a_lane_answers_each_call_with_its_own_plans_and_ends_with_its_pool() {
    let pool = PgPoolOptions::new().connect_lazy_with(PgConnectOptions::new());
    let lane = Lane::start(&pool, [Failing(Numbers { bad: [7].into(), ..numbers() })]);
    let (one, two, none) =
        tokio::join!(lane.settle(vec![1, 7]), lane.settle(vec![2]), lane.settle(Vec::new()));
    assert_eq!((answers(one), answers(two)), (vec![Some(1), None], vec![Some(2)]));
    assert_eq!(none.len(), 0);
    pool.close().await;
    while !lane.queue.is_closed() {
        tokio::task::yield_now().await;
    }
    assert_eq!(answers(lane.settle(vec![3, 4]).await), [None, None]);
}

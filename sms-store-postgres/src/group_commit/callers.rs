//! Those who wait for a commit, and what they are answered.

use sms_core::store::StoreError;
use tokio::sync::oneshot;

/// What one caller is answered, by its plans.
type Answers<A> = Vec<Result<A, StoreError>>;

/// A plan, and its place among all that are committed together.
pub(super) struct Placed<P> {
    pub(super) place: usize,
    pub(super) plan: P,
}

/// Those who wait for the outcomes of a commit. Each is answered once all of its plans are.
pub(super) struct Callers<A> {
    /// The caller of each plan, and its place in the caller's answers.
    of_plan: Vec<(usize, usize)>,
    waiting: Vec<Option<Caller<A>>>,
}

struct Caller<A> {
    answers: Vec<Option<Result<A, StoreError>>>,
    answer: oneshot::Sender<Answers<A>>,
}

impl<A> Default for Callers<A> {
    fn default() -> Self {
        Self { of_plan: Vec::new(), waiting: Vec::new() }
    }
}

impl<A> Callers<A> {
    /// Adds a caller; returns its plans with their places.
    pub(super) fn add<P>(
        &mut self,
        answer: oneshot::Sender<Answers<A>>,
        plans: Vec<P>,
    ) -> Vec<Placed<P>> {
        let (caller, first) = (self.waiting.len(), self.of_plan.len());
        self.of_plan.extend((0..plans.len()).map(|place| (caller, place)));
        let answers = plans.iter().map(|_| None).collect();
        self.waiting.push(Some(Caller { answers, answer }));
        let place = |(place, plan)| Placed { place: first + place, plan };
        plans.into_iter().enumerate().map(place).collect()
    }

    pub(super) fn answer(&mut self, place: usize, answer: Result<A, StoreError>) {
        let (caller, place) = self.of_plan[place];
        let Some(waiting) = &mut self.waiting[caller] else { return };
        waiting.answers[place] = Some(answer);
        if waiting.answers.iter().all(Option::is_some)
            && let Some(Caller { answers, answer }) = self.waiting[caller].take()
        {
            // The caller may have gone; what was committed stays committed.
            let _ = answer.send(answers.into_iter().flatten().collect());
        }
    }
}

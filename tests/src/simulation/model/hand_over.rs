//! Hand-overs: the messages that routes get, and the outcomes.

use std::time::Duration;

use sms_core::dispatch::{LeaseToken, OutcomePlan, OutcomeRecorded};
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, MessageStatus, TimelineEntry};
use sms_core::route::{HandOver, OutboundMessage};

use super::text::MessageStep;
use super::{Check, Claim, Commit, Model, Moment};

/// The specified 5 s, less the second that a worker may take to notice.
const FIRST_RETRY: Duration = Duration::from_secs(4);
const LONGEST_RETRY: Duration = Duration::from_mins(5);
/// How often a message is retried because no answer came.
const AGAIN_UNANSWERED: u32 = 3;
/// How long after a look at it a message may be handed over.
const LOOK_COUNTS: Duration = Duration::from_secs(1);
/// How many retries a message's history shows.
const TIMES_TOLD: u32 = 5;

impl Model {
    /// The present task handed a message to a route.
    pub fn saw_hand_over(&mut self, moment: &Moment<'_>, text: &OutboundMessage) -> Check {
        let id = text.message;
        let last = &self.text(id)?.last;
        let due = last.due_at();
        ensure!(moment.now >= due, "{id} was handed over at {}, before {due}", moment.now);
        let test_route = text.route.as_str() == "test";
        ensure!(test_route == text.mode.is_test(), "{id} ({}) is on {}", text.mode, text.route);
        let opted_out = self.accounts.get(&last.account).and_then(|own| own.opt_outs.get(&last.to));
        let opted_out = opted_out.copied();
        let own = self.claim_of.get(&moment.task).copied();
        let has_it = |token: &LeaseToken| {
            self.claims.get(token).is_some_and(|claim| claim.messages.contains_key(&id))
        };
        let from_start = self
            .text(id)?
            .lease
            .map(|(token, _)| token)
            .filter(|token| self.claims.get(token).is_some_and(|claim| claim.since.is_some()));
        let token = own.filter(has_it).or(from_start).or(own);
        let token = token.or_else(|| self.held_until_a_receipt(id));
        let claim = token.and_then(|token| self.claims.get_mut(&token));
        let claim = claim.ok_or_else(|| format!("{id} was handed over by no worker"))?;
        // A claim looks at everything that may stand in a message's way; what happens after it
        // counts within a second.
        let age = moment.now.since(text.look.time());
        ensure!(age <= LOOK_COUNTS, "{id} was handed over {age:?} after it was looked at");
        self.tally.held += u64::from(claim.since.is_some());
        // One that came while the worker held the text may cross it.
        ensure!(
            opted_out.is_none_or(|since| since >= claim.step),
            "{id} was handed over although its number had opted out"
        );
        let claimed = claim.messages.get_mut(&id);
        let (claimed, times) =
            claimed.ok_or_else(|| format!("{id} was handed over and not claimed"))?;
        ensure!(text == claimed, "{text:?} was handed over for {claimed:?}");
        *times += 1;
        ensure!(*times == 1, "{id} was handed over twice under one lease");
        Ok(())
    }

    /// Who held a message from the start, if a receipt came before the hand-over and ended the
    /// lease. The worker does not know of it yet.
    fn held_until_a_receipt(&self, id: MessageId) -> Option<LeaseToken> {
        let text = self.messages.get(&id)?;
        let by_receipt = [MessageStatus::Delivered, MessageStatus::Undelivered];
        if text.lease.is_some() || !by_receipt.contains(&text.last.status) {
            return None;
        }
        let holds = |claim: &Claim| claim.since.is_some() && claim.messages.contains_key(&id);
        self.claims.iter().find(|(_, claim)| holds(claim)).map(|(token, _)| *token)
    }

    /// A worker recorded the outcomes of its messages.
    pub fn saw_outcomes(
        &mut self,
        moment: &Moment<'_>,
        plans: Vec<OutcomePlan>,
        answers: &[OutcomeRecorded],
    ) -> Check {
        ensure!(
            plans.len() == answers.len(),
            "{} outcomes, {} answers",
            plans.len(),
            answers.len()
        );
        let mut commit = Commit::default();
        for (plan, answer) in plans.into_iter().zip(answers) {
            let held = self.messages.get(&plan.message).is_some_and(|text| {
                text.last.status == MessageStatus::Sending
                    && text.lease.is_some_and(|(token, _)| token == plan.token)
            });
            commit.plan(plan.ids.clone());
            let expected = if held {
                self.outcome(moment, &mut commit, &plan)?
            } else {
                self.message_stayed(moment, plan.message)?;
                OutcomeRecorded::LeaseLost
            };
            ensure!(
                *answer == expected,
                "the outcome of {} is {answer:?} and must be {expected:?}",
                plan.message
            );
        }
        self.close(moment, commit)
    }

    fn outcome(
        &mut self,
        moment: &Moment<'_>,
        commit: &mut Commit,
        plan: &OutcomePlan,
    ) -> Result<OutcomeRecorded, String> {
        let id = plan.message;
        let unanswered = self.text(id)?.unanswered;
        let given_up: &[_] = &[MessageStatus::Sent, MessageStatus::Undelivered];
        let (path, errors, detail) = match &plan.result {
            HandOver::Taken { simulated } => {
                *self.comebacks.entry(id).or_default() += simulated.len();
                (&given_up[..1], Vec::new(), None)
            }
            HandOver::Submitted { .. } => {
                return Err(format!("{id}: the simulated network gives no ids"));
            }
            HandOver::Abandoned { error, detail } => (given_up, vec![*error], Some(detail.clone())),
            HandOver::Refused { error, detail } if unanswered > 0 => {
                let said = detail.as_deref().unwrap_or(error.message());
                let detail = format!("an earlier attempt may have sent it; {said}");
                (given_up, vec![*error], Some(detail))
            }
            HandOver::Refused { error, detail } => {
                (&[MessageStatus::Failed][..], vec![*error], detail.clone())
            }
            HandOver::GivenBack => {
                self.tally.given_back += 1;
                self.message_told(moment, id, &[])?;
                self.requeue(id, |text| {
                    // Back to where it was, so that nothing that came later goes before it.
                    text.ready_at = text.ready_at.min(plan.at);
                    text.lease = None;
                });
                return Ok(OutcomeRecorded::Retry);
            }
            HandOver::TryLater { detail } => {
                let told = self.text(id)?.attempt < TIMES_TOLD;
                self.turned_away(moment, plan, told.then_some(detail))?;
                return Ok(OutcomeRecorded::Retry);
            }
            HandOver::Unanswered { detail } if unanswered < AGAIN_UNANSWERED => {
                self.turned_away(moment, plan, Some(detail))?;
                self.requeue(id, |text| text.unanswered += 1);
                return Ok(OutcomeRecorded::Retry);
            }
            HandOver::Unanswered { detail } => {
                let detail = format!("{detail}; will not be retried");
                (given_up, vec![ErrorCode::NetworkError], Some(detail))
            }
        };
        self.tally.doubtful += u64::from(path == given_up);
        let step = MessageStep { path, at: plan.at, errors: &errors, detail: detail.as_deref() };
        self.message_moved(moment, commit, id, step)?;
        Ok(OutcomeRecorded::Done(path[path.len() - 1]))
    }

    /// The message is retried within 5 s, then after doubling intervals up to 5 minutes, and
    /// claimed once more when it is no longer valid. Its history shows the first few retries.
    fn turned_away(
        &mut self,
        moment: &Moment<'_>,
        plan: &OutcomePlan,
        told: Option<&String>,
    ) -> Check {
        let id = plan.message;
        let text = self.text(id)?;
        let factor = 1_u32.checked_shl(text.attempt.min(20)).unwrap_or(u32::MAX);
        let delay = FIRST_RETRY.saturating_mul(factor).min(LONGEST_RETRY);
        let ready_at = plan.at.plus(delay).min(text.expires_at);
        let line = |detail| TimelineEntry {
            status: MessageStatus::Sending,
            detail: Some(format!("{detail}; will be retried")),
            at: plan.at,
        };
        let must: Vec<_> = told.map(line).into_iter().collect();
        self.message_told(moment, id, &must)?;
        self.requeue(id, |text| {
            text.ready_at = ready_at;
            text.lease = None;
            text.attempt += 1;
        });
        Ok(())
    }
}

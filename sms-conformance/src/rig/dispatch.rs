//! Claims and outcomes, as a worker makes them.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use sms_core::account::Account;
use sms_core::dispatch::{
    ClaimPlan, Claimed, FollowUp, HeldMessage, LEASE, Lease, LeaseToken, OutcomePlan,
    OutcomeRecorded, Turns, Wanted,
};
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, Message, MessageStatus};
use sms_core::random::Random;
use sms_core::route::{HandOver, Look, OutboundMessage, RouteName, Simulated};
use sms_core::sending::SendPlan;
use sms_core::sending::request::SendRequest;
use sms_core::sending::settle::Sent;
use sms_core::time::Timestamp;
use sms_core::upkeep::Due;

use super::{Rig, person};

/// More than any scenario has.
const ALL: usize = 10_000;

/// What a worker holds after a claim.
#[derive(Debug, Clone)]
pub struct Hand {
    /// The hold it has them under.
    pub token: LeaseToken,
    /// The messages, the longest due first.
    pub messages: Vec<OutboundMessage>,
    /// How many fell due but had to fail.
    pub failed: u32,
    /// How many fell due that may have been sent, and were given up.
    pub given_up: u32,
}

impl Hand {
    /// The same messages, looked at at this time.
    pub fn looked_at(&self, time: Timestamp) -> Vec<OutboundMessage> {
        let again =
            |text: &OutboundMessage| OutboundMessage { look: Look::at(time), ..text.clone() };
        self.messages.iter().map(again).collect()
    }

    /// Which messages they are.
    pub fn ids(&self) -> Vec<MessageId> {
        self.messages.iter().map(|text| text.message).collect()
    }
}

/// The route took a message.
pub fn taken() -> HandOver {
    taken_with([])
}

/// A simulated route took a message, and something will come back.
pub fn taken_with(simulated: impl Into<Vec<Simulated>>) -> HandOver {
    HandOver::Taken { simulated: simulated.into() }
}

/// The network refused a message.
pub fn refused() -> HandOver {
    HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail: None }
}

/// The network never answered.
pub fn unanswered() -> HandOver {
    HandOver::Unanswered { detail: "no answer came".to_owned() }
}

/// The network was too busy for a message.
pub fn try_later() -> HandOver {
    HandOver::TryLater { detail: "throttled by the network".to_owned() }
}

impl Rig {
    /// A lease from now on, under a new token.
    pub fn lease(&self) -> Lease {
        Lease { token: self.token(), until: self.now().plus(LEASE) }
    }

    /// A token that no other worker has.
    pub fn token(&self) -> LeaseToken {
        let random = self.random();
        LeaseToken((u128::from(random.next_u64()) << 64) | u128::from(random.next_u64()))
    }

    /// A request to claim up to `limit` messages.
    pub fn claim_plan(&self, limit: usize) -> ClaimPlan {
        let wanted = Wanted::AllBut(Vec::new());
        let default_route = RouteName::new("simulator");
        let (at, lease, ids) = (self.now(), self.lease(), self.ids());
        let turns = Turns::default();
        ClaimPlan { at, limit, lease, wanted, turns, default_route, ids }
    }

    /// Claims up to `limit` messages, which come from [`our_number`](super::our_number) unless the
    /// scenario says otherwise.
    pub async fn claim(&self, limit: usize) -> Hand {
        self.provide_our_number().await;
        self.claim_as_it_is(limit).await
    }

    /// Claims up to `limit` messages with no numbers but those that the scenario made.
    pub async fn claim_as_it_is(&self, limit: usize) -> Hand {
        let plan = self.claim_plan(limit);
        let (token, look) = (plan.lease.token, Look::at(plan.at));
        let claimed = self.store().dispatch_claim(plan).await.expect("messages are claimed");
        let Claimed { messages, held, failed, given_up, cancelled, turns: _ } = claimed;
        let outbound: Vec<_> = held.iter().map(|it| it.outbound(look.clone())).collect();
        assert_eq!(messages, outbound, "the worker knows what it claims");
        self.know(held);
        let fell_due = messages.len() + (failed + given_up + cancelled) as usize;
        assert!(fell_due <= limit, "a claim takes more than it may");
        Hand { token, messages, failed, given_up }
    }

    /// Commits a send as held by a worker from the start. Returns the answer, and what the worker
    /// holds.
    pub async fn send_held(&self, account: &Account, request: &SendRequest) -> (Sent, Hand) {
        self.provide_our_number().await;
        let plan = self.held_plan(account, request);
        let token = plan.held.expect("the plan is held").token;
        let look = Look::at(plan.at);
        let held = plan.held_messages();
        let sent = self.accept(plan).await.expect("the send is accepted");
        let messages = held.iter().map(|it| it.outbound(look.clone())).collect();
        self.know(held);
        (sent, Hand { token, messages, failed: 0, given_up: 0 })
    }

    /// Plans a live send that a worker holds from the start.
    pub fn held_plan(&self, account: &Account, request: &SendRequest) -> SendPlan {
        let mut plan = self.plan(account, request);
        assert!(plan.is_due(), "only what is due can be held");
        plan.hold(self.claim_plan(1).lease);
        plan
    }

    /// Remembers what a worker holds, so that its outcomes include it.
    fn know(&self, held: Vec<HeldMessage>) {
        let known = held
            .into_iter()
            .filter_map(|it| Some(((it.entry.lease?, it.message.id), Arc::new(it))));
        self.held().extend(known);
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<(LeaseToken, MessageId), Arc<HeldMessage>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims every message that is due.
    pub async fn claim_all(&self) -> Hand {
        self.claim(ALL).await
    }

    /// The outcome of one submission, of a message claimed at this moment.
    pub fn outcome(&self, message: MessageId, token: LeaseToken, result: HandOver) -> OutcomePlan {
        let (claimed_at, at) = (self.now(), self.now());
        let held = self.held().get(&(token, message)).cloned();
        OutcomePlan { message, token, claimed_at, result, at, held, ids: self.ids() }
    }

    /// Records the outcome of one submission.
    pub async fn record(
        &self,
        message: MessageId,
        token: LeaseToken,
        result: HandOver,
    ) -> OutcomeRecorded {
        self.record_all(vec![self.outcome(message, token, result)]).await.remove(0)
    }

    /// Records several outcomes in one call.
    pub async fn record_all(&self, plans: Vec<OutcomePlan>) -> Vec<OutcomeRecorded> {
        let wanted = plans.len();
        let recorded = self.store().dispatch_record(plans).await.expect("outcomes are recorded");
        assert_eq!(recorded.len(), wanted, "every outcome has its answer");
        recorded
    }

    /// Records the same outcome for all that a worker holds.
    pub async fn finish(&self, hand: &Hand, result: &HandOver) -> Vec<OutcomeRecorded> {
        let plan = |text: &OutboundMessage| self.outcome(text.message, hand.token, result.clone());
        self.record_all(hand.messages.iter().map(plan).collect()).await
    }

    /// Submits every message that is due.
    pub async fn leave_all(&self) {
        let hand = self.claim_all().await;
        for recorded in self.finish(&hand, &taken()).await {
            assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Sent));
        }
    }

    /// Sends one live message and submits it. Returns the message as it is then.
    pub async fn message_that_left(&self, account: &Account, to: u16) -> Message {
        let id = self.text(account, to).await.id;
        self.leave_all().await;
        let message = self.message(account, id).await;
        assert_eq!((message.status, message.to), (MessageStatus::Sent, person(to)));
        message
    }

    /// Sends one live message, has it leave, and has `simulated` come back for it.
    pub async fn message_that_brings(
        &self,
        account: &Account,
        to: u16,
        simulated: impl Into<Vec<Simulated>>,
    ) -> Message {
        let id = self.text(account, to).await.id;
        let hand = self.claim_all().await;
        self.finish(&hand, &taken_with(simulated)).await;
        self.message(account, id).await
    }

    /// Simulated comebacks that are due now.
    pub async fn follow_ups(&self) -> Vec<FollowUp> {
        let due = self.store().follow_ups_due(self.now(), ALL).await;
        due.expect("follow-ups are read")
    }

    /// When the next message can be claimed.
    pub async fn next_dispatch(&self) -> Option<Timestamp> {
        self.store().next(Due::Messages).await.expect("the queue is read")
    }
}

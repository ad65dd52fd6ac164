//! Sends, through the real planning, and the messages they make.

use std::collections::BTreeSet;
use std::fmt;

use sms_core::account::{Account, Mode};
use sms_core::change::cancel::CancelPlan;
use sms_core::dispatch::VALIDITY;
use sms_core::ids::{AccountId, MessageId};
use sms_core::link::LinkBase;
use sms_core::message::{Message, MessageFilter, MessageStatus, TimelineEntry};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::sending::IdempotencyKey;
use sms_core::sending::plan::{Codes, PlanFacts, SendPlan, Shortening, plan};
use sms_core::sending::recipients::Recipients;
use sms_core::sending::request::SendRequest;
use sms_core::sending::settle::{SendRefused, Sent};
use sms_core::store::CommitError;

use super::{Rig, our_number, person, read_all};

/// A request to send these people a message; it costs one credit each.
pub fn request(people: impl IntoIterator<Item = u16>) -> SendRequest {
    request_with_body(people, "Your table is ready")
}

/// A request to send these people `body`.
pub fn request_with_body(
    people: impl IntoIterator<Item = u16>,
    body: impl Into<String>,
) -> SendRequest {
    let numbers = people.into_iter().map(person);
    numbers.fold(SendRequest::new(body), |request, number| request.to(number.to_string()))
}

/// An idempotency key, 1 to 200 characters.
pub fn key(text: &str) -> IdempotencyKey {
    text.parse().expect("1 to 200 printable characters")
}

/// A request to send one person a message under an idempotency key.
pub fn request_with_key(to: u16, text: &str) -> SendRequest {
    request([to]).idempotency_key(key(text))
}

/// Why something was refused; panics when it was not.
pub fn refusal_of<T: fmt::Debug, R: fmt::Debug>(result: Result<T, CommitError<R>>) -> R {
    match result {
        Err(CommitError::Refused(refused)) => refused,
        other => panic!("expected a refusal, not {other:?}"),
    }
}

impl Rig {
    /// Plans a live send.
    pub fn plan(&self, account: &Account, request: &SendRequest) -> SendPlan {
        self.plan_from(our_number(), account, Mode::Live, request)
    }

    /// Plans a test send.
    pub fn test_plan(&self, account: &Account, request: &SendRequest) -> SendPlan {
        self.plan_from(our_number(), account, Mode::Test, request)
    }

    /// Plans a send from this number. No recipient counts as opted out: plans are made from reads
    /// that may be old.
    pub fn plan_from(
        &self,
        from: E164,
        account: &Account,
        mode: Mode,
        request: &SendRequest,
    ) -> SendPlan {
        assert_eq!(request.check(self.now()), [], "the request is well-formed");
        let route = if mode.is_test() { RouteName::test() } else { RouteName::new("simulator") };
        let name = |text: &String| text.parse().expect("a sender name");
        let sender = request.sender.as_ref().map(name);
        let facts = PlanFacts {
            account: account.id,
            settings: &account.settings,
            mode,
            body: &request.body,
            from,
            sender: sender.as_ref(),
            route: &route,
            custom_names: &BTreeSet::new(),
            shortening: Shortening {
                base: &LinkBase::default(),
                codes: Codes::Drawn(&self.shared_random()),
            },
            validity: VALIDITY,
            at: self.now(),
        };
        plan(request, Recipients::of(request), facts, &mut self.ids())
    }

    /// Commits one plan, alone in its call.
    pub async fn accept(&self, plan: SendPlan) -> Result<Sent, CommitError<SendRefused>> {
        self.accept_all(vec![plan]).await.remove(0)
    }

    /// Commits several plans in one call.
    pub async fn accept_all(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>> {
        let wanted = plans.len();
        let answers = self.store().send_accept(plans).await;
        assert_eq!(answers.len(), wanted, "every plan has its answer");
        answers
    }

    /// Sends live messages; panics if the send is refused.
    pub async fn send(&self, account: &Account, request: &SendRequest) -> Sent {
        self.accept(self.plan(account, request)).await.expect("the send is accepted")
    }

    /// Sends test messages; panics if the send is refused.
    pub async fn send_test(&self, account: &Account, request: &SendRequest) -> Sent {
        self.accept(self.test_plan(account, request)).await.expect("the test send is accepted")
    }

    /// Sends one live message.
    pub async fn text(&self, account: &Account, to: u16) -> Message {
        self.send(account, &request([to])).await.messages.remove(0)
    }

    /// A request to cancel a message.
    pub fn cancel_plan(&self, account: &Account, message: MessageId) -> CancelPlan {
        CancelPlan { account: account.id, message, at: self.now(), ids: self.ids() }
    }

    /// One message as it is now.
    pub async fn message(&self, account: &Account, id: MessageId) -> Message {
        self.message_and_timeline(account.id, id).await.0
    }

    /// One message as it is now, with its timeline.
    pub async fn message_and_timeline(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> (Message, Vec<TimelineEntry>) {
        let found = self.store().message_get(account, id).await.expect("the text is read");
        found.expect("the text is there")
    }

    /// Where one message stands.
    pub async fn status(&self, account: &Account, id: MessageId) -> MessageStatus {
        self.message(account, id).await.status
    }

    /// The statuses that a message went through, oldest first.
    pub async fn statuses(&self, account: &Account, id: MessageId) -> Vec<MessageStatus> {
        self.timeline(account, id).await.iter().map(|line| line.status).collect()
    }

    /// The lines of a message's timeline.
    pub async fn timeline(&self, account: &Account, id: MessageId) -> Vec<TimelineEntry> {
        self.message_and_timeline(account.id, id).await.1
    }

    /// All messages of the account that the filter accepts, newest first.
    pub async fn messages(&self, account: AccountId, filter: &MessageFilter) -> Vec<Message> {
        read_all(100, async |page| {
            let page = self.store().message_list(account, filter, page).await;
            page.expect("the messages are read")
        })
        .await
    }
}

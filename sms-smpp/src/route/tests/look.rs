//! Messages that wait in the route for a slow network: what happens meanwhile is obeyed.

use sms_core::account::{AccountChange, AccountStatus};
use sms_core::clock::ManualClock;
use sms_core::opt_out::{OptOut, Via};
use sms_core::route::FRESH_FOR;
use sms_core::service::work::Dispatched;

use super::*;

/// A network that holds one message, and answers when the test says so. The route holds more
/// messages.
struct Slow {
    peer: Peer,
    stage: Stage,
    clock: Arc<ManualClock>,
    waiting: Vec<MessageId>,
    dispatching: JoinHandle<Dispatched>,
}

impl Slow {
    async fn with(messages: usize) -> Self {
        let peer = Peer::start(&[Say::Wait]).await;
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        let settings = peer.settings().window(1).unwrap();
        let stage = Stage::by(clock.clone(), route(settings)).await.ready().await;
        // So it claims more than the window takes.
        stage.route.inner.carrier.answers_at_once();
        let mut waiting = Vec::new();
        for _ in 0..messages {
            waiting.push(stage.send("hello").await);
        }
        let sms = stage.sms.clone();
        let dispatching = tokio::spawn(async move { sms.dispatch_due(100).await.unwrap() });
        until(|| peer.messages().len() == 1).await;
        Self { peer, stage, clock, waiting, dispatching }
    }

    /// The network resumes, and every outcome is recorded.
    async fn answers(&mut self) -> Dispatched {
        self.peer.answer_next();
        let done = (&mut self.dispatching).await.unwrap();
        self.stage.route.inner.carrier.answers_at_once();
        done
    }

    async fn statuses(&self) -> Vec<MessageStatus> {
        let mut all = Vec::new();
        for id in &self.waiting {
            all.push(self.stage.message(*id).await.status);
        }
        all
    }

    /// Another server opts the recipient out: this one does not hear of it.
    async fn opt_out_elsewhere(&self) {
        let phone = parse_any("07700 900123").unwrap();
        let (source, created_at) = (Via::Api.into(), self.clock.now());
        let opt_out = OptOut { phone, source, note: None, created_at };
        let store = self.stage.sms.store();
        let account = self.stage.account.id();
        let _ = store.opt_out_create(account, opt_out, None).await.unwrap();
    }
}

#[tokio::test]
async fn what_waits_for_a_slow_network_is_not_submitted_after_a_stop_on_this_server() {
    let mut slow = Slow::with(5).await;
    slow.stage.account.opt_out_create("07700 900123", None).await.unwrap();
    let done = slow.answers().await;
    assert_eq!((done.claimed, done.sent, done.retried), (5, 1, 4));
    assert_eq!(slow.stage.sms.dispatch_due(100).await.unwrap().failed, 4);
    let failed = MessageStatus::Failed;
    assert_eq!(slow.statuses().await, [MessageStatus::Sent, failed, failed, failed, failed]);
    assert_eq!(slow.peer.messages().len(), 1);
    assert_eq!(slow.stage.account.get().await.unwrap().balance.get(), 99, "the rest is refunded");
}

#[tokio::test]
async fn what_waits_for_a_slow_network_is_not_submitted_after_its_account_was_suspended() {
    let mut slow = Slow::with(3).await;
    let suspended = AccountChange { status: Some(AccountStatus::Suspended), ..Default::default() };
    let id = slow.stage.account.id();
    slow.stage.sms.operator().account_update(id, suspended).await.unwrap();
    slow.answers().await;
    assert_eq!(slow.stage.sms.dispatch_due(100).await.unwrap().failed, 2);
    assert_eq!(slow.peer.messages().len(), 1);
}

#[tokio::test]
async fn what_waits_too_long_is_looked_at_again_and_a_stop_on_another_server_is_found() {
    let mut slow = Slow::with(4).await;
    slow.opt_out_elsewhere().await;
    slow.clock.advance(FRESH_FOR);
    let done = slow.answers().await;
    assert_eq!((done.sent, done.retried), (1, 3));
    assert_eq!(slow.stage.sms.dispatch_due(100).await.unwrap().failed, 3);
    assert_eq!(slow.peer.messages().len(), 1);
}

#[tokio::test]
async fn what_nothing_stands_in_the_way_of_is_submitted_after_another_look_and_tells_nothing() {
    let mut slow = Slow::with(4).await;
    slow.clock.advance(FRESH_FOR);
    slow.answers().await;
    let mut sent = 1;
    sms_test_smsc::until("all to be sent", async || {
        sent += slow.stage.sms.dispatch_due(100).await.unwrap().sent;
        (sent == 4).then_some(())
    })
    .await;
    assert_eq!(slow.statuses().await, [MessageStatus::Sent; 4]);
    for id in &slow.waiting {
        assert_eq!(slow.stage.details(*id).await, [""; 0]);
    }
}

#[tokio::test]
async fn the_segments_of_a_message_that_has_begun_follow_whatever_happens() {
    let peer = Peer::start(&[Say::Wait]).await;
    let stage = Stage::bound_to(&peer).await;
    let id = stage.send(&"long ".repeat(70)).await;
    let sms = stage.sms.clone();
    let dispatching = tokio::spawn(async move { sms.dispatch_due(100).await.unwrap() });
    until(|| peer.messages().len() == 1).await;
    stage.account.opt_out_create("07700 900123", None).await.unwrap();
    peer.answer_next();
    dispatching.await.unwrap();
    assert_eq!((peer.messages().len(), stage.message(id).await.status), (3, MessageStatus::Sent));
}

#[tokio::test]
async fn a_message_that_is_turned_away_all_the_time_is_not_tried_for_ever() {
    let peer = Peer::start(&[Say::Refuse(Status::QUEUE_FULL); 100]).await;
    let mut route = route(peer.settings());
    let patience = Patience { first_part: Duration::ZERO, ..Patience::default() };
    Arc::get_mut(&mut route.inner).unwrap().patience = patience;
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let stage = Stage::by(clock.clone(), route).await.ready().await;
    let id = stage.send("hello").await;
    let dispatching = stage.sms.clone();
    let dispatching = tokio::spawn(async move { dispatching.dispatch_due(10).await.unwrap() });
    until(|| peer.messages().len() == 1).await;
    clock.advance(FRESH_FOR);
    assert_eq!(dispatching.await.unwrap().retried, 1);
    stage.sms.dispatch_due(10).await.unwrap();
    assert_eq!(peer.messages().len(), 3, "of three tries, one was made before");
    let told = stage.details(id).await.pop().unwrap();
    assert!(told.contains("ESME_RMSGQFUL"), "{told}");
}

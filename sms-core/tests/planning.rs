//! Large sends and quotes: what they let run meanwhile, and how many there are at once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use futures_executor::block_on;
use futures_util::FutureExt;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::clock::ManualClock;
use sms_core::contact::CustomValue;
use sms_core::contact::input::ContactInput;
use sms_core::credits::{Change, Credits};
use sms_core::ids::ListId;
use sms_core::list::ListInput;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::sending::settle::Replay;
use sms_core::service::compute::{Compute, Portions, Progress};
use sms_core::service::{AccountHandle, SmsBuilder};
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;

const LISTED: u32 = 20_000;

/// A body that no send to the list is small with.
const BODY: &str = "Hi {first_name} {last_name}";

fn service(settings: impl FnOnce(SmsBuilder) -> SmsBuilder) -> Sms {
    let sms = settings(Sms::builder(MemoryStore::new())).build();
    block_on(sms.operator().number_create(NumberInput::shared("07700 900001"))).unwrap();
    sms
}

/// An account with a list of 20,000 contacts.
fn account_with_list(sms: &Sms) -> (AccountHandle, ListId) {
    account_with_list_of(sms, |_| {})
}

fn account_with_list_of(sms: &Sms, details: impl Fn(&mut ContactInput)) -> (AccountHandle, ListId) {
    let input = NewAccountInput::active("Bistro", 1_000_000);
    let account = block_on(sms.operator().account_create(input)).unwrap();
    let account = sms.account(account.id, Mode::Live);
    let list = block_on(account.list_create(ListInput::new("Guests"))).unwrap().id;
    let number = |n| E164::from_digits(447_700_000_000 + u64::from(n)).unwrap();
    let row = |n| {
        let mut input = ContactInput::new(number(n).to_string());
        details(&mut input);
        input
    };
    let rows = (0..LISTED).map(row).collect();
    let imported = block_on(account.contacts_import(rows, Some(list))).unwrap();
    assert_eq!(imported.added_to_list, LISTED as usize);
    (account, list)
}

fn to_list(list: ListId) -> SendRequest {
    SendRequest::new(BODY).to_list(list)
}

/// How often a future lets other tasks of its thread run before it ends.
fn pauses<T>(future: impl Future<Output = T>) -> (usize, T) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut pauses = 0;
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return (pauses, answer),
            Poll::Pending => pauses += 1,
        }
    }
}

/// Notes what it is given. It runs it only when it may.
#[derive(Debug, Default)]
struct Place {
    jobs: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    gate: Mutex<Vec<Waker>>,
    is_open: AtomicUsize,
}

struct Gate<'a>(&'a Place);

impl Future for Gate<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.gate.lock().unwrap().push(context.waker().clone());
        if self.0.is_open.load(Ordering::SeqCst) > 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Place {
    fn close(&self) {
        self.is_open.store(0, Ordering::SeqCst);
    }

    fn open(&self) {
        self.is_open.store(1, Ordering::SeqCst);
        self.gate.lock().unwrap().drain(..).for_each(Waker::wake);
    }
}

#[async_trait]
impl Compute for Place {
    fn at_once(&self) -> NonZeroUsize {
        NonZeroUsize::new(2).unwrap()
    }

    async fn run(&self, mut portions: Portions) {
        self.jobs.fetch_add(1, Ordering::SeqCst);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        Gate(self).await;
        while portions() == Progress::More {}
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn other_tasks_of_a_thread_run_between_the_portions_of_a_plan() {
    let sms = service(|builder| builder);
    let (account, list) = account_with_list(&sms);
    let (paused, quote) = pauses(account.quote(to_list(list)));
    assert_eq!(quote.unwrap().recipients, LISTED as usize);
    let least = LISTED as usize / 256;
    assert!(paused >= least, "{paused} times, not {least}");
}

#[test]
fn a_large_plan_runs_in_its_place_and_a_small_one_where_it_is_asked_for() {
    let place = Arc::new(Place::default());
    place.open();
    let sms = service(|builder| builder.compute(place.clone()));
    let (account, list) = account_with_list(&sms);
    let to_two = SendRequest::new(BODY).to("07700 900123, 07700 900124");
    block_on(account.send(to_two)).unwrap();
    assert_eq!(place.jobs.load(Ordering::SeqCst), 0);
    let quote = block_on(account.quote(to_list(list))).unwrap();
    let sent = block_on(account.send(to_list(list))).unwrap();
    assert_eq!((quote.recipients, sent.messages.len()), (20_000, 20_000));
    assert_eq!(quote.credits, sent.credits);
    assert!(place.jobs.load(Ordering::SeqCst) > 0);
}

#[test]
fn large_plans_wait_for_each_other_in_all_and_per_account() {
    let place = Arc::new(Place::default());
    let sms = service(|builder| builder.compute(place.clone()));
    let accounts: Vec<(AccountHandle, ListId)> = (0..3).map(|_| account_with_list(&sms)).collect();
    let quote = |n: usize| {
        let (account, list) = accounts[n].clone();
        Box::pin(async move { account.quote(to_list(list)).await })
    };
    let mut quotes: Vec<_> = (0..3).flat_map(|n| [quote(n), quote(n)]).collect();
    for quote in &mut quotes {
        assert!(quote.now_or_never().is_none());
    }
    assert_eq!(place.running.load(Ordering::SeqCst), 2, "of two accounts");
    for _ in 0..7 {
        quotes.push(quote(0));
        assert!(quotes.last_mut().unwrap().now_or_never().is_none());
    }
    let refused = quote(0).now_or_never();
    assert!(matches!(refused, Some(Err(Error::TooManyPlans))), "the ninth that waits: {refused:?}");
    // Small ones do not wait.
    let small = SendRequest::new(BODY).to("07700 900123");
    block_on(accounts[0].0.send(small)).unwrap();
    place.open();
    let answers = block_on(futures_util::future::join_all(quotes));
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(place.most.load(Ordering::SeqCst), 2);
}

#[test]
fn a_replay_of_a_large_send_waits_for_its_turn_and_a_small_one_does_not() {
    let place = Arc::new(Place::default());
    place.open();
    let sms = service(|builder| builder.compute(place.clone()));
    let (account, list) = account_with_list(&sms);
    let large = || to_list(list).idempotency_key("large".parse().unwrap());
    let small =
        || SendRequest::new(BODY).to("07700 900123").idempotency_key("small".parse().unwrap());
    let sent = [large(), small()].map(|request| block_on(account.send(request)).unwrap());
    place.close();
    let mut quote = Box::pin(account.quote(to_list(list)));
    assert!((&mut quote).now_or_never().is_none(), "it has the account's turn");
    let mut waits = Box::pin(account.send(large()));
    assert!((&mut waits).now_or_never().is_none());
    let again = account.send(small()).now_or_never().unwrap().unwrap();
    assert_eq!((again.batch, again.replay), (sent[1].batch, Replay::Repeated));
    place.open();
    assert!(block_on(quote).is_ok());
    let again = block_on(waits).unwrap();
    assert_eq!((again.batch, again.messages.len()), (sent[0].batch, LISTED as usize));
}

#[test]
fn a_plan_that_nobody_waits_for_any_more_ends_and_gives_its_turn_up() {
    let place = Arc::new(Place::default());
    let sms = service(|builder| builder.compute(place.clone()));
    let (account, list) = account_with_list(&sms);
    let mut dropped = Box::pin(account.quote(to_list(list)));
    assert!((&mut dropped).now_or_never().is_none());
    drop(dropped);
    place.open();
    assert_eq!(block_on(account.quote(to_list(list))).unwrap().recipients, 20_000);
}

#[test]
fn a_send_whose_messages_take_too_much_memory_is_refused() {
    let sms = service(|builder| builder);
    let page = CustomValue::Text("a".repeat(490));
    let (account, list) = account_with_list_of(&sms, |input| {
        input.custom.insert("page".to_owned(), Some(page.clone()));
    });
    // 15 links for each contact.
    let links = (0..15).map(|n| format!("http://a.b/{n}/{{page}}{{page}}"));
    let request = SendRequest::new(links.collect::<Vec<_>>().join(" ")).to_list(list).track_links();
    let refused = block_on(account.quote(request));
    let Err(Error::Invalid(fields)) = refused else { panic!("{refused:?}") };
    assert_eq!((fields[0].field.as_str(), fields[0].code), ("list_id", "too_large"));
}

#[test]
fn a_plan_whose_turn_comes_too_late_is_refused() {
    let place = Arc::new(Place::default());
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
    let sms = service(|builder| builder.compute(place.clone()).clock(clock.clone()));
    let (account, list) = account_with_list(&sms);
    let mut first = Box::pin(account.quote(to_list(list)));
    let mut in_time = Box::pin(account.quote(to_list(list)));
    assert!((&mut first).now_or_never().is_none());
    assert!((&mut in_time).now_or_never().is_none());
    clock.advance(Duration::from_secs(20));
    let mut late = Box::pin(account.quote(to_list(list)));
    assert!((&mut late).now_or_never().is_none());
    place.open();
    assert_eq!(block_on(first).unwrap().recipients, 20_000);
    assert_eq!(block_on(in_time).unwrap().recipients, 20_000);
    clock.advance(Duration::from_secs(21));
    let late = block_on(late);
    assert!(matches!(late, Err(Error::TooManyPlansInAll)), "{late:?}");
}

#[test]
fn launches_to_long_lists_let_others_run_and_are_made_one_after_another_for_an_account() {
    let sms = service(|builder| builder);
    let (account, list) = account_with_list(&sms);
    let campaign = || {
        let mut input = CampaignInput::new("Spring", BODY, list);
        input.ignore_quiet_hours = true;
        block_on(account.campaign_create(input)).unwrap().id
    };
    let [first, second] = [campaign(), campaign()];
    let (paused, launched) = pauses(account.campaign_launch(first, LaunchOptions::default()));
    assert_eq!(launched.unwrap().campaign.launch.unwrap().recipients, u64::from(LISTED));
    assert!(paused >= 4, "{paused} times");
    let third = campaign();
    let mut runs = Box::pin(account.campaign_launch(second, LaunchOptions::default()));
    let mut waits = Box::pin(account.campaign_launch(third, LaunchOptions::default()));
    assert!((&mut runs).now_or_never().is_none());
    for _ in 0..100 {
        assert!((&mut waits).now_or_never().is_none(), "until the other is launched");
    }
    assert!(block_on(runs).is_ok());
    assert!(block_on(waits).is_ok());
}

/// What a send to the list costs, less one credit.
fn leave_one_too_few(sms: &Sms, account: &AccountHandle, list: ListId) -> Credits {
    let quote = block_on(account.quote(to_list(list))).unwrap();
    let excess = quote.balance.get() - quote.credits.get() + 1;
    let taken = Change::new(-i64::try_from(excess).unwrap()).unwrap();
    block_on(sms.operator().credits_adjust(account.id(), taken, None)).unwrap();
    quote.credits
}

#[test]
fn a_large_send_that_the_account_cannot_pay_for_is_refused_with_its_whole_price() {
    let sms = service(|builder| builder);
    let (account, list) = account_with_list(&sms);
    let price = leave_one_too_few(&sms, &account, list);
    match block_on(account.send(to_list(list))) {
        Err(Error::InsufficientCredit { needed, balance }) => {
            assert_eq!((needed, balance.get()), (price, price.get() - 1));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_large_send_that_can_be_paid_for_by_the_time_of_its_commit_is_accepted_whole() {
    let place = Arc::new(Place::default());
    place.open();
    let sms = service(|builder| builder.compute(place.clone()));
    let (account, list) = account_with_list(&sms);
    let price = leave_one_too_few(&sms, &account, list);
    place.close();
    let mut send = Box::pin(account.send(to_list(list)));
    assert!((&mut send).now_or_never().is_none());
    let one = Change::new(1).unwrap();
    block_on(sms.operator().credits_adjust(account.id(), one, None)).unwrap();
    place.open();
    let sent = block_on(send).unwrap();
    assert_eq!((sent.messages.len(), sent.credits, sent.balance), (20_000, price, Credits::ZERO));
}

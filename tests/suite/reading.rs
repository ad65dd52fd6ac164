//! Whose reads a store is asked for: accounts take turns.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sms_core::contact::ContactFilter;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, ReadFrom};
use sms_core::ids::ListId;
use sms_core::link::LinkFilter;
use sms_core::message::MessageFilter;
use sms_core::page::{Limit, OffsetRequest, PageRequest};
use sms_core::phone::parse_any;
use sms_core::prelude::*;
use sms_core::service::AccountHandle;
use sms_store_memory::MemoryStore;
use sms_tests::slow_store::SlowStore;
use tokio::task::JoinHandle;

/// A read of an account that is under way.
type Asked = Pin<Box<dyn Future<Output = ()> + Send>>;
/// A read, by the method of the store that it ends in.
type Read = (&'static str, fn(AccountHandle) -> Asked);

/// A read whose answer does not matter.
macro_rules! read {
    ($method:literal, $account:ident => $read:expr) => {
        ($method, |$account: AccountHandle| -> Asked {
            Box::pin(async move {
                let _ = $read.await;
            })
        })
    };
}

const PAGE: PageRequest = PageRequest { limit: Limit::ONE, after: None };

/// Reads that show what they read.
const PAGES: [Read; 18] = [
    read!("api_key_list", account => account.api_key_list()),
    read!("campaign_list", account => account.campaign_list(PAGE)),
    read!("contact_list", account => account.contact_list(&ContactFilter::default(), PAGE)),
    read!("contact_list", account => account.contact_list(&ContactFilter::default()
        .search("07700 900123"), PAGE)),
    read!("conversation_list", account => account.conversation_list(None, None, PAGE)),
    // A word that may be a sender's name is looked up as such.
    read!("conversation_list", account => account.conversation_list(None, Some("smith"), PAGE)),
    read!("custom_names", account => account.contact_fields()),
    read!("endpoint_list", account => account.webhook_list()),
    read!("event_list", account => account.event_list(EventRequest {
        kinds: Kinds::all(), from: ReadFrom::Newest(None), limit: Limit::ONE })),
    read!("keyword_list", account => account.keyword_list(PAGE)),
    read!("link_list", account => account.link_list(LinkFilter::default(), PAGE)),
    read!("list_list", account => account.list_list(PAGE)),
    read!("message_list", account => account.message_list(&MessageFilter::default(), PAGE)),
    read!("message_list", account => account.conversation_get(
        parse_any("07700 900123").expect("a number"))),
    read!("opt_out_list", account => account.opt_out_list(None, OffsetRequest::default())),
    read!("sender_name_list", account => account.sender_name_list()),
    read!("statistics_within", account => account.statistics_timeseries(None)),
    read!("template_list", account => account.template_list(None, PAGE)),
];

/// Reads that look for what they show among other rows.
const SEARCHES: [Read; 7] = [
    read!("contact_list", account => account.contact_list(
        &ContactFilter::default().search("smith"), PAGE)),
    read!("contact_list", account => account.contact_list(
        &ContactFilter { list_id: Some(ListId::from_u128(1)), ..ContactFilter::default() }
            .search("900"), PAGE)),
    // Too long to be a sender's name.
    read!("conversation_list", account => account.conversation_list(
        None, Some("smith of the corner bakery"), PAGE)),
    read!("message_list", account => account.message_list(
        &MessageFilter::default().search("table"), PAGE)),
    read!("message_list", account => account.message_list(
        &MessageFilter::default().status(MessageStatus::Delivered), PAGE)),
    read!("opt_out_list", account => account.opt_out_list(
        Some("rude"), OffsetRequest::default())),
    read!("template_list", account => account.template_list(Some("table"), PAGE)),
];

/// Asks for the same read on so many connections.
async fn ask(read: Read, account: &AccountHandle, count: usize) -> Vec<JoinHandle<()>> {
    let asked = (0..count).map(|_| tokio::spawn(read.1(account.clone()))).collect();
    settle().await;
    asked
}

/// Lets every task go on until it waits.
async fn settle() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

async fn end(store: &SlowStore, asked: Vec<JoinHandle<()>>) {
    store.open();
    for one in asked {
        one.await.unwrap();
    }
    store.close();
}

#[tokio::test]
async fn forty_eight_reads_of_an_account_leave_a_place_to_another_whatever_they_read() {
    let store = Arc::new(SlowStore::new(Arc::new(MemoryStore::new())));
    let sms = Sms::builder(store.clone()).build();
    let operator = sms.operator();
    let mut accounts = Vec::new();
    for name in ["Bistro", "Bakery"] {
        let account = operator.account_create(NewAccountInput::active(name, 100)).await.unwrap();
        accounts.push(sms.account(account.id, Mode::Live));
    }
    let [first, other] = &accounts[..] else { panic!("two accounts") };
    for (reads, at_once) in [(&PAGES[..], 3), (&SEARCHES[..], 1)] {
        for read in reads {
            let mut asked = ask(*read, first, 48).await;
            assert_eq!(store.reading(), [(read.0, at_once)], "{}", read.0);
            // A page of another account is read beside them.
            asked.extend(ask(PAGES[2], other, 1).await);
            let sum: usize = store.reading().iter().map(|(_, count)| count).sum();
            assert_eq!(sum, at_once + 1, "beside {}", read.0);
            end(&store, asked).await;
            assert_eq!(store.reading(), [], "{}", read.0);
        }
    }
}

#[tokio::test]
async fn a_search_that_finds_nothing_takes_a_turn_for_each_ten_thousand_rows() {
    let turns = Arc::new(AtomicUsize::new(0));
    let store = Arc::new(SlowStore::endless(Arc::new(MemoryStore::new()), turns.clone()));
    let sms = Sms::builder(store).build();
    let operator = sms.operator();
    let account = operator.account_create(NewAccountInput::active("Bistro", 0)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let filter = ContactFilter::default().search("nobody");
    let page = account.contact_list(&filter, PAGE).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_some(), "the client goes on");
    assert_eq!(turns.load(Ordering::SeqCst), 20);
}

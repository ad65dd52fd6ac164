//! Reads all lists through both stores, as servers do, and compares what they show. This finds what
//! the rows alone do not: indexes, counters and marks that a store keeps besides.

use sms_core::account::Account;
use sms_core::contact::ContactFilter;
use sms_core::contact::store::CustomNamesWanted;
use sms_core::conversation::{Conversation, ConversationFilter};
use sms_core::credits::ledger::Entry;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, ReadFrom};
use sms_core::event::position::Position;
use sms_core::ids::AccountId;
use sms_core::link::LinkFilter;
use sms_core::message::filter::Search;
use sms_core::message::{Message, MessageFilter, MessageStatus};
use sms_core::number::store::NumbersWanted;
use sms_core::page::{Limit, OffsetRequest, Page, PageRequest};
use sms_core::sender_name::store::NamesWanted;
use sms_core::statistics::Period;
use sms_core::store::{Reads, StoreError};
use sms_core::time::Timestamp;
use sms_core::webhook::store::EndpointsWanted;

use crate::catalogue::TABLES;
use crate::error::{CopyFailed, Side};
use crate::portable::Portable;
use crate::progress::{Phase, Progress, Watch};

/// How many conversations of each account, the newest ones, have their newest messages read too.
const THREADS: usize = 1_000;
/// The end of the time that statistics are compared for: the year 2100.
const END: i64 = 4_102_444_800_000;

/// How much was compared without a difference.
pub(crate) struct Compared {
    pub(crate) accounts: u64,
    pub(crate) items: u64,
}

struct Lists<'a> {
    source: &'a dyn Reads,
    target: &'a dyn Reads,
    watch: &'a mut dyn Watch,
    items: u64,
    total: u64,
}

/// Compares the lists of all accounts, and those that belong to none.
pub(crate) async fn compare(
    source: &dyn Portable,
    target: &dyn Portable,
    watch: &mut dyn Watch,
) -> Result<Compared, CopyFailed> {
    let mut total = 0;
    for table in TABLES.iter().filter(|table| LISTED.contains(&table.name)) {
        total += target.count(table).await?;
    }
    let (source, target) = (source.lists(), target.lists());
    let mut lists = Lists { source, target, watch, items: 0, total };
    let all = "all";
    let accounts =
        lists.pages("accounts", all, async |store, page| store.account_list(page).await).await?;
    lists
        .pages("unrouted messages", all, async |store, page| store.unrouted_list(page).await)
        .await?;
    lists
        .pages("sender names", all, async |store, page| {
            store.sender_names_for_review(None, page).await
        })
        .await?;
    lists.whole("numbers", all, async |store| store.number_list(NumbersWanted::All).await).await?;
    for account in &accounts {
        lists.of_account(account).await?;
        lists.of_messages(account.id).await?;
    }
    let Lists { items, .. } = lists;
    Ok(Compared { accounts: accounts.len() as u64, items })
}

/// The newest messages that the filter accepts. Stores may end a page early where such messages are
/// few, each at another place.
async fn newest(
    store: &dyn Reads,
    of: AccountId,
    filter: &MessageFilter,
) -> Result<Vec<Message>, StoreError> {
    let mut page = PageRequest::default().limit(Limit::EXPORT);
    let mut found = Vec::new();
    loop {
        let Page { items, next } = store.message_list(of, filter, page).await?;
        found.extend(items);
        match next {
            Some(next) if found.len() < Limit::EXPORT.get() => page = page.after(next),
            _ => break,
        }
    }
    found.truncate(Limit::EXPORT.get());
    Ok(found)
}

/// The tables whose rows are items of lists, for the progress.
const LISTED: [&str; 17] = [
    "account",
    "api_key",
    "campaign",
    "contact",
    "contact_list",
    "conversation",
    "delivery",
    "endpoint",
    "keyword",
    "ledger_entry",
    "link",
    "message",
    "number",
    "opt_out",
    "sender_name",
    "template",
    "unrouted",
];

impl Lists<'_> {
    /// Compares all pages of a list, and keeps the items.
    async fn pages<T: PartialEq>(
        &mut self,
        list: &'static str,
        account: impl ToString,
        read: impl AsyncFn(&dyn Reads, PageRequest) -> Result<Page<T>, StoreError>,
    ) -> Result<Vec<T>, CopyFailed> {
        let mut kept = Vec::new();
        self.each(list, account, read, |item| kept.push(item)).await?;
        Ok(kept)
    }

    /// Compares all pages of a list that may be long.
    async fn every<T: PartialEq>(
        &mut self,
        list: &'static str,
        account: impl ToString,
        read: impl AsyncFn(&dyn Reads, PageRequest) -> Result<Page<T>, StoreError>,
    ) -> Result<(), CopyFailed> {
        self.each(list, account, read, drop).await
    }

    /// Compares all pages of a list, and hands each of their items on.
    async fn each<T: PartialEq>(
        &mut self,
        list: &'static str,
        account: impl ToString,
        read: impl AsyncFn(&dyn Reads, PageRequest) -> Result<Page<T>, StoreError>,
        mut item: impl FnMut(T),
    ) -> Result<(), CopyFailed> {
        let mut page = PageRequest::default().limit(Limit::EXPORT);
        loop {
            let ours = read(self.source, page);
            let theirs = read(self.target, page);
            let (ours, theirs) = futures_util::future::join(ours, theirs).await;
            let (ours, theirs) = (ours?, theirs?);
            if ours != theirs {
                return Err(CopyFailed::ListsDiffer { list, account: account.to_string() });
            }
            self.seen(list, ours.items.len());
            ours.items.into_iter().for_each(&mut item);
            match ours.next {
                Some(next) => page = page.after(next),
                None => return Ok(()),
            }
        }
    }

    /// A list that is read whole.
    async fn whole<T: PartialEq>(
        &mut self,
        list: &'static str,
        account: impl ToString,
        read: impl AsyncFn(&dyn Reads) -> Result<T, StoreError>,
    ) -> Result<T, CopyFailed> {
        let ours = read(self.source).await?;
        if ours != read(self.target).await? {
            return Err(CopyFailed::ListsDiffer { list, account: account.to_string() });
        }
        Ok(ours)
    }

    fn seen(&mut self, what: &'static str, items: usize) {
        self.items += items as u64;
        // Some items are on several lists.
        let done = self.items.min(self.total);
        self.watch.moved(Progress { phase: Phase::Reading, what, done, total: self.total });
    }

    async fn of_account(&mut self, account: &Account) -> Result<(), CopyFailed> {
        let of = account.id;
        self.ledger(account).await?;
        self.whole("keys", of, async |store| store.api_key_list(of).await).await?;
        self.whole("numbers", of, async |store| store.number_list(NumbersWanted::HeldBy(of)).await)
            .await?;
        self.whole("sender names", of, async |store| {
            store.sender_name_list(of, NamesWanted::All).await
        })
        .await?;
        self.whole("custom fields", of, async |store| {
            store.custom_names(of, CustomNamesWanted::All).await
        })
        .await?;
        let any = ContactFilter::default();
        self.every("contacts", of, async |store, page| store.contact_list(of, &any, page).await)
            .await?;
        let lists =
            self.pages("lists", of, async |store, page| store.list_list(of, page).await).await?;
        for list in lists {
            let members = ContactFilter::default().list_id(list.id);
            self.every("members", of, async |store, page| {
                store.contact_list(of, &members, page).await
            })
            .await?;
        }
        self.every("templates", of, async |store, page| store.template_list(of, None, page).await)
            .await?;
        self.every("keywords", of, async |store, page| store.keyword_list(of, page).await).await?;
        self.every("campaigns", of, async |store, page| store.campaign_list(of, page).await)
            .await?;
        let any = LinkFilter::default();
        self.every("links", of, async |store, page| store.link_list(of, any, page).await).await?;
        self.opt_outs(of).await?;
        let endpoints = self
            .whole("endpoints", of, async |store| {
                store.endpoint_list(EndpointsWanted::Of(of)).await
            })
            .await?;
        for endpoint in endpoints {
            self.every("deliveries", of, async |store, page| {
                store.delivery_list(of, endpoint.id, page).await
            })
            .await?;
        }
        self.events(of).await?;
        let ever = [Period { from: Timestamp::from_millis(0), to: Timestamp::from_millis(END) }];
        self.whole("statistics", of, async |store| store.statistics_within(of, &ever).await)
            .await?;
        Ok(())
    }

    /// Compares a ledger, and the balance with its sum.
    async fn ledger(&mut self, account: &Account) -> Result<(), CopyFailed> {
        let of = account.id;
        let mut sum = 0;
        let read = async |store: &dyn Reads, page| store.ledger_list(of, page).await;
        self.each("ledger", of, read, |entry: Entry| sum += entry.amount.get()).await?;
        // Both stores have read the same account and the same entries.
        let balance = account.balance.gain().get();
        if sum != balance {
            let side = Side::Source;
            return Err(CopyFailed::Unbalanced { side, account: of.to_string(), balance, sum });
        }
        Ok(())
    }

    /// Compares the event log, with all messages as their events show them.
    async fn events(&mut self, of: AccountId) -> Result<(), CopyFailed> {
        let mut from = ReadFrom::After(Position::START);
        loop {
            let request = EventRequest { kinds: Kinds::all(), from, limit: Limit::EXPORT };
            let found =
                self.whole("events", of, async |store| store.event_list(of, request).await).await?;
            self.seen("events", found.items.len());
            let Some(next) = found.next else { return Ok(()) };
            from = ReadFrom::After(next);
        }
    }

    async fn opt_outs(&mut self, of: AccountId) -> Result<(), CopyFailed> {
        let mut offset = 0;
        loop {
            let part = OffsetRequest::default().limit(Limit::EXPORT).offset(offset);
            let found = self
                .whole("opt-outs", of, async |store| store.opt_out_list(of, None, part).await)
                .await?;
            self.seen("opt-outs", found.items.len());
            offset += found.items.len() as u64;
            if found.items.is_empty() || offset >= found.total {
                return Ok(());
            }
        }
    }

    /// Compares messages: all of them, the newest of each status, and conversations.
    async fn of_messages(&mut self, of: AccountId) -> Result<(), CopyFailed> {
        let any = MessageFilter::default();
        self.every("messages", of, async |store, page| store.message_list(of, &any, page).await)
            .await?;
        for status in MessageStatus::ALL {
            let filter = MessageFilter::default().status(status);
            self.whole("messages by status", of, async |store| newest(store, of, &filter).await)
                .await?;
        }
        self.whole("unread messages", of, async |store| store.unread_total(of).await).await?;
        let any = ConversationFilter::default();
        let mut newest = Vec::new();
        let read = async |store: &dyn Reads, page| store.conversation_list(of, &any, page).await;
        let keep = |conversation: Conversation| {
            if newest.len() < THREADS {
                newest.push(conversation.number);
            }
        };
        self.each("conversations", of, read, keep).await?;
        for number in newest {
            let filter =
                MessageFilter { search: Some(Search::Number(number)), ..MessageFilter::default() };
            let first = PageRequest::default();
            self.whole("threads", of, async |store| store.message_list(of, &filter, first).await)
                .await?;
        }
        Ok(())
    }
}

//! Reading: an account sees all of its data, and no other data.

use std::collections::BTreeSet;

use sms_core::account::Mode;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::{MessageFilter, MessageStatus};
use sms_core::page::{Limit, PageRequest};

use super::caller::Caller;

/// The most pages that are read.
const MOST_PAGES: usize = 8;

impl Caller {
    pub(super) async fn read(&self, account: AccountId, id: MessageId) {
        let answer = self.sms.account(account, Mode::Live).message_get(id).await;
        let owner =
            self.world.with(|state| state.model.messages.get(&id).map(|text| text.last.account));
        let found = self.expect("reading a text", answer, &["not_found"]);
        self.must(found.is_some() == (owner == Some(account)), || {
            format!("{account} reads {found:?} of {owner:?}")
        });
        if let Some(found) = found {
            let (message, lines) = (found.message, found.timeline);
            // Attempts are told as they ended; what the text itself tells has an order.
            let own = lines.iter().filter(|line| line.status != MessageStatus::Sending);
            let ordered = own.clone().zip(own.skip(1)).all(|(one, next)| one.at <= next.at);
            self.must(ordered, || format!("the history of {id} is out of order: {lines:?}"));
            let told = lines.last().map(|line| line.status);
            self.must(told == Some(message.status), || {
                format!("{id} is {} and its history ends with {told:?}", message.status)
            });
        }
    }

    /// Reads by pages: each message once, newest first, without gaps.
    pub(super) async fn list(&self, account: AccountId, limit: u32) {
        let status = self.world.with(|state| {
            let statuses = MessageStatus::ALL;
            if state.dice.percent(50) { state.dice.pick(&statuses) } else { None }
        });
        let filter = MessageFilter { status, ..MessageFilter::default() };
        let before = self.world.with(|state| {
            let own = state.model.accounts.get(&account);
            own.map(|own| own.messages.clone()).unwrap_or_default()
        });
        let handle = self.sms.account(account, Mode::Test);
        let mut seen: Vec<MessageId> = Vec::new();
        let mut page = PageRequest { limit: Limit::new(limit).unwrap_or_default(), after: None };
        for _ in 0..MOST_PAGES {
            let answer = handle.message_list(&filter, page).await;
            let Some(found) = self.expect("listing messages", answer, &[]) else { return };
            for message in &found.items {
                let own = message.account == account;
                let wanted = status.is_none_or(|status| status == message.status);
                self.must(own && wanted, || format!("{account} lists {message:?}"));
            }
            seen.extend(found.items.iter().map(|message| message.id));
            page.after = found.next;
            if found.next.is_none() {
                break;
            }
        }
        self.must(seen.windows(2).all(|pair| pair[0] > pair[1]), || {
            format!("the messages of {account} are listed out of order or twice")
        });
        if status.is_none() {
            let oldest = seen.last().copied().filter(|_| page.after.is_some());
            let seen: BTreeSet<MessageId> = seen.into_iter().collect();
            let passed = oldest.unwrap_or(MessageId::from_u128(0));
            let left_out = before.range(passed..).find(|id| !seen.contains(id));
            self.must(left_out.is_none(), || format!("{left_out:?} of {account} is not listed"));
        }
    }

    /// Reads account, ledger and unrouted messages.
    pub(super) async fn look(&self, id: AccountId) {
        let account = self.sms.account(id, Mode::Live).get().await;
        if let Some(account) = self.expect("reading an account", account, &[]) {
            self.must(account.id == id, || format!("{id} reads account {}", account.id));
        }
        let operator = self.sms.operator();
        let ledger = operator.ledger_list(id, PageRequest::default()).await;
        let ledger = self.expect("reading a ledger", ledger, &[]);
        let entries = ledger.map(|page| page.items).unwrap_or_default();
        let chained = entries.windows(2).all(|pair| {
            pair[1].balance_after.checked_apply(pair[0].amount) == Some(pair[0].balance_after)
        });
        self.must(chained, || format!("the ledger of {id} does not add up: {entries:?}"));
        let unrouted = operator.unrouted_list(PageRequest::default()).await;
        self.expect("reading unrouted messages", unrouted, &[]);
    }
}

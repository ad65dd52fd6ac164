//! The full audit: reads everything in the store by pages and compares it with the model.

use std::collections::BTreeSet;
use std::future::Future;

use sms_core::contact::ContactFilter;
use sms_core::ids::{AccountId, DeliveryId, EndpointId, MessageId};
use sms_core::link::LinkFilter;
use sms_core::message::MessageFilter;
use sms_core::number::store::NumbersWanted;
use sms_core::page::{Limit, OffsetRequest, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::StoreError;
use sms_core::upkeep::Due;
use sms_core::webhook::store::EndpointsWanted;

use super::record::amount;
use super::record::is_open;
use super::{AccountModel, Check, Model, Moment, read};

impl Model {
    /// Compares everything.
    pub fn audit(&self, moment: &Moment<'_>) -> Check {
        let books = moment.books;
        let accounts = all(|page| books.account_list(page))?;
        let ids: BTreeSet<AccountId> = accounts.iter().map(|account| account.id).collect();
        ensure!(ids.iter().eq(self.accounts.keys()), "accounts came or went");
        for (id, account) in &self.accounts {
            self.audit_account(moment, *id, account)?;
        }
        let unrouted = all(|page| books.unrouted_list(page))?;
        let unrouted: BTreeSet<MessageId> = unrouted.iter().map(|text| text.id).collect();
        ensure!(unrouted == self.unrouted, "messages of nobody came or went");
        let numbers = read(books.number_list(NumbersWanted::All))?;
        let numbers = numbers.iter().map(|number| (number.id, (number.phone, number.holder)));
        let own = self.numbers.iter().rev().map(|(id, own)| (*id, (own.phone, own.holder)));
        ensure!(numbers.eq(own), "numbers came or went");
        let names = all(|page| books.sender_names_for_review(None, page))?;
        let own = self.sender_names.values().rev();
        ensure!(names.iter().eq(own), "sender names came, went or changed: {names:?}");
        let rent = self.numbers.values().filter_map(|own| own.next_rent_at).min();
        let next = read(books.next(Due::Rents))?;
        ensure!(next == rent, "the next rent is at {next:?}, not {rent:?}");
        let owed = self.comebacks_owed();
        let next = read(books.next(Due::FollowUps))?;
        ensure!(next.is_some() == (owed > 0), "{owed} comebacks are owed, the next at {next:?}");
        self.check_heads(moment)
    }

    fn audit_account(&self, moment: &Moment<'_>, id: AccountId, own: &AccountModel) -> Check {
        let books = moment.books;
        let ledger = all(|page| books.ledger_list(id, page))?;
        own.compare_all(&ledger).map_err(|what| format!("{id}: {what}"))?;
        let messages = self.audit_messages(moment, id, own)?;
        self.audit_statistics(moment, id, own, &ledger)?;
        let granted: i64 = ledger
            .iter()
            .filter(|entry| matches!(entry.cause.kind().as_str(), "top_up" | "adjustment"))
            .map(|entry| entry.amount.get())
            .sum();
        ensure!(
            granted == own.balance + messages.reserved + messages.spent + own.rented,
            "{id}: {granted} were given, and {} + {} + {} + {} are there",
            own.balance,
            messages.reserved,
            messages.spent,
            own.rented
        );
        let people: Vec<E164> = messages.people.into_iter().collect();
        self.audit_book(moment, id, own)?;
        self.audit_conversations(moment, id, own)?;
        let opted_out = read(books.opt_outs_among(id, &people))?;
        let known = people.iter().filter(|person| own.opt_outs.contains_key(*person));
        ensure!(opted_out.iter().eq(known), "{id}: opt-outs came or went");
        let endpoints = read(books.endpoint_list(EndpointsWanted::Of(id)))?;
        let ids: BTreeSet<EndpointId> = endpoints.iter().map(|endpoint| endpoint.id).collect();
        ensure!(ids == own.endpoints, "{id}: endpoints came or went");
        for endpoint in &endpoints {
            let kept = self.endpoint_of(id, endpoint.id).map(|own| &own.last);
            ensure!(kept == Some(endpoint), "{endpoint:?} is kept for {kept:?}");
            self.audit_deliveries(moment, id, endpoint.id)?;
        }
        self.audit_events(moment, id, &own.log)?;
        self.audit_campaigns(moment, id)
    }

    fn audit_book(&self, moment: &Moment<'_>, id: AccountId, own: &AccountModel) -> Check {
        let books = moment.books;
        let everybody = ContactFilter::default();
        let contacts = all(|page| books.contact_list(id, &everybody, page))?;
        let known = own.book.contacts.values().rev().map(|contact| own.shown(contact));
        ensure!(contacts.into_iter().eq(known), "{id}: contacts came, went or changed");
        let lists = all(|page| books.list_list(id, page))?;
        let known = own.book.lists.keys().rev().filter_map(|list| own.book.list(*list));
        ensure!(lists.into_iter().eq(known), "{id}: lists came, went or changed");
        for (list, (_, members)) in &own.book.lists {
            let filter = ContactFilter { list_id: Some(*list), search: None };
            let found = all(|page| books.contact_list(id, &filter, page))?;
            let found = found.iter().map(|contact| &contact.id);
            ensure!(found.eq(members.iter().rev()), "{id}: {list} has other members");
        }
        let keywords = all(|page| books.keyword_list(id, page))?;
        let known = own.keywords.values().rev();
        ensure!(keywords.iter().eq(known), "{id}: keywords are {keywords:?}");
        let links = all(|page| books.link_list(id, LinkFilter::default(), page))?;
        let known = self.links.values().rev().filter(|link| link.account == id);
        ensure!(links.iter().eq(known), "{id}: links came, went or changed");
        let opt_outs = read(books.opt_out_list(id, None, OffsetRequest::default()))?;
        let known = own.opt_outs.len() as u64;
        ensure!(opt_outs.total == known, "{id}: {} opt-outs, not {known}", opt_outs.total);
        Ok(())
    }

    fn audit_messages(
        &self,
        moment: &Moment<'_>,
        id: AccountId,
        own: &AccountModel,
    ) -> Result<Messages, String> {
        let filter = MessageFilter::default();
        let messages = all(|page| moment.books.message_list(id, &filter, page))?;
        let ids: BTreeSet<MessageId> = messages.iter().map(|text| text.id).collect();
        ensure!(ids == own.messages && ids.len() == messages.len(), "{id}: messages came or went");
        let mut sums = Messages::default();
        for text in messages {
            let kept = &self.text(text.id)?.last;
            ensure!(*kept == text, "{text:?} is kept for {kept:?}");
            let credits = amount(text.credits.get());
            if is_open(text.status) {
                sums.reserved += credits;
            } else if text.times.sent_at.is_some() {
                sums.spent += credits;
            }
            sums.people.insert(text.contact_number());
        }
        Ok(sums)
    }

    fn audit_deliveries(&self, moment: &Moment<'_>, account: AccountId, id: EndpointId) -> Check {
        let deliveries = all(|page| moment.books.delivery_list(account, id, page))?;
        let ids: BTreeSet<DeliveryId> = deliveries.iter().map(|delivery| delivery.id).collect();
        let known = self.endpoints.get(&id).map(|endpoint| &endpoint.deliveries);
        ensure!(
            known == Some(&ids),
            "endpoint {id} has deliveries that nothing raised, or lacks some"
        );
        for delivery in &deliveries {
            let kept = &self.delivery(delivery.id)?.last;
            ensure!(kept == delivery, "{delivery:?} is kept for {kept:?}");
        }
        Ok(())
    }
}

/// Totals over an account's messages.
#[derive(Default)]
struct Messages {
    reserved: i64,
    spent: i64,
    people: BTreeSet<E164>,
}

/// Every page of a list.
pub(super) fn all<T, F>(list: impl Fn(PageRequest) -> F) -> Result<Vec<T>, String>
where
    F: Future<Output = Result<Page<T>, StoreError>>,
{
    let mut items = Vec::new();
    let mut after = None;
    loop {
        let page = read(list(PageRequest { limit: Limit::EXPORT, after }))?;
        items.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(items);
        }
    }
}

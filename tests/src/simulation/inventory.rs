//! Reads everything in a store, page by page. Through a twin, this compares every page of both.

use std::future::Future;
use std::time::Duration;

use sms_core::contact::ContactFilter;
use sms_core::contact::store::CustomNamesWanted;
use sms_core::conversation::ConversationFilter;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, ReadFrom};
use sms_core::event::position::Position;
use sms_core::ids::AccountId;
use sms_core::link::LinkFilter;
use sms_core::message::MessageFilter;
use sms_core::number::store::NumbersWanted;
use sms_core::page::{Limit, OffsetRequest, Page, PageRequest};
use sms_core::sender_name::store::NamesWanted;
use sms_core::statistics::Period;
use sms_core::store::{Reads, Store, StoreError};
use sms_core::time::Timestamp;
use sms_core::upkeep::Due;
use sms_core::webhook::store::EndpointsWanted;

/// Reads everything, as of `now`. Returns the number of rows read.
///
/// # Errors
///
/// If the store fails.
pub async fn read_all(store: &dyn Store, now: Timestamp) -> Result<usize, StoreError> {
    let accounts = pages(|page| store.account_list(page)).await?;
    let unrouted = pages(|page| store.unrouted_list(page)).await?;
    let mut count =
        accounts.len() + unrouted.len() + store.number_list(NumbersWanted::All).await?.len();
    count += pages(|page| store.sender_names_for_review(None, page)).await?.len();
    for account in accounts {
        count += read_account(store, account.id, now).await?;
        count += read_people(store, account.id).await?;
        count += read_endpoints(store, account.id).await?;
    }
    store.next(Due::Messages).await?;
    store.next(Due::Deliveries).await?;
    store.next(Due::Replays).await?;
    store.endpoint_list(EndpointsWanted::ReplaysDue { at: now, limit: 100 }).await?;
    store.next(Due::FollowUps).await?;
    store.next(Due::Rents).await?;
    Ok(count)
}

async fn read_account(
    store: &dyn Reads,
    id: AccountId,
    now: Timestamp,
) -> Result<usize, StoreError> {
    store.account_get(id).await?;
    store.account_settings(id).await?;
    store.api_key_list(id).await?;
    let ledger = pages(|page| store.ledger_list(id, page)).await?;
    let wanted = MessageFilter::default();
    let messages = pages(|page| store.message_list(id, &wanted, page)).await?;
    for text in &messages {
        store.message_get(id, text.id).await?;
    }
    let campaigns = pages(|page| store.campaign_list(id, page)).await?;
    let links = pages(|page| store.link_list(id, LinkFilter::default(), page)).await?;
    let hours = |hours: u64| now.minus(Duration::from_hours(hours));
    let later = now.plus(Duration::from_millis(1));
    let periods = [
        Period { from: Timestamp::from_millis(0), to: later },
        Period { from: hours(1), to: later },
        Period { from: hours(100), to: hours(3).plus(Duration::from_millis(1_234)) },
    ];
    store.statistics_within(id, &periods).await?;
    let events = read_events(store, id).await?;
    Ok(ledger.len() + messages.len() + campaigns.len() + links.len() + events)
}

async fn read_events(store: &dyn Reads, id: AccountId) -> Result<usize, StoreError> {
    let ends = store.event_ends(vec![id]).await?;
    let (kinds, limit) = (Kinds::all(), Limit::default());
    let (mut count, mut from) = (0, ReadFrom::After(Position::START));
    loop {
        let page = store.event_list(id, EventRequest { kinds, from, limit }).await?;
        for logged in &page.items {
            store.event_get(id, logged.event.id).await?;
            count += usize::from(ends.iter().any(|end| logged.position <= *end));
        }
        let Some(next) = page.next else { return Ok(count) };
        from = ReadFrom::After(next);
    }
}

async fn read_people(store: &dyn Reads, id: AccountId) -> Result<usize, StoreError> {
    let everybody = ContactFilter::default();
    let contacts = pages(|page| store.contact_list(id, &everybody, page)).await?;
    for contact in &contacts {
        store.contact_get(id, contact.id).await?;
    }
    store.custom_names(id, CustomNamesWanted::All).await?;
    let lists = pages(|page| store.list_list(id, page)).await?;
    for list in &lists {
        let filter = ContactFilter { list_id: Some(list.id), search: None };
        pages(|page| store.contact_list(id, &filter, page)).await?;
    }
    let wanted = ConversationFilter::default();
    let conversations = pages(|page| store.conversation_list(id, &wanted, page)).await?;
    store.unread_total(id).await?;
    let keywords = pages(|page| store.keyword_list(id, page)).await?;
    let templates = pages(|page| store.template_list(id, None, page)).await?;
    let names = store.sender_name_list(id, NamesWanted::All).await?;
    let opt_outs = store.opt_out_list(id, None, OffsetRequest::default()).await?;
    let people = contacts.len() + conversations.len() + opt_outs.items.len();
    Ok(people + lists.len() + keywords.len() + templates.len() + names.len())
}

async fn read_endpoints(store: &dyn Reads, id: AccountId) -> Result<usize, StoreError> {
    let endpoints = store.endpoint_list(EndpointsWanted::Of(id)).await?;
    let mut count = endpoints.len();
    for endpoint in endpoints {
        count += pages(|page| store.delivery_list(id, endpoint.id, page)).await?.len();
    }
    Ok(count)
}

/// Every page of a list.
async fn pages<T, F>(list: impl Fn(PageRequest) -> F) -> Result<Vec<T>, StoreError>
where
    F: Future<Output = Result<Page<T>, StoreError>>,
{
    let mut items = Vec::new();
    let mut after = None;
    loop {
        let page = list(PageRequest { limit: Limit::default(), after }).await?;
        items.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(items);
        }
    }
}

//! An account's event log as one list, and the pages that a store must make of it.

use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventPage, EventRequest, LoggedEvent, ReadFrom};
use sms_core::event::position::Position;
use sms_core::event::store::ReadsEvents;
use sms_core::ids::AccountId;
use sms_core::page::Limit;
use sms_core::store::StoreError;

/// Reads the log of an account from its beginning to its end.
///
/// # Errors
///
/// If the store fails.
pub async fn whole_log(
    store: &dyn ReadsEvents,
    account: AccountId,
) -> Result<Vec<LoggedEvent>, StoreError> {
    let (mut log, mut after) = (Vec::new(), Position::START);
    loop {
        let (kinds, from, limit) = (Kinds::all(), ReadFrom::After(after), Limit::EXPORT);
        let page = store.event_list(account, EventRequest { kinds, from, limit }).await?;
        log.extend(page.items);
        let Some(next) = page.next else { return Ok(log) };
        after = next;
    }
}

/// A page of one event of any kind.
pub fn first_request(from: ReadFrom) -> EventRequest {
    EventRequest { kinds: Kinds::all(), from, limit: Limit::ONE }
}

/// The first event that an account's log has from here, in the direction of `from`.
///
/// # Errors
///
/// If the store fails.
pub async fn first_event(
    store: &dyn ReadsEvents,
    account: AccountId,
    from: ReadFrom,
) -> Result<Option<LoggedEvent>, StoreError> {
    Ok(store.event_list(account, first_request(from)).await?.items.pop())
}

/// The page that a store with this log must answer.
pub fn page_of(log: Vec<LoggedEvent>, request: EventRequest) -> EventPage {
    let EventRequest { kinds, from, limit } = request;
    let wanted = |logged: &LoggedEvent| {
        let beyond = match from {
            ReadFrom::After(after) => logged.position > after,
            ReadFrom::Newest(before) => before.is_none_or(|before| logged.position < before),
        };
        beyond && kinds.contains(logged.event.data.kind())
    };
    let mut items: Vec<LoggedEvent> = log.into_iter().filter(wanted).collect();
    if matches!(from, ReadFrom::Newest(_)) {
        items.reverse();
    }
    let more = items.len() > limit.get();
    items.truncate(limit.get());
    let next = items.last().map(|logged| logged.position).filter(|_| more);
    EventPage { items, next }
}

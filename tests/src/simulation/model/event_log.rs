//! The event log: what each commit must add to it, what readers must be shown, and what may be
//! removed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sms_core::event::EventType;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventPage, EventRequest, LoggedEvent, ReadFrom};
use sms_core::event::position::Position;
use sms_core::ids::{AccountId, EventId};
use sms_core::page::Limit;
use sms_core::time::Timestamp;

use super::commit::Owed;
use super::{Check, LogModel, Model, Moment, read};

/// For so long every event is kept.
const THIRTY_DAYS: Duration = Duration::from_hours(30 * 24);
/// Events are removed together with others that are at most so much newer.
const REMOVED_TOGETHER: Duration = Duration::from_secs(10);
/// One event in this many is also read by its id in an audit.
const READ_BY_ID: usize = 7;

impl Model {
    /// The log of an account.
    pub fn log_of(&self, account: AccountId) -> Option<&LogModel> {
        self.accounts.get(&account).map(|own| &own.log)
    }

    /// Checks that a commit added just these events to the logs, in their order. Returns their
    /// entries in the same order.
    pub(super) fn check_log(
        &mut self,
        moment: &Moment<'_>,
        owed: &[&Owed],
    ) -> Result<Vec<LoggedEvent>, String> {
        let mut wanted: BTreeMap<AccountId, Vec<usize>> = BTreeMap::new();
        for (index, event) in owed.iter().enumerate() {
            wanted.entry(event.account).or_default().push(index);
        }
        let others = self.accounts.iter().filter(|(id, _)| !wanted.contains_key(*id));
        let ends = others.map(|(id, own)| (*id, own.log.end())).collect();
        let grown = read(moment.log.events_after(ends))?;
        ensure!(grown.is_empty(), "events of {grown:?} were logged that nothing raised");
        let mut entries = Vec::new();
        for (account, indices) in wanted {
            let own = self.accounts.get_mut(&account).ok_or("an account vanished")?;
            let from = ReadFrom::After(own.log.end());
            let found = pages(moment, account, Kinds::all(), from, Limit::EXPORT)?;
            ensure!(
                found.len() == indices.len(),
                "{} events made {} entries in the log of {account}",
                indices.len(),
                found.len()
            );
            for (index, logged) in indices.into_iter().zip(found) {
                check_entry(&logged, owed[index], own.log.end())?;
                let id = logged.event.id;
                ensure!(own.log.push(logged.clone()), "two events have the id {id}");
                self.tally.events += 1;
                entries.push((index, logged));
            }
        }
        entries.sort_unstable_by_key(|(index, _)| *index);
        Ok(entries.into_iter().map(|(_, logged)| logged).collect())
    }

    /// Checks a page that somebody read: each event is where it was from the beginning, unchanged,
    /// and the page is in the order asked for.
    pub fn saw_event_page(
        &self,
        account: AccountId,
        request: EventRequest,
        page: &EventPage,
    ) -> Check {
        let EventRequest { kinds, from, limit } = request;
        ensure!(page.items.len() <= limit.get(), "a page of {limit:?} has {}", page.items.len());
        let mut last = None;
        for logged in &page.items {
            self.check_shown(account, logged)?;
            let (kind, position) = (logged.event.data.kind(), logged.position);
            ensure!(kinds.contains(kind), "a page of {kinds:?} has {kind}");
            let follows = match from {
                ReadFrom::After(after) => position > last.unwrap_or(after),
                ReadFrom::Newest(before) => last.or(before).is_none_or(|last| position < last),
            };
            ensure!(follows, "the page of {request:?} has {position:?} after {last:?}");
            last = Some(position);
        }
        Ok(())
    }

    /// Somebody read an event by its id.
    pub fn saw_event(
        &self,
        account: AccountId,
        id: EventId,
        answer: Option<&LoggedEvent>,
    ) -> Check {
        if let Some(logged) = answer {
            return self.check_shown(account, logged);
        }
        let own = self.log_of(account).and_then(|log| log.find(id));
        let there = own.is_some_and(|entry| !entry.removed);
        ensure!(!there, "event {id} of {account} is not found");
        Ok(())
    }

    fn check_shown(&self, account: AccountId, logged: &LoggedEvent) -> Check {
        let own = self.log_of(account).and_then(|log| log.find(logged.event.id));
        let own = own.ok_or_else(|| format!("{account} is shown {logged:?}, not of its log"))?;
        ensure!(own.logged == *logged, "{logged:?} is shown for {:?}", own.logged);
        ensure!(!own.removed, "event {} is shown again", logged.event.id);
        Ok(())
    }

    /// Old events were removed.
    pub fn saw_events_tidied(
        &mut self,
        moment: &Moment<'_>,
        before: Timestamp,
        limit: usize,
        answer: usize,
    ) -> Check {
        ensure!(
            before <= moment.now.minus(THIRTY_DAYS),
            "events are removed that were raised until {before}"
        );
        ensure!(answer <= limit, "{answer} rows were removed, of {limit}");
        let mut gone = Vec::new();
        for (account, own) in &mut self.accounts {
            let from = ReadFrom::After(Position::START);
            let left = pages(moment, *account, Kinds::all(), from, Limit::EXPORT)?;
            let ids: BTreeSet<EventId> = left.iter().map(|logged| logged.event.id).collect();
            let kept = own.log.kept().map(|logged| logged.event.id);
            let removed: Vec<EventId> = kept.filter(|id| !ids.contains(id)).collect();
            for id in removed {
                let raised = id.timestamp();
                ensure!(
                    raised < before,
                    "event {id} was removed: it was raised at {raised}, not before {before}"
                );
                own.log.remove(id);
                gone.push(id);
            }
            let same = own.log.kept().eq(left.iter());
            ensure!(same, "the log of {account} changed when old events were removed");
            let oldest = own.log.kept().map(|logged| logged.event.id.timestamp()).min();
            let old = oldest.is_some_and(|oldest| oldest < before.minus(REMOVED_TOGETHER));
            ensure!(answer == limit || !old, "{account} still has an event from {oldest:?}");
        }
        self.tally.events_removed += gone.len() as u64;
        ensure!(
            gone.len() >= answer && (answer > 0 || gone.is_empty()),
            "{answer} rows were removed, with {} events",
            gone.len()
        );
        Ok(())
    }

    /// Compares the whole log of an account, read in both directions and by kind.
    pub(super) fn audit_events(&self, moment: &Moment<'_>, id: AccountId, own: &LogModel) -> Check {
        let from_start = ReadFrom::After(Position::START);
        let read_all = |kinds, from| pages(moment, id, kinds, from, Limit::default());
        let found = read_all(Kinds::all(), from_start)?;
        if let Some((is, must)) = found.iter().zip(own.kept()).find(|(is, must)| is != must) {
            return Err(format!("{is:?} is logged, and must be {must:?}"));
        }
        let (is, must) = (found.len(), own.kept().count());
        ensure!(is == must, "the log of {id} has {is} events, and must have {must}");
        let back = read_all(Kinds::all(), ReadFrom::Newest(None))?;
        ensure!(back.iter().eq(found.iter().rev()), "{id} has another log when read backwards");
        for kind in EventType::SUBSCRIBABLE {
            let of_kind = read_all(Kinds::from_iter([kind]), from_start)?;
            let must = found.iter().filter(|logged| logged.event.data.kind() == kind);
            ensure!(of_kind.iter().eq(must), "{id} has other events when read by {kind}");
        }
        for logged in found.iter().step_by(READ_BY_ID) {
            let of = logged.event.id;
            let by_id = read(moment.log.event_get(id, of))?;
            ensure!(by_id.as_ref() == Some(logged), "{by_id:?} is found for {logged:?}");
            let another = self.accounts.keys().find(|other| **other != id);
            let leaked = another.map(|other| read(moment.log.event_get(*other, of))).transpose()?;
            ensure!(leaked.flatten().is_none(), "event {of} of {id} is found for another");
        }
        Ok(())
    }
}

/// Checks a new entry against the event that was raised, and that it comes last.
fn check_entry(logged: &LoggedEvent, owed: &Owed, end: Position) -> Check {
    let LoggedEvent { position, event } = logged;
    ensure!(*position > end, "{position:?} was given to an event after {end:?}");
    ensure!(event.account == owed.account, "{event:?} is in the log of {}", owed.account);
    owed.check_body(event.id, event.body().as_str())
}

/// Every event in a direction, page by page.
fn pages(
    moment: &Moment<'_>,
    account: AccountId,
    kinds: Kinds,
    mut from: ReadFrom,
    limit: Limit,
) -> Result<Vec<LoggedEvent>, String> {
    let mut items: Vec<LoggedEvent> = Vec::new();
    loop {
        let page = read(moment.log.event_list(account, EventRequest { kinds, from, limit }))?;
        items.extend(page.items);
        let Some(next) = page.next else { return Ok(items) };
        let (on, goes_on) = match from {
            ReadFrom::After(after) => (ReadFrom::After(next), next > after),
            ReadFrom::Newest(before) => {
                (ReadFrom::Newest(Some(next)), before.is_none_or(|before| next < before))
            }
        };
        ensure!(goes_on, "the page of {account} from {from:?} is followed by {next:?}");
        from = on;
    }
}

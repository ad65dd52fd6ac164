use super::*;
use crate::event::row::{EventRow, ROW_EVENTS, rows};
use crate::event::{EventData, EventType, LinkClick, Raised};
use crate::ids::{AccountId, IdSource, Ids, KeywordId};
use crate::keyword::reply_limit::{PauseReason, RepliesPaused};
use crate::message::{ErrorCode, Message, MessageStatus};
use crate::opt_out::{OptOut, OptOutSource};
use crate::random::SeededRandom;
use crate::samples::{account_id, ids, link, message, millis, now, person};

fn raised(events: Vec<Event>) -> Raised {
    Raised { events, ids: ids() }
}

fn sent(ids: &mut Ids) -> Event {
    let data = EventData::MessageSent(Box::new(message(MessageStatus::Sent)));
    Event::new(account_id(), data, now(), ids)
}

fn read(row: &EventRow) -> Vec<Kept> {
    bytes::read(&row.events).expect("the row was just made")
}

fn one_of_each_kind() -> [EventData; 7] {
    let link = link();
    let click = LinkClick {
        link_id: link.id,
        code: link.code.as_str().to_owned(),
        url: "https://example.com/menu?q=\"ü\"".to_owned(),
        message_id: Some(link.message),
        campaign_id: None,
        contact_number: Some(person()),
        clicks: 7,
        clicked_at: now(),
    };
    let mut failed = Message { error: Some(ErrorCode::Expired), ..message(MessageStatus::Failed) };
    failed.times.failed_at = Some(now());
    let mut delivered = message(MessageStatus::Delivered);
    delivered.times.delivered_at = Some(now());
    let note = Some("a \"note\"".to_owned());
    let opt_out = OptOut { phone: person(), source: OptOutSource::Sms, note, created_at: now() };
    [
        EventData::MessageSent(Box::new(message(MessageStatus::Sent))),
        EventData::MessageDelivered(Box::new(delivered)),
        EventData::MessageFailed(Box::new(failed)),
        EventData::MessageReceived(Box::new(message(MessageStatus::Received))),
        EventData::OptOutCreated(opt_out),
        EventData::LinkClicked(click),
        EventData::RepliesPaused(RepliesPaused {
            keyword_id: Some(KeywordId::from_u128(7)),
            keyword: Some("PIZZA".to_owned()),
            reason: PauseReason::Balance,
            limit: 20,
            paused_until: millis(60_000),
        }),
    ]
}

#[test]
fn every_kind_of_event_is_read_as_it_was_raised() {
    let mut ids = ids();
    let make = |data| Event::new(account_id(), data, now(), &mut ids);
    let events: Vec<Event> = one_of_each_kind().map(make).into();
    let [row] = &rows(&[raised(events.clone())])[..] else { panic!("they fit into a row") };
    assert_eq!(row.kinds, Kinds::all());
    assert_eq!(row.last_id, events[6].id);
    for (kept, event) in read(row).into_iter().zip(events) {
        assert_eq!(kept.kind(), event.data.kind());
        let message = match &event.data {
            EventData::MessageSent(message)
            | EventData::MessageDelivered(message)
            | EventData::MessageFailed(message)
            | EventData::MessageReceived(message) => Some(&**message),
            _ => None,
        };
        assert_eq!(kept.message(), message.map(|message| message.id));
        assert_eq!(kept.event(account_id(), message), Some(event));
    }
}

#[test]
fn a_cut_or_foreign_row_is_refused() {
    let [row] = &rows(&[raised(vec![sent(&mut ids())])])[..] else { panic!("one row") };
    for length in 1..row.events.len() {
        assert_eq!(bytes::read(&row.events[..length]), None, "{length} bytes");
    }
    assert_eq!(bytes::read(&[0; 41]), None);
    // A kind that endpoints cannot subscribe to is none of a log.
    assert!("webhook.test".parse::<EventType>().is_err());
}

#[test]
fn rows_number_the_events_of_each_account_of_a_commit() {
    let mut ids = ids();
    let other = AccountId::from_u128(2);
    let events: Vec<Event> = (0..100)
        .map(|n| Event { account: if n % 2 == 0 { account_id() } else { other }, ..sent(&mut ids) })
        .collect();
    // As two plans of one commit.
    let raised = [raised(events[..30].to_vec()), raised(events[30..].to_vec())];
    let rows = rows(&raised);
    for account in [account_id(), other] {
        let own: Vec<&EventRow> = rows.iter().filter(|row| row.account == account).collect();
        let places = own.iter().flat_map(|row| (row.first..).zip(read(row)));
        let places: Vec<u32> = places.map(|(place, _)| place).collect();
        assert_eq!(places, (0..50).collect::<Vec<_>>());
        let found: Vec<EventId> =
            own.iter().flat_map(|row| read(row)).map(|kept| kept.id).collect();
        let raised = events.iter().filter(|event| event.account == account);
        assert_eq!(found, raised.map(|event| event.id).collect::<Vec<_>>());
    }
}

#[test]
fn a_row_is_narrow_and_its_ids_are_of_one_moment() {
    let mut ids = ids();
    let many: Vec<Event> = (0..500).map(|_| sent(&mut ids)).collect();
    for row in rows(&[raised(many)]) {
        assert!(row.events.len() < 1_800, "{} bytes", row.events.len());
        assert!(read(&row).len() <= ROW_EVENTS as usize);
    }
    let at = |offset: i64| {
        let source = IdSource::default();
        raised(vec![sent(&mut source.draw(millis(offset), &SeededRandom::new(1)))])
    };
    for (offsets, count) in [(vec![0, 10_000], 1), (vec![0, 10_001], 2), (vec![10_001, 0, 5], 2)] {
        let raised: Vec<Raised> = offsets.iter().copied().map(at).collect();
        assert_eq!(rows(&raised).len(), count, "{offsets:?}");
    }
}

fn stored(commit: u64, count: u32, ids: &mut Ids) -> Vec<StoredRow> {
    let events = (0..count).map(|_| sent(ids)).collect();
    let stored = |EventRow { first, events, .. }| StoredRow { commit, first, events };
    rows(&[raised(events)]).into_iter().map(stored).collect()
}

fn page(rows: &[StoredRow], from: ReadFrom, limit: u32) -> (Vec<Position>, Option<Position>) {
    let limit = Limit::new(limit).expect("1 to 100");
    let mut reading = Reading::new(EventRequest { kinds: Kinds::all(), from, limit });
    let mut rows: Vec<&StoredRow> = rows.iter().collect();
    if matches!(from, ReadFrom::Newest(_)) {
        rows.reverse();
    }
    for row in rows {
        if !reading.row(row).expect("the row was just made") {
            break;
        }
    }
    let (found, next) = reading.finish(Seen::All);
    (found.into_iter().map(|(position, _)| position).collect(), next)
}

fn pages(
    rows: &[StoredRow],
    limit: u32,
    start: ReadFrom,
    on: fn(Position) -> ReadFrom,
) -> Vec<Position> {
    let (mut all, mut from) = (Vec::new(), start);
    loop {
        let (found, next) = page(rows, from, limit);
        all.extend(found);
        let Some(next) = next else { return all };
        from = on(next);
    }
}

#[test]
fn a_page_ends_at_its_limit_and_says_where_to_go_on() {
    let mut ids = ids();
    let commits = [(1, 3), (2, 90), (3, 1)];
    let rows: Vec<StoredRow> =
        commits.into_iter().flat_map(|(commit, n)| stored(commit, n, &mut ids)).collect();
    let forward = pages(&rows, 100, ReadFrom::After(Position::START), ReadFrom::After);
    assert_eq!(forward.len(), 94);
    assert!(forward.is_sorted());
    for limit in [1, 7, 40, 93, 94] {
        let same = pages(&rows, limit, ReadFrom::After(Position::START), ReadFrom::After);
        assert_eq!(same, forward, "{limit}");
        let mut back = pages(&rows, limit, ReadFrom::Newest(None), |at| ReadFrom::Newest(Some(at)));
        back.reverse();
        assert_eq!(back, forward, "{limit}");
    }
    let late = ReadFrom::After(Position { commit: 2, place: 88 });
    assert_eq!(pages(&rows, 9, late, ReadFrom::After).len(), 2);
}

#[test]
fn a_page_that_ends_early_says_how_far_the_store_read() {
    let rows = stored(4, 3, &mut ids());
    let kinds = Kinds::from_iter([EventType::LinkClicked]);
    let request =
        EventRequest { kinds, from: ReadFrom::After(Position::START), limit: Limit::default() };
    let reading = || {
        let mut reading = Reading::new(request);
        assert_eq!(reading.row(&rows[0]), Ok(true));
        reading
    };
    assert_eq!(reading().finish(Seen::Part), (vec![], Some(Position { commit: 4, place: 2 })));
    assert_eq!(reading().finish(Seen::All), (vec![], None));
}

#[test]
fn an_event_is_found_in_its_row_by_its_id() {
    let mut ids = ids();
    let events: Vec<Event> = (0..3).map(|_| sent(&mut ids)).collect();
    let [row] = &rows(&[raised(events.clone())])[..] else { panic!("one row") };
    let row = StoredRow { commit: 9, first: 5, events: row.events.clone() };
    let found = row.find(events[1].id).expect("it reads");
    assert_eq!(found.map(|(position, _)| position), Some(Position { commit: 9, place: 6 }));
    assert_eq!(row.find(EventId::from_u128(1)), Ok(None));
}

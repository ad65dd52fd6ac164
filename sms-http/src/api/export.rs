//! `GET /messages/export`: messages as CSV. They are read and written page by page, so that memory
//! does not grow with the export.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream::{self, Stream, StreamExt};
use poem::Body;
use poem_openapi::ApiResponse;
use poem_openapi::payload::Binary;
use sms_core::error::causes;
use sms_core::ids::AccountId;
use sms_core::message::{Direction, ErrorCode, Message, MessageFilter};
use sms_core::page::{Cursor, Limit, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::service::AccountHandle;
use sms_core::text::cell::{MARK, harmless};
use sms_core::time::{Timestamp, london};

use super::whole_read::to_its_end;
use crate::web::error::ApiError;

/// The most rows of an export.
const MOST_ROWS: usize = 50_000;

/// The times of clocks in London, without the zone, as spreadsheets read them. They come last, so
/// that the columns before them keep their places.
const COLUMNS: [&str; 33] = [
    "id",
    "direction",
    "status",
    "to",
    "from",
    "body",
    "encoding",
    "segments",
    "credits",
    "route",
    "sender",
    "client_ref",
    "batch_id",
    "campaign_id",
    "contact_id",
    "error_code",
    "error_message",
    "test",
    "scheduled_at",
    "sent_at",
    "delivered_at",
    "failed_at",
    "cancelled_at",
    "received_at",
    "created_at",
    "contact_name",
    "scheduled_at_london",
    "sent_at_london",
    "delivered_at_london",
    "failed_at_london",
    "cancelled_at_london",
    "received_at_london",
    "created_at_london",
];

/// The answer of the export.
#[derive(Debug, ApiResponse)]
pub enum CsvExport {
    /// A header row, then one row per message, newest first. Begins with a UTF-8 mark unless `bom`
    /// is false. The times whose names end in `_london` are those of clocks in London.
    #[oai(status = 200, content_type = "text/csv; charset=utf-8")]
    Csv(
        Binary<Body>,
        /// Suggests a file name.
        #[oai(header = "Content-Disposition")]
        String,
    ),
}

/// How many exports an account may have under way.
const MOST_AT_ONCE: usize = 3;

/// The `Retry-After` of a refused export.
const RETRY_AFTER_SECONDS: u64 = 10;

/// The exports that are under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exports {
    by_account: Arc<Mutex<BTreeMap<AccountId, usize>>>,
}

/// An export that is under way, until it is dropped.
#[derive(Debug)]
struct UnderWay {
    account: AccountId,
    exports: Exports,
}

impl Exports {
    fn begin(&self, account: AccountId) -> Result<UnderWay, ApiError> {
        let mut by_account = self.lock();
        let count = by_account.entry(account).or_default();
        if *count >= MOST_AT_ONCE {
            let message = format!(
                "this account already has {MOST_AT_ONCE} exports under way: wait until one ends"
            );
            return Err(ApiError::rate_limited(RETRY_AFTER_SECONDS).with_message(message));
        }
        *count += 1;
        drop(by_account);
        Ok(UnderWay { account, exports: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AccountId, usize>> {
        self.by_account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut by_account = self.exports.lock();
        if let Some(count) = by_account.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                by_account.remove(&self.account);
            }
        }
    }
}

/// How an export begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// With the mark by which spreadsheets know UTF-8.
    Mark,
    /// With the names of the columns, for programs.
    Columns,
}

/// A page of messages, and the names of the contacts whose numbers they have.
struct Named {
    page: Page<Message>,
    names: BTreeMap<E164, String>,
}

/// The state of an export.
enum Progress {
    Page { cursor: Option<Cursor>, rows: usize, page: Named },
    Read { cursor: Cursor, rows: usize },
    Done,
}

/// Streams the messages that match the filter; `None` matches none. The first page is read before
/// the answer starts, so that a failing store leads to an error answer. The export is under way
/// until its last page is taken or its connection ends.
pub(crate) async fn export(
    exports: &Exports,
    account: AccountHandle,
    filter: Option<MessageFilter>,
    beginning: Beginning,
) -> Result<CsvExport, ApiError> {
    let under_way = exports.begin(account.id())?;
    let first = match &filter {
        Some(filter) => page(&account, filter, None).await?,
        None => Named { page: Page { items: Vec::new(), next: None }, names: BTreeMap::new() },
    };
    let mut header = match beginning {
        Beginning::Mark => MARK.as_bytes().to_vec(),
        Beginning::Columns => Vec::new(),
    };
    header.extend(row(COLUMNS.iter().map(|name| (*name).to_owned())));
    let filter = filter.unwrap_or_default();
    let start = Progress::Page { cursor: first.page.next, rows: 0, page: first };
    let pages = pages(account, filter, start).map(move |page| {
        let _held = &under_way;
        page
    });
    let body = stream::once(async move { Ok(header) }).chain(pages);
    Ok(CsvExport::Csv(
        Binary(Body::from_bytes_stream(body)),
        "attachment; filename=\"messages.csv\"".to_owned(),
    ))
}

fn pages(
    account: AccountHandle,
    filter: MessageFilter,
    start: Progress,
) -> impl Stream<Item = Result<Vec<u8>, std::io::Error>> {
    stream::unfold((account, filter, start), |(account, filter, progress)| async move {
        let (cursor, rows, page) = match progress {
            Progress::Done => return None,
            Progress::Page { cursor, rows, page } => (cursor, rows, page),
            Progress::Read { cursor, rows } => {
                let (by, of) = (account.clone(), filter.clone());
                let read = async move { page(&by, &of, Some(cursor)).await };
                match to_its_end(read).await {
                    Ok(page) => (page.page.next, rows, page),
                    Err(error) => {
                        // The status is sent already, so only a broken stream can signal the error.
                        tracing::warn!(error = %causes(&error), "an export failed and was cut off");
                        let cut = std::io::Error::other("the export broke off");
                        return Some((Err(cut), (account, filter, Progress::Done)));
                    }
                }
            }
        };
        let room = MOST_ROWS - rows;
        let Named { page, names } = page;
        let messages = page.items.iter().take(room);
        let chunk: Vec<u8> = messages.flat_map(|message| message_row(message, &names)).collect();
        let rows = rows + page.items.len().min(room);
        let next = match cursor {
            Some(cursor) if rows < MOST_ROWS => Progress::Read { cursor, rows },
            _ => Progress::Done,
        };
        Some((Ok(chunk), (account, filter, next)))
    })
}

/// The messages after a cursor, and the names of their contacts.
async fn page(
    account: &AccountHandle,
    filter: &MessageFilter,
    after: Option<Cursor>,
) -> Result<Named, sms_core::Error> {
    let page = account.message_list(filter, PageRequest { limit: Limit::EXPORT, after }).await?;
    let numbers: BTreeSet<E164> = page.items.iter().map(Message::contact_number).collect();
    let numbers: Vec<E164> = numbers.into_iter().collect();
    let mut names = BTreeMap::new();
    for contact in account.contacts_by_phone(&numbers).await? {
        names.extend(contact.details.full_name().map(|name| (contact.phone, name)));
    }
    Ok(Named { page, names })
}

fn message_row(message: &Message, names: &BTreeMap<E164, String>) -> Vec<u8> {
    let id = |id: Option<String>| id.unwrap_or_default();
    let name = names.get(&message.contact_number()).map_or("", String::as_str);
    // The name of an inbound message is who it came from.
    let sender = message.sender.as_deref().filter(|_| message.direction == Direction::Outbound);
    let times = message.times;
    let moments = [
        message.scheduled_at,
        times.sent_at,
        times.delivered_at,
        times.failed_at,
        times.cancelled_at,
        times.received_at,
        Some(message.created_at()),
    ];
    let utc = moments.map(|at| at.map(|at| at.to_string()).unwrap_or_default());
    let london = moments.map(|at| at.map(london_time).unwrap_or_default());
    let cells = [
        message.id.to_string(),
        message.direction.as_str().to_owned(),
        message.status.to_string(),
        message.to.to_string(),
        message.originator().name().map_or_else(|| message.from.to_string(), harmless),
        harmless(message.body.as_str()),
        message.encoding.as_str().to_owned(),
        message.segments.to_string(),
        message.credits.to_string(),
        harmless(message.route.as_str()),
        harmless(sender.unwrap_or_default()),
        harmless(message.client_ref.as_deref().unwrap_or_default()),
        id(message.batch_id.map(|id| id.to_string())),
        id(message.campaign_id.map(|id| id.to_string())),
        id(message.contact_id.map(|id| id.to_string())),
        message.error.map(ErrorCode::as_str).unwrap_or_default().to_owned(),
        message.error.map(ErrorCode::message).unwrap_or_default().to_owned(),
        message.mode.is_test().to_string(),
    ];
    row(cells.into_iter().chain(utc).chain([harmless(name)]).chain(london))
}

fn london_time(at: Timestamp) -> String {
    london::shown(at).format("%Y-%m-%d %H:%M:%S").to_string()
}

fn row(cells: impl IntoIterator<Item = String>) -> Vec<u8> {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(vec![]);
    // Writing into memory cannot fail.
    let _ = writer.write_record(cells);
    writer.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_three_exports_at_once_and_others_have_their_own() {
        let exports = Exports::default();
        let (ours, theirs) = (AccountId::from_u128(1), AccountId::from_u128(2));
        let mut under_way: Vec<UnderWay> = (0..3).map(|_| exports.begin(ours).unwrap()).collect();
        assert_eq!(exports.begin(ours).unwrap_err().code(), "rate_limited");
        drop(exports.begin(theirs).unwrap());
        under_way.pop();
        under_way.push(exports.begin(ours).unwrap());
        assert!(exports.begin(ours).is_err());
        under_way.clear();
        assert!(exports.lock().is_empty());
    }

    #[test]
    fn rows_are_quoted_as_rfc_4180_says() {
        let written = row(["a,b".to_owned(), "c\"d".to_owned(), "e\nf".to_owned()]);
        assert_eq!(String::from_utf8(written).unwrap(), "\"a,b\",\"c\"\"d\",\"e\nf\"\r\n");
    }
}

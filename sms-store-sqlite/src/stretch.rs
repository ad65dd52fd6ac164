//! The messages from and to a number.
//!
//! Numbers are random, so an index by number would touch a page of its own for nearly every message
//! that is written. This index is kept in stretches of rows: only the newest stretch is written to,
//! and it stays in memory. A page asks the stretches one after another. A message may be in a later
//! stretch than its id says, so each stretch knows its largest id: reading ends when the page is
//! full and no stretch left can hold a newer message.

use sms_core::ids::MessageId;
use sms_core::message::{Message, MessageFilter};
use sms_core::phone::E164;

use crate::db::Db;
use crate::error::SqlResult;
use crate::message_list::{Query, Window};
use crate::message_row::message_columns;
use crate::row::{digits, whole};

/// The messages from and to a number that the filter accepts.
pub(crate) fn list(
    db: &Db,
    account: i64,
    number: E164,
    filter: &MessageFilter,
    window: Window,
) -> SqlResult<Vec<Message>> {
    let stretches = db.all("SELECT no, last_id FROM stretch ORDER BY last_id DESC", [], |c| {
        Ok((c.get::<i64>()?, c.raw_id()?))
    })?;
    let staged = db.staged()?;
    let mut found: Vec<Message> = Vec::new();
    let mut window = window;
    for (stretch, last) in stretches {
        if last <= window.after {
            break;
        }
        if found.len() >= window.limit {
            let oldest = found[window.limit - 1].id.as_u128();
            if last < oldest {
                break;
            }
            // Older ones than the page has already are of no use.
            window.after = window.after.max(oldest);
        }
        let mut query = Query::new(message_columns!(), "message_by_contact");
        query.and("m.account =", account);
        query.and("(m.no >> 16) =", stretch);
        query.and("m.contact_number =", digits(number));
        query.filter(filter);
        query.visible(staged);
        query.within(window);
        found.extend(query.messages(db)?);
        found.sort_unstable_by_key(|message| std::cmp::Reverse(message.id));
        found.truncate(window.limit);
    }
    Ok(found)
}

impl Db {
    /// The newest message from or to a number.
    pub(crate) fn newest_of(&self, account: i64, number: E164) -> SqlResult<Option<MessageId>> {
        self.flush()?;
        let window = Window { after: 0, before: u128::MAX, limit: 1 };
        let found = list(self, account, number, &MessageFilter::default(), window)?;
        Ok(found.first().map(|message| message.id))
    }
}

/// The newest unread inbound messages from a number, about as many as there are.
pub(crate) fn unread_of(
    db: &Db,
    account: i64,
    number: E164,
    unread: u64,
) -> SqlResult<Vec<MessageId>> {
    db.flush()?;
    let stretches = db.all("SELECT no FROM stretch ORDER BY no DESC", [], |c| c.get::<i64>())?;
    let mut found = Vec::new();
    for stretch in stretches {
        let left = unread.saturating_sub(found.len() as u64);
        if left == 0 {
            break;
        }
        found.extend(db.all(
            "SELECT id FROM message INDEXED BY message_by_contact
             WHERE account = ?1 AND (no >> 16) = ?2 AND contact_number = ?3 AND direction = 1
                 AND read_at IS NULL
             ORDER BY id DESC LIMIT ?4",
            [account, stretch, digits(number), whole(left)],
            |c| c.id(),
        )?);
    }
    Ok(found)
}

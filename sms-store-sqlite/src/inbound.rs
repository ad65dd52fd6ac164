//! Inbound messages.

use std::fmt::Write;

use async_trait::async_trait;
use rusqlite::params;
use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::inbound::segment::{
    Gathered, Gathering, GaveUp, GiveUpPlan, LOOKED_AT, SegmentKey, SegmentPlan, SegmentTaken,
    SegmentText, SegmentVerdict,
};
use sms_core::inbound::store::{InboundStore, ReadsInbound};
use sms_core::inbound::{
    InboundFacts, InboundPlan, InboundWrites, OptOutChange, Origin, RoutingFacts, TakenIn, Unrouted,
};
use sms_core::keyword::Listening;
use sms_core::keyword::reply::{MatchFacts, Matched, Reply, Sender, question};
use sms_core::message::{Body, Message};
use sms_core::originator::Originator;
use sms_core::page::{Page, PageRequest};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sms_core::text::{Encoding, Segments, custom_names};
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::page::{before, limit_of};
use crate::row::{Cols, digits, encoding, id, size, time};

#[async_trait]
impl ReadsInbound for SqliteStore {
    async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, StoreError> {
        let rows = self.read("listing unrouted messages", move |db| {
            db.all(
                "SELECT id, from_number, from_name, to_number, body, encoding, segments,
                     received_at FROM unrouted WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
                params![before(page), limit_of(page)],
                |c| {
                    Ok(Unrouted {
                        id: c.id()?,
                        from: originator(c)?,
                        to: c.number()?,
                        body: Body::new(c.get::<String>()?),
                        encoding: c.among(&Encoding::ALL)?,
                        segments: Segments::new(c.count()?),
                        received_at: c.at()?,
                    })
                },
            )
        });
        Ok(Page::of(rows.await?, page.limit, |text: &Unrouted| text.id))
    }
}

#[async_trait]
impl InboundStore for SqliteStore {
    async fn inbound_take(
        &self,
        plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError> {
        let claim = claim.cloned();
        self.write("recording an inbound message", move |db| {
            if let Some(earlier) = db.earlier(claim.as_ref())? {
                return Ok(Once::Earlier(earlier));
            }
            if let Origin::Answer { follow_up, .. } = plan.origin
                && !db.remove_follow_up(follow_up)?
            {
                return Ok(Once::Done(TakenIn::AlreadyDone));
            }
            let taken = take(db, plan.clone())?;
            db.remember(claim.as_ref(), &taken)?;
            Ok(Once::Done(taken))
        })
        .await
    }

    async fn inbound_segment_take(&self, plan: SegmentPlan) -> Result<SegmentTaken, StoreError> {
        self.write("recording a segment", move |db| {
            let key = plan.key();
            Ok(match plan.clone().settle(newest_gathered(db, key)?) {
                SegmentVerdict::Repeat => SegmentTaken::Repeat,
                SegmentVerdict::Keep(gathered) => {
                    put_gathered(db, key, &gathered)?;
                    SegmentTaken::Waiting
                }
                SegmentVerdict::Join(gathered, text) => {
                    put_gathered(db, key, &gathered)?;
                    SegmentTaken::Joined(take(db, *text)?)
                }
            })
        })
        .await
    }

    async fn inbound_segment_give_up(&self, plan: GiveUpPlan) -> Result<GaveUp, StoreError> {
        self.write("giving up on a long message", move |db| {
            let Some((key, gathered)) = oldest_gathered(db, plan.before)? else {
                return Ok(GaveUp::Nothing);
            };
            remove_gathered(db, key, gathered.nth)?;
            Ok(match plan.clone().settle(key, &gathered) {
                Some(text) => GaveUp::TakenIn(take(db, text)?),
                None => GaveUp::Forgotten,
            })
        })
        .await
    }
}

impl SqliteStore {
    pub(crate) async fn last_contacted_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        // Looked for without the writer, as no index has the time: it would change at every send.
        let doing = "tidying who was contacted";
        let old = self.read(doing, move |db| {
            db.all(
                "SELECT number, person FROM last_contacted WHERE at < ?1 LIMIT ?2",
                [time(before), size(limit)],
                |c| Ok((c.get::<i64>()?, c.get::<i64>()?)),
            )
        });
        let old = old.await?;
        if old.is_empty() {
            return Ok(0);
        }
        self.write(doing, move |db| {
            let mut count = 0;
            for (number, person) in &old {
                count += db.run(
                    "DELETE FROM last_contacted WHERE number = ?1 AND person = ?2 AND at < ?3",
                    [*number, *person, time(before)],
                )?;
            }
            Ok(db.note_tidied(count))
        })
        .await
    }
}

fn take(db: &Db, mut plan: InboundPlan) -> SqlResult<TakenIn> {
    let owner = plan.owner(routing_facts(db, &plan)?);
    if let Some((account, mode)) = owner
        && let Some(no) = db.account_no(account)?
    {
        return take_in(db, &mut plan, (account, no), mode);
    }
    let unrouted = plan.unrouted();
    insert_unrouted(db, &unrouted)?;
    Ok(TakenIn::Unrouted(unrouted))
}

fn insert_unrouted(db: &Db, unrouted: &Unrouted) -> SqlResult<()> {
    let Unrouted { id: of, from, to, body, encoding: its_encoding, segments, received_at } =
        unrouted;
    db.run(
        "INSERT INTO unrouted (id, from_number, to_number, body, encoding, segments, received_at,
             from_name)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            id(*of),
            digits(from.number()),
            digits(*to),
            body.as_str(),
            encoding(*its_encoding),
            segments.get(),
            time(*received_at),
            from.name()
        ],
    )?;
    Ok(())
}

fn routing_facts(db: &Db, plan: &InboundPlan) -> SqlResult<RoutingFacts> {
    let (to, from) = (plan.text.to, plan.text.from.number());
    let answered = match plan.origin {
        Origin::Network => None,
        Origin::Answer { to, .. } => db.message(to)?,
    };
    let last_contacted = db.one(
        "SELECT account, at FROM last_contacted WHERE number = ?1 AND person = ?2",
        [digits(to), digits(from)],
        |c| Ok((db.account_id(c.get()?)?, c.at()?)),
    )?;
    Ok(RoutingFacts {
        holder: db.number_of(to)?.map(|number| number.holder),
        released: db.release_of(to)?,
        last_contacted,
        answered: answered.map(|message| (message.account, message.mode)),
    })
}

fn take_in(
    db: &Db,
    plan: &mut InboundPlan,
    (account, no): (AccountId, i64),
    mode: Mode,
) -> SqlResult<TakenIn> {
    let from = plan.text.from.number();
    let facts = InboundFacts {
        account,
        mode,
        opted_out: db.is_opted_out(no, from)?,
        contact: db.contact_of(no, from)?,
        matched: match_facts(db, no, plan)?.map(Box::new),
    };
    let writes = plan.settle(facts);
    write_inbound(db, no, writes)
}

fn write_inbound(db: &Db, account: i64, writes: InboundWrites) -> SqlResult<TakenIn> {
    let InboundWrites { message, timeline, tally, conversation, opt_out, matched, raised } = writes;
    db.insert_message(&message, std::slice::from_ref(&timeline))?;
    db.tally(&tally)?;
    db.receive(account, conversation, message.id)?;
    match opt_out {
        OptOutChange::Keep => {}
        OptOutChange::Add(opt_out) => db.add_opt_out(account, &opt_out)?,
        OptOutChange::Remove(phone) => {
            db.remove_opt_out(account, phone)?;
        }
    }
    let answer = match matched {
        Some(matched) => write_match(db, account, conversation, *matched)?,
        None => None,
    };
    db.raise(vec![raised])?;
    Ok(TakenIn::of(message, answer))
}

/// The facts of a match, if the message matches a keyword of the account.
fn match_facts(db: &Db, account: i64, plan: &InboundPlan) -> SqlResult<Option<MatchFacts>> {
    let (from, to) = (plan.text.from.number(), plan.text.to);
    let Some(word) = plan.word() else { return Ok(None) };
    let Some(keyword) = db.keyword_with(account, &word)? else { return Ok(None) };
    if keyword.listening == Listening::Off {
        return Ok(None);
    }
    let words = keyword.reply.as_ref().map_or("", Body::as_str);
    let mut names = std::collections::BTreeSet::new();
    for name in custom_names(words) {
        if db.has_custom_name(account, name)? {
            names.insert(name.to_owned());
        }
    }
    let is_ours = db.number_of(from)?.is_some();
    Ok(Some(MatchFacts {
        book: db.book_facts(account, &question(&keyword, from))?,
        custom_names: names,
        route: db.number_of(to)?.and_then(|number| number.route),
        sender: if is_ours { Sender::OurNumber } else { Sender::Person },
        replied: db.replied(account, from)?,
        balance: db.balance(keyword.account)?.unwrap_or(Credits::ZERO),
        account_replies: db.recent_replies(account, None)?,
        keyword_replies: db.recent_replies(account, Some(keyword.id))?,
        keyword,
    }))
}

/// Writes the effects of a match. Returns the automatic reply, if one is sent.
fn write_match(db: &Db, account: i64, from: E164, matched: Matched) -> SqlResult<Option<Message>> {
    let Matched { keyword, book, reply, paused } = matched;
    db.put_keyword(&keyword)?;
    db.write_book(account, book)?;
    db.count_replies(account, paused.as_slice())?;
    let Some(Reply { send, replied, counts }) = reply else { return Ok(None) };
    let Some(mut sent) = db.accept(send)? else { return Ok(None) };
    db.set_replied(account, from, &replied)?;
    db.count_replies(account, &counts)?;
    Ok(sent.messages.pop())
}

/// The newest long messages with this key, with the segments that have arrived.
fn newest_gathered(db: &Db, key: SegmentKey) -> SqlResult<Vec<Gathered>> {
    let SegmentKey { to, from, reference, total } = key;
    db.all(
        "SELECT from_number, from_name, nth, is_joined, parts, route, first_at
         FROM inbound_segment
         WHERE to_number = ?1 AND from_number = ?2 AND reference = ?3 AND total = ?4
         ORDER BY nth DESC LIMIT ?5",
        params![digits(to), digits(from), reference, total, size(LOOKED_AT)],
        read_gathered,
    )
}

/// The oldest long message, if its first segment came before `before`.
fn oldest_gathered(db: &Db, before: Timestamp) -> SqlResult<Option<(SegmentKey, Gathered)>> {
    db.one(
        "SELECT to_number, reference, total, from_number, from_name, nth, is_joined, parts, route,
             first_at FROM inbound_segment INDEXED BY inbound_segment_by_age WHERE first_at < ?1
         ORDER BY first_at, to_number, from_number, reference, total, nth LIMIT 1",
        [time(before)],
        |c| {
            let (to, reference, total) = (c.number()?, c.get()?, c.get()?);
            let gathered = read_gathered(c)?;
            Ok((SegmentKey { to, from: gathered.from.number(), reference, total }, gathered))
        },
    )
}

/// Who sent a message or segment, of the columns `from_number` and `from_name`.
fn originator(c: &mut Cols<'_>) -> SqlResult<Originator> {
    Ok(Originator::kept(c.number()?, c.get()?))
}

fn read_gathered(c: &mut Cols<'_>) -> SqlResult<Gathered> {
    Ok(Gathered {
        from: originator(c)?,
        nth: c.count()?,
        state: if c.yes()? { Gathering::Joined } else { Gathering::Waiting },
        parts: c.map(|text: String| {
            let parts: Vec<(u8, String, String)> = serde_json::from_str(&text).ok()?;
            let part = |(place, alphabet, octets): (u8, String, String)| {
                let text = SegmentText::new(alphabet.parse().ok()?, octets_of(&octets)?);
                Some((place, text))
            };
            parts.into_iter().map(part).collect()
        })?,
        route: RouteName::new(c.get::<String>()?),
        first_at: c.at()?,
    })
}

/// Octets as hexadecimal digits.
fn hex_of(octets: &[u8]) -> String {
    octets.iter().fold(String::with_capacity(2 * octets.len()), |mut digits, octet| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{octet:02x}");
        digits
    })
}

/// The octets that these digits stand for.
fn octets_of(hex: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let octet = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(octet).collect::<Option<_>>().filter(|_| rest.is_empty())
}

fn put_gathered(db: &Db, key: SegmentKey, gathered: &Gathered) -> SqlResult<()> {
    let SegmentKey { to, from, reference, total } = key;
    let Gathered { nth, from: originator, state, parts, route, first_at } = gathered;
    let part = |(place, text): (&u8, &SegmentText)| {
        (*place, text.alphabet().as_str(), hex_of(text.octets()))
    };
    let parts: Vec<(u8, &str, String)> = parts.iter().map(part).collect();
    db.run(
        "INSERT OR REPLACE INTO inbound_segment (to_number, from_number, reference, total, nth,
             is_joined, parts, route, first_at, from_name)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            digits(to),
            digits(from),
            reference,
            total,
            nth,
            *state == Gathering::Joined,
            serde_json::to_string(&parts).unwrap_or_default(),
            route.as_str(),
            time(*first_at),
            originator.name()
        ],
    )?;
    Ok(())
}

fn remove_gathered(db: &Db, key: SegmentKey, nth: u32) -> SqlResult<()> {
    let SegmentKey { to, from, reference, total } = key;
    db.run(
        "DELETE FROM inbound_segment
         WHERE to_number = ?1 AND from_number = ?2 AND reference = ?3 AND total = ?4 AND nth = ?5",
        params![digits(to), digits(from), reference, total, nth],
    )?;
    Ok(())
}

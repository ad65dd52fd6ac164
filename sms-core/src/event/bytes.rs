//! Events as bytes, one after another: what a row of the log holds.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | what it is about: the status that a message entered, an opt-out, a click or a pause |
//! | 16 | the event's id |
//! | 8 | when it happened, in milliseconds |
//! | 16 | the message's id, if it is about a message |
//! | 1 and as many as that says | the error code, if the message failed |
//! | 4 and as many as that says | JSON of an opt-out, a click or a pause of replies |
//!
//! Numbers have their largest byte first.

use serde::{Deserialize, Serialize};

use super::LinkClick;
use super::kept::{About, Kept};
use super::replies_paused::{PauseReason, RepliesPaused};
use crate::ids::{CampaignId, EventId, KeywordId, LinkId, MessageId};
use crate::message::error_code::ErrorCode;
use crate::message::status::MessageStatus;
use crate::opt_out::{OptOut, OptOutSource};
use crate::phone::E164;
use crate::time::Timestamp;

/// The first byte of each event about a message.
const STATUSES: [(u8, MessageStatus); 5] = [
    (1, MessageStatus::Sent),
    (2, MessageStatus::Delivered),
    (3, MessageStatus::Failed),
    (4, MessageStatus::Undelivered),
    (5, MessageStatus::Received),
];
const OPT_OUT: u8 = 6;
const CLICK: u8 = 7;
const PAUSE: u8 = 8;

#[derive(Serialize, Deserialize)]
struct OptOutJson {
    phone: E164,
    source: String,
    note: Option<String>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct ClickJson {
    link: LinkId,
    code: String,
    url: String,
    message: Option<MessageId>,
    campaign: Option<CampaignId>,
    number: Option<E164>,
    clicks: u64,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct PauseJson {
    keyword_id: Option<KeywordId>,
    keyword: Option<String>,
    reason: String,
    limit: u64,
    until: i64,
}

/// Appends the bytes of one event, in the layout of this module's table.
pub(super) fn write(kept: &Kept, to: &mut Vec<u8>) {
    let Kept { id, created_at, about } = kept;
    to.push(tag(about));
    to.extend(id.as_u128().to_be_bytes());
    to.extend(created_at.as_millis().to_be_bytes());
    match about {
        About::Message { id, status, error } => {
            to.extend(id.as_u128().to_be_bytes());
            if fails(*status) {
                let code = error.map_or("", ErrorCode::as_str);
                to.push(u8::try_from(code.len()).unwrap_or(0));
                to.extend(code.as_bytes());
            }
        }
        About::OptOut(OptOut { phone, source, note, created_at }) => {
            let source = source.as_str().to_owned();
            let (phone, note, at) = (*phone, note.clone(), created_at.as_millis());
            json(&OptOutJson { phone, source, note, at }, to);
        }
        About::Click(click) => json(&click_json(click.clone()), to),
        About::Pause(RepliesPaused { keyword_id, keyword, reason, limit, paused_until }) => {
            let reason = reason.as_str().to_owned();
            let (keyword_id, keyword, limit) = (*keyword_id, keyword.clone(), *limit);
            let until = paused_until.as_millis();
            json(&PauseJson { keyword_id, keyword, reason, limit, until }, to);
        }
    }
}

fn click_json(click: LinkClick) -> ClickJson {
    let LinkClick {
        link_id,
        code,
        url,
        message_id,
        campaign_id,
        contact_number,
        clicks,
        clicked_at,
    } = click;
    ClickJson {
        link: link_id,
        code,
        url,
        message: message_id,
        campaign: campaign_id,
        number: contact_number,
        clicks,
        at: clicked_at.as_millis(),
    }
}

fn json(value: &impl Serialize, to: &mut Vec<u8>) {
    // Plain structs become JSON without fail.
    let json = serde_json::to_vec(value).unwrap_or_default();
    to.extend(u32::try_from(json.len()).unwrap_or(0).to_be_bytes());
    to.extend(json);
}

fn tag(about: &About) -> u8 {
    match about {
        About::Message { status, .. } => {
            let known = STATUSES.iter().find(|(_, one)| one == status);
            // No other status raises an event.
            known.map_or(0, |(tag, _)| *tag)
        }
        About::OptOut(_) => OPT_OUT,
        About::Click(_) => CLICK,
        About::Pause(_) => PAUSE,
    }
}

fn fails(status: MessageStatus) -> bool {
    matches!(status, MessageStatus::Failed | MessageStatus::Undelivered)
}

/// All events; `None` if these are not bytes that [`write`] made.
pub(super) fn read(mut bytes: &[u8]) -> Option<Vec<Kept>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(event(&mut bytes)?);
    }
    Some(all)
}

fn event(from: &mut &[u8]) -> Option<Kept> {
    let [tag] = take(from)?;
    let id = EventId::from_u128(u128::from_be_bytes(take(from)?));
    let created_at = Timestamp::from_millis(i64::from_be_bytes(take(from)?));
    let about = match tag {
        OPT_OUT => About::OptOut(opt_out(from)?),
        CLICK => About::Click(click(from)?),
        PAUSE => About::Pause(pause(from)?),
        _ => {
            let (_, status) = *STATUSES.iter().find(|(known, _)| *known == tag)?;
            let id = MessageId::from_u128(u128::from_be_bytes(take(from)?));
            let code = if fails(status) { error_code(from)? } else { "" };
            let error = if code.is_empty() { None } else { Some(code.parse().ok()?) };
            About::Message { id, status, error }
        }
    };
    Some(Kept { id, created_at, about })
}

/// The words of an error code; empty if the message failed without one.
fn error_code<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let [length] = take(from)?;
    std::str::from_utf8(part(from, usize::from(length))?).ok()
}

fn opt_out(from: &mut &[u8]) -> Option<OptOut> {
    let OptOutJson { phone, source, note, at } = from_json(from)?;
    let source: OptOutSource = source.parse().ok()?;
    Some(OptOut { phone, source, note, created_at: Timestamp::from_millis(at) })
}

fn click(from: &mut &[u8]) -> Option<LinkClick> {
    let ClickJson { link, code, url, message, campaign, number, clicks, at } = from_json(from)?;
    Some(LinkClick {
        link_id: link,
        code,
        url,
        message_id: message,
        campaign_id: campaign,
        contact_number: number,
        clicks,
        clicked_at: Timestamp::from_millis(at),
    })
}

fn pause(from: &mut &[u8]) -> Option<RepliesPaused> {
    let PauseJson { keyword_id, keyword, reason, limit, until } = from_json(from)?;
    let reason = PauseReason::ALL.into_iter().find(|known| known.as_str() == reason)?;
    let paused_until = Timestamp::from_millis(until);
    Some(RepliesPaused { keyword_id, keyword, reason, limit, paused_until })
}

fn from_json<'a, T: Deserialize<'a>>(from: &mut &'a [u8]) -> Option<T> {
    let length = u32::from_be_bytes(take(from)?);
    serde_json::from_slice(part(from, usize::try_from(length).ok()?)?).ok()
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    part(from, N)?.try_into().ok()
}

fn part<'a>(from: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (first, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(first)
}

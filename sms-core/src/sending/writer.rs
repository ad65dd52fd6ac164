//! Writing messages one after another: what a send, a quote and a campaign's launch have in common.
//!
//! A [`MessageWriter`] owns everything that its messages share, so that a launch can take it to
//! where the contacts of a list are read page by page.

use std::borrow::Cow;
use std::mem::size_of;
use std::sync::Arc;

use super::facts::{Codes, PlanFacts};
use super::gaps::{BlankField, FieldGaps};
use super::recipients::RejectionReason;
use crate::contact::saved::Contact;
use crate::credits::Credits;
use crate::dispatch::queue::{Lease, QueueEntry, TEST_DELAY};
use crate::ids::{AccountId, BatchId, CampaignId, Ids, MessageId};
use crate::lane::Lane;
use crate::link::{Link, LinkBase, LinkCode};
use crate::message::record::{Body, Direction, Message, TimelineEntry, Times};
use crate::message::status::MessageStatus;
use crate::mode::Mode;
use crate::phone::E164;
use crate::random::Random;
use crate::route_name::RouteName;
use crate::text::blank::is_blank;
use crate::text::length::{MAX_CHARACTERS, MAX_CHARACTERS_WITH_URLS, check_length};
use crate::text::links::{CODE_LENGTH, Destination, ShortText};
use crate::text::merge::{MergeFields, NumberOnly, Template, custom_names};
use crate::text::opt_out_line::{append_opt_out_line, opt_out_line_for};
use crate::text::segments::Measure;
use crate::time::Timestamp;

/// What the messages of one send or launch come from and have in common.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The id shared by the messages.
    pub batch: BatchId,
    /// The campaign that they belong to; `None` for a send.
    pub campaign: Option<CampaignId>,
    /// The caller's own reference; `None` if none was given.
    pub client_ref: Option<&'a str>,
    /// Whether to add the account's opt-out line.
    pub append_opt_out: bool,
    /// Whether links are shortened and their clicks counted. A test sends nothing whose links could
    /// be followed, and leaves them as they are.
    pub track_links: bool,
    /// When to send them; `None` for now.
    pub scheduled_at: Option<Timestamp>,
}

/// From when and until when messages may be claimed, and in which lane they wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// When they were planned.
    pub at: Timestamp,
    /// From when workers may claim them.
    pub claimable_at: Timestamp,
    /// When they expire: when they are due plus their validity.
    pub expires_at: Timestamp,
    /// The lane that they wait in.
    pub lane: Lane,
    /// The lease of the worker that holds them from the start; `None` if none does.
    pub held: Option<Lease>,
}

impl Timing {
    /// The timing of messages of this lane that are due at `scheduled_at`, or now if that is
    /// `None`.
    pub fn of(facts: &PlanFacts<'_>, scheduled_at: Option<Timestamp>, lane: Lane) -> Self {
        let due = scheduled_at.unwrap_or(facts.at);
        Self {
            at: facts.at,
            claimable_at: if facts.mode.is_test() { due.plus(TEST_DELAY) } else { due },
            expires_at: due.plus(facts.validity),
            lane,
            held: None,
        }
    }

    /// The first line of a message's timeline.
    pub fn accepted(&self, message: &Message) -> TimelineEntry {
        let status = MessageStatus::on_acceptance(message.scheduled_at);
        TimelineEntry { status, detail: None, at: self.at }
    }

    /// The second line of its timeline, if a worker holds it from the start. It is not earlier than
    /// the message, whose id may be of the next millisecond.
    pub fn claimed(&self, message: &Message) -> Option<TimelineEntry> {
        let (status, at) = (MessageStatus::Sending, self.at.max(message.created_at()));
        self.held.map(|_| TimelineEntry { status, detail: None, at })
    }

    /// A message's first place in the queue.
    pub fn queue_entry(&self, message: &Message) -> QueueEntry {
        QueueEntry {
            message: message.id,
            account: message.account,
            lane: self.lane,
            claimable_at: self.held.map_or(self.claimable_at, |lease| lease.until),
            expires_at: self.expires_at,
            attempt: 0,
            lease: self.held.map(|lease| lease.token),
            unanswered: 0,
        }
    }
}

/// A new message, with all rows that come with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage<'a> {
    /// The message as it is first stored.
    pub message: &'a Message,
    /// The first line of its timeline.
    pub line: TimelineEntry,
    /// The second line, of a message that a worker holds from the start: then the message is
    /// `sending`, and its place in the queue carries the lease. Else `None`.
    pub claimed: Option<TimelineEntry>,
    /// Its place in the queue.
    pub entry: QueueEntry,
}

/// What a commit writes for new messages to send. It depends on no facts, so a store may write it
/// before it locks anything, and undo it if the verdict is a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "new messages have to be written by the store"]
pub struct NewMessages<'a> {
    /// The messages, in the order of the recipients.
    pub messages: Vec<NewMessage<'a>>,
    /// The tracked links in them. If one has the code of an existing link, the command is
    /// [stale](crate::store::CommitError::Stale).
    pub links: Vec<&'a Link>,
}

impl<'a> NewMessages<'a> {
    /// Adds messages with the same timing, and the links in them.
    pub(crate) fn add(&mut self, timing: &Timing, messages: &'a [Message], links: &'a [Link]) {
        self.messages.extend(messages.iter().map(|message| NewMessage {
            message,
            line: timing.accepted(message),
            claimed: timing.claimed(message),
            entry: timing.queue_entry(message),
        }));
        self.links.extend(links);
    }
}

/// The work for a recipient other than rendering, expressed in rendered characters.
pub(crate) const EACH: usize = 100;

/// Writes one message after another.
#[derive(Debug, Clone)]
pub struct MessageWriter {
    account: AccountId,
    mode: Mode,
    from: E164,
    sender: Option<String>,
    route: RouteName,
    batch: BatchId,
    campaign: Option<CampaignId>,
    client_ref: Option<String>,
    scheduled_at: Option<Timestamp>,
    template: Template,
    /// The names in braces that no contact has.
    unknown: Vec<String>,
    /// For each bare field of the template, in how many messages it is blank.
    blank: Vec<u64>,
    opt_out_line: Option<String>,
    /// The start of short URLs; `None` if links are not tracked.
    link_base: Option<LinkBase>,
    /// The source of their codes; `None` if messages are only shown.
    random: Option<Arc<dyn Random>>,
    /// The text that every recipient gets, if no recipient has a field to fill.
    same_for_all: Option<Result<Text, RejectionReason>>,
    bytes: usize,
}

/// A message's text as it will be sent, except for the codes of its links.
#[derive(Debug, Clone)]
struct Text {
    body: Body,
    measure: Measure,
    destinations: Arc<[Destination]>,
}

impl MessageWriter {
    /// A writer for the messages of one send or launch.
    pub fn new(origin: Origin<'_>, facts: &PlanFacts<'_>) -> Self {
        let Origin { batch, campaign, client_ref, append_opt_out, track_links, scheduled_at } =
            origin;
        let settings = facts.settings;
        let opt_out_line = append_opt_out.then(|| match facts.sender {
            Some(_) => opt_out_line_for(&settings.opt_out_line_sender, facts.from).into_owned(),
            None => settings.opt_out_line.clone(),
        });
        let template = Template::parse(facts.body, |name| facts.custom_names.contains(name));
        let unknown = custom_names(facts.body).into_iter();
        let unknown = unknown.filter(|name| !facts.custom_names.contains(*name));
        Self {
            account: facts.account,
            mode: facts.mode,
            from: facts.from,
            sender: facts.sender.map(|name| name.as_str().to_owned()),
            route: facts.route.clone(),
            batch,
            campaign,
            client_ref: client_ref.map(str::to_owned),
            scheduled_at,
            unknown: unknown.map(str::to_owned).collect(),
            blank: vec![0; template.bare_fields().count()],
            template,
            opt_out_line,
            link_base: (track_links && !facts.mode.is_test())
                .then(|| facts.shortening.base.clone()),
            random: match facts.shortening.codes {
                Codes::Drawn(random) => Some(Arc::clone(random)),
                Codes::Placeholder => None,
            },
            same_for_all: None,
            bytes: 0,
        }
    }

    /// The most characters that it renders for one recipient; none if all get the same text.
    pub(crate) fn most_characters(&self) -> usize {
        most_characters(&self.template, most_rendered(self.link_base.as_ref()))
    }

    /// About how much memory the messages written so far take with their links, in bytes, if they
    /// are to be sent.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the merge fields of the messages written so far could not show.
    pub(crate) fn gaps(&self) -> FieldGaps {
        let blank = self.template.bare_fields().zip(&self.blank).filter(|(_, count)| **count > 0);
        let blank =
            blank.map(|(name, count)| BlankField { field: name.to_owned(), recipients: *count });
        FieldGaps { unknown: self.unknown.clone(), blank: blank.collect() }
    }

    /// A writer for the same messages that draws no codes for their links.
    #[must_use]
    pub(crate) fn showing_only(self) -> Self {
        Self { random: None, ..self }
    }

    /// Writes the message for one recipient, and its tracked links into `links`, or says why there
    /// is no message.
    pub fn write(
        &mut self,
        number: E164,
        contact: Option<&Contact>,
        ids: &mut Ids,
        links: &mut Vec<Link>,
    ) -> Result<Message, RejectionReason> {
        let nobody = NumberOnly(number);
        let person = contact.map_or(&nobody as &dyn MergeFields, |contact| contact);
        let Text { body, measure, destinations } = self.text_for(person)?;
        for (count, is_blank) in self.blank.iter_mut().zip(self.template.blanks(person)) {
            *count += u64::from(is_blank);
        }
        self.bytes += size_of::<Message>() + body.as_str().len();
        let of_link = |it: &Destination| size_of::<Link>() + it.url.len();
        self.bytes += destinations.iter().map(of_link).sum::<usize>();
        let id = ids.next();
        let body = self.with_codes((id, number), body, &destinations, ids, links);
        Ok(Message {
            id,
            account: self.account,
            direction: Direction::Outbound,
            status: MessageStatus::on_acceptance(self.scheduled_at),
            to: number,
            from: self.from,
            body,
            encoding: measure.encoding,
            segments: measure.segments,
            credits: if self.mode.is_test() {
                Credits::ZERO
            } else {
                Credits::for_segments(measure.segments)
            },
            route: self.route.clone(),
            sender: self.sender.clone(),
            client_ref: self.client_ref.clone(),
            batch_id: Some(self.batch),
            campaign_id: self.campaign,
            contact_id: contact.map(|contact| contact.id),
            error: None,
            mode: self.mode,
            scheduled_at: self.scheduled_at,
            times: Times::default(),
        })
    }

    /// The text with a code drawn for each of its links.
    fn with_codes(
        &self,
        (message, contact_number): (MessageId, E164),
        body: Body,
        destinations: &[Destination],
        ids: &mut Ids,
        links: &mut Vec<Link>,
    ) -> Body {
        let Some(random) = &self.random else { return body };
        if destinations.is_empty() {
            return body;
        }
        let mut words = body.as_str().to_owned();
        for Destination { url, places } in destinations {
            let code = LinkCode::draw(random.as_ref());
            for place in places {
                words.replace_range(*place..*place + CODE_LENGTH, code.as_str());
            }
            links.push(Link {
                id: ids.next(),
                account: self.account,
                code,
                url: url.clone(),
                message,
                campaign: self.campaign,
                contact_number,
                clicks: 0,
                first_clicked_at: None,
                last_clicked_at: None,
            });
        }
        Body::new(words)
    }

    /// The price of one message, if all cost the same; zero if no message can be sent.
    pub(crate) fn price_for_all(&mut self) -> Option<Credits> {
        if self.template.has_fields() {
            return None;
        }
        // The text has no fields, so any number will do.
        let text = self.text_for(&NumberOnly(self.from));
        Some(text.map_or(Credits::ZERO, |text| Credits::for_segments(text.measure.segments)))
    }

    fn text_for(&mut self, person: &dyn MergeFields) -> Result<Text, RejectionReason> {
        let Self { same_for_all, template, opt_out_line, link_base, .. } = self;
        let base = link_base.as_ref();
        if template.has_fields() {
            return render(template, person, base, opt_out_line.as_deref());
        }
        same_for_all
            .get_or_insert_with(|| render(template, person, base, opt_out_line.as_deref()))
            .clone()
    }
}

/// About how much work it is to write messages with this body to this many recipients, in rendered
/// characters.
pub(crate) fn effort(recipients: usize, body: &str, track_links: bool) -> usize {
    let template = Template::parse(body, |_| true);
    let most = if track_links { MAX_CHARACTERS_WITH_URLS } else { MAX_CHARACTERS };
    recipients.saturating_mul(EACH + most_characters(&template, most))
}

/// The most memory that a page of contacts and what they receive takes, in bytes.
const PAGE_BYTES: usize = 16 << 20;
/// The memory of a contact and a message without their texts, in bytes; more than enough.
const BARE_BYTES: usize = 2_000;
/// The most characters of all values of a contact that a body can name: 50 custom fields, names
/// and the email address.
const MOST_NAMED: usize = 26_000;

/// How many contacts to read at a time, at most `most`, so that a page with the values that the
/// body names and the messages take a bounded amount of memory.
pub(crate) fn page_size(body: &str, track_links: bool, most: usize) -> usize {
    let template = Template::parse(body, |_| true);
    let characters = if template.has_fields() {
        let rendered = if track_links { MAX_CHARACTERS_WITH_URLS } else { MAX_CHARACTERS };
        let most = template.most_characters();
        most.min(MOST_NAMED) + most.min(rendered)
    } else {
        0
    };
    let each = BARE_BYTES + char::MAX.len_utf8() * characters;
    (PAGE_BYTES / each).clamp(1, most)
}

fn most_characters(template: &Template, most: usize) -> usize {
    if template.has_fields() { most.min(template.most_characters()) } else { 0 }
}

/// The most characters of a text that may still be sent, before its links are shortened.
fn most_rendered(link_base: Option<&LinkBase>) -> usize {
    if link_base.is_some() { MAX_CHARACTERS_WITH_URLS } else { MAX_CHARACTERS }
}

/// The text for one recipient, if it is neither empty nor too long.
fn render(
    template: &Template,
    person: &dyn MergeFields,
    link_base: Option<&LinkBase>,
    opt_out_line: Option<&str>,
) -> Result<Text, RejectionReason> {
    let most = most_rendered(link_base);
    let rendered = template.render(person, most).map_err(|_| RejectionReason::TooLong)?;
    if is_blank(&rendered) {
        return Err(RejectionReason::EmptyBody);
    }
    let short = link_base.and_then(|base| ShortText::of(&rendered, base.prefix()));
    let (rendered, destinations) = match short {
        Some(ShortText { text, destinations }) => (Cow::Owned(text), destinations),
        None => (rendered, Vec::new()),
    };
    let whole = match opt_out_line {
        Some(line) => Cow::Owned(append_opt_out_line(&rendered, line)),
        None => rendered,
    };
    let measure = check_length(&whole).map_err(|_| RejectionReason::TooLong)?;
    Ok(Text { body: Body::new(whole.as_ref()), measure, destinations: destinations.into() })
}

//! Everything an accepted send will write, worked out with no lock held.
//!
//! Quote and send go through this one function, so a quote cannot differ from the charge.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::idempotency::{Fingerprint, IdempotencyClaim};
use super::recipients::{Candidate, Recipients, Rejection, RejectionReason};
use super::request::SendRequest;
use crate::account::{Mode, Settings};
use crate::contact::Contact;
use crate::credits::Credits;
use crate::dispatch::{QueueEntry, TEST_DELAY};
use crate::ids::{AccountId, BatchId, ContactId, Ids, LedgerEntryId, MessageId};
use crate::link::{Link, LinkBase, LinkCode};
use crate::message::{Body, Direction, Message, MessageStatus, TimelineEntry, Times};
use crate::phone::E164;
use crate::random::Random;
use crate::route::RouteName;
use crate::sender_name::SenderValue;
use crate::text::{
    CODE_LENGTH, Destination, Measure, MergeFields, NumberOnly, ShortText, Template,
    append_opt_out_line, check_length, is_blank, opt_out_line_for,
};
use crate::time::Timestamp;

/// What planning depends on besides the request.
#[derive(Debug, Clone, Copy)]
pub struct PlanFacts<'a> {
    /// The account that sends.
    pub account: AccountId,
    /// Its settings.
    pub settings: &'a Settings,
    /// Live or test.
    pub mode: Mode,
    /// The words to send: the request's own, or its template's.
    pub body: &'a str,
    /// The number the texts come from.
    pub from: E164,
    /// The approved name that is shown in its place, if the request asks for one.
    pub sender: Option<&'a SenderValue>,
    /// The route that carries them.
    pub route: &'a RouteName,
    /// Those of the recipients that must not be texted.
    pub opted_out: &'a BTreeSet<E164>,
    /// Those custom names in the body that contacts of the account use; any other word in braces
    /// stays as typed.
    pub custom_names: &'a BTreeSet<String>,
    /// How links are shortened, where the request asks for it.
    pub shortening: Shortening<'a>,
    /// How long a text may wait for a route.
    pub validity: Duration,
    /// When.
    pub at: Timestamp,
}

/// How links are shortened.
#[derive(Debug, Clone, Copy)]
pub struct Shortening<'a> {
    /// What short URLs begin with.
    pub base: &'a LinkBase,
    /// Where their codes come from.
    pub codes: Codes<'a>,
}

/// Where the codes of short URLs come from.
#[derive(Debug, Clone, Copy)]
pub enum Codes<'a> {
    /// They are drawn: the texts are to be sent.
    Drawn(&'a dyn Random),
    /// The texts are only shown, with a placeholder of the same width.
    Placeholder,
}

/// Everything an accepted send will write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a plan does nothing until a store commits it"]
pub struct SendPlan {
    /// Who sends.
    pub account: AccountId,
    /// Live or test.
    pub mode: Mode,
    /// Names the texts.
    pub batch: BatchId,
    /// The key under which it is remembered.
    pub idempotency: Option<IdempotencyClaim>,
    /// The texts, in the order of the recipients.
    pub messages: Vec<Message>,
    /// The tracked links in them.
    pub links: Vec<Link>,
    /// Who gets none, and why.
    pub rejected: Vec<Rejection>,
    /// What a live send of these texts takes.
    pub price: Credits,
    /// What this send takes: the price, or nothing for a test.
    pub charge: Credits,
    /// The id of the ledger entry that takes it.
    pub entry_id: LedgerEntryId,
    /// When workers may take the texts.
    pub claimable_at: Timestamp,
    /// When the texts are no longer valid.
    pub expires_at: Timestamp,
    /// When it was planned.
    pub at: Timestamp,
}

impl SendPlan {
    /// The first line of the timeline of one of its texts.
    pub fn accepted(&self, message: &Message) -> TimelineEntry {
        TimelineEntry { status: message.status, detail: None, at: self.at }
    }

    /// The place of one of its texts in the queue.
    pub fn queue_entry(&self, message: &Message) -> QueueEntry {
        QueueEntry {
            message: message.id,
            account: self.account,
            claimable_at: self.claimable_at,
            expires_at: self.expires_at,
            attempt: 0,
            lease: None,
        }
    }
}

/// Plans a send to the recipients of a request that passed its checks.
pub fn plan(
    request: &SendRequest,
    recipients: &Recipients,
    facts: PlanFacts<'_>,
    ids: &mut Ids,
) -> SendPlan {
    let batch = ids.next();
    let scheduled_at = request.scheduled_at(facts.at);
    let due = scheduled_at.unwrap_or(facts.at);
    let mut writer = Writer::new(request, facts, batch, scheduled_at);
    for candidate in &recipients.candidates {
        match candidate {
            Candidate::Rejected(rejection) => writer.rejected.push(rejection.clone()),
            Candidate::Number(number) => {
                writer.write(*number, recipients.contact(*number), ids);
            }
        }
    }
    let Writer { messages, links, rejected, price, .. } = writer;
    SendPlan {
        account: facts.account,
        mode: facts.mode,
        batch,
        idempotency: request
            .idempotency_key
            .clone()
            .map(|key| IdempotencyClaim { key, fingerprint: Fingerprint::of(request, facts.mode) }),
        messages,
        links,
        rejected,
        price,
        charge: if facts.mode.is_test() { Credits::ZERO } else { price },
        entry_id: ids.next(),
        claimable_at: if facts.mode.is_test() { due.plus(TEST_DELAY) } else { due },
        expires_at: due.plus(facts.validity),
        at: facts.at,
    }
}

/// Writes one text after another.
struct Writer<'a> {
    request: &'a SendRequest,
    facts: PlanFacts<'a>,
    batch: BatchId,
    scheduled_at: Option<Timestamp>,
    template: Template,
    opt_out_line: Option<Cow<'a, str>>,
    /// What short URLs begin with, if links are tracked.
    link_base: Option<&'a LinkBase>,
    /// The text that everybody gets, when nobody has a field to fill.
    same_for_all: Option<Result<Text, RejectionReason>>,
    messages: Vec<Message>,
    links: Vec<Link>,
    rejected: Vec<Rejection>,
    price: Credits,
}

/// A text as it will be sent, but for the codes of its links.
#[derive(Clone)]
struct Text {
    body: Body,
    measure: Measure,
    destinations: Arc<[Destination]>,
}

impl<'a> Writer<'a> {
    fn new(
        request: &'a SendRequest,
        facts: PlanFacts<'a>,
        batch: BatchId,
        scheduled_at: Option<Timestamp>,
    ) -> Self {
        let settings = facts.settings;
        let opt_out_line = request.append_opt_out.then(|| match facts.sender {
            Some(_) => opt_out_line_for(&settings.opt_out_line_sender, facts.from),
            None => Cow::Borrowed(settings.opt_out_line.as_str()),
        });
        Self {
            request,
            facts,
            batch,
            scheduled_at,
            template: Template::parse(facts.body, |name| facts.custom_names.contains(name)),
            opt_out_line,
            // A test sends nothing that anybody could follow.
            link_base: (request.track_links && !facts.mode.is_test())
                .then_some(facts.shortening.base),
            same_for_all: None,
            messages: Vec::new(),
            links: Vec::new(),
            rejected: Vec::new(),
            price: Credits::ZERO,
        }
    }

    fn write(&mut self, number: E164, contact: Option<&Contact>, ids: &mut Ids) {
        if self.facts.opted_out.contains(&number) {
            self.rejected.push(Rejection::of(number, RejectionReason::OptedOut));
            return;
        }
        match self.text_for(number, contact) {
            Ok(text) => self.accept(number, contact.map(|contact| contact.id), text, ids),
            Err(reason) => self.rejected.push(Rejection::of(number, reason)),
        }
    }

    fn text_for(
        &mut self,
        number: E164,
        contact: Option<&Contact>,
    ) -> Result<Text, RejectionReason> {
        let nobody = NumberOnly(number);
        let person = contact.map_or(&nobody as &dyn MergeFields, |contact| contact);
        let Self { same_for_all, template, opt_out_line, link_base, .. } = self;
        if template.has_fields() {
            return render(template, person, *link_base, opt_out_line.as_deref());
        }
        same_for_all
            .get_or_insert_with(|| render(template, person, *link_base, opt_out_line.as_deref()))
            .clone()
    }

    fn accept(&mut self, number: E164, contact_id: Option<ContactId>, text: Text, ids: &mut Ids) {
        let price = Credits::for_segments(text.measure.segments);
        // At most 1,000 numbers, a body full of contacts and the largest list, of 11 parts each:
        // far below what credits can count.
        self.price = self.price.checked_add(price).unwrap_or(Credits::MAX);
        let id = ids.next();
        let body = self.with_codes(id, number, text.body, &text.destinations, ids);
        self.messages.push(Message {
            id,
            account: self.facts.account,
            direction: Direction::Outbound,
            status: MessageStatus::on_acceptance(self.scheduled_at),
            to: number,
            from: self.facts.from,
            body,
            encoding: text.measure.encoding,
            segments: text.measure.segments,
            credits: if self.facts.mode.is_test() { Credits::ZERO } else { price },
            route: self.facts.route.clone(),
            sender: self.facts.sender.map(|name| name.as_str().to_owned()),
            client_ref: self.request.client_ref.clone(),
            batch_id: Some(self.batch),
            campaign_id: None,
            contact_id,
            error: None,
            mode: self.facts.mode,
            scheduled_at: self.scheduled_at,
            times: Times::default(),
        });
    }

    /// The text with a code drawn for each of its links; the links are written with it.
    fn with_codes(
        &mut self,
        message: MessageId,
        contact_number: E164,
        body: Body,
        destinations: &[Destination],
        ids: &mut Ids,
    ) -> Body {
        let Codes::Drawn(random) = self.facts.shortening.codes else { return body };
        if destinations.is_empty() {
            return body;
        }
        let mut words = body.as_str().to_owned();
        for Destination { url, places } in destinations {
            let code = LinkCode::draw(random);
            for place in places {
                words.replace_range(*place..*place + CODE_LENGTH, code.as_str());
            }
            self.links.push(Link {
                id: ids.next(),
                account: self.facts.account,
                code,
                url: url.clone(),
                message,
                campaign: None,
                contact_number,
                clicks: 0,
                first_clicked_at: None,
                last_clicked_at: None,
            });
        }
        Body::new(words)
    }
}

/// The text for one recipient, if there is anything to send and it is not too long.
fn render(
    template: &Template,
    person: &dyn MergeFields,
    link_base: Option<&LinkBase>,
    opt_out_line: Option<&str>,
) -> Result<Text, RejectionReason> {
    let rendered = template.render(person);
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

#[cfg(test)]
mod tests;

//! Inbound messages, whole or in segments.

use std::collections::BTreeMap;
use std::time::Duration;

use sms_core::account::Mode;
use sms_core::dispatch::Lane;
use sms_core::event::{EventData, EventType};
use sms_core::ids::{AccountId, Ids};
use sms_core::inbound::segment::{GaveUp, GiveUpPlan, SegmentKey, SegmentPlan, SegmentTaken};
use sms_core::inbound::{InboundMessage, InboundPlan, Origin, TakenIn, Unrouted};
use sms_core::message::{Body, Message};
use sms_core::number::Holder;
use sms_core::opt_out::{OptOut, OptOutSource};
use sms_core::originator::Originator;
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

use super::commit::Owed;
use super::message::Draft;
use super::rent::THIRTY_DAYS;
use super::{Check, Commit, MessageModel, Model, Moment, SegmentsModel};
use crate::simulation::measure::measure;
use crate::simulation::talk::{Answer, first_word};

/// How long an answer to a shared number goes to the account that sent from it.
const SHARED_REACH: Duration = Duration::from_hours(30 * 24);

/// How long after the first segment to arrive a message waits for its beginning.
const FIRST_WITHIN: Duration = Duration::from_mins(5);
/// How many messages with the same key a segment may belong to.
const REMEMBERED: usize = 8;

/// A whole inbound message.
#[derive(Debug)]
pub(super) struct Arrival<'a> {
    /// The number of the sender, which for a name is its stand-in.
    pub from: E164,
    pub name: Option<&'a str>,
    pub to: E164,
    pub body: &'a str,
    pub route: &'a RouteName,
    pub at: Timestamp,
    pub ids: &'a Ids,
    pub note: Option<String>,
}

impl Arrival<'_> {
    fn sender(&self) -> Originator {
        Originator::kept(self.from, self.name.map(str::to_owned))
    }
}

impl Model {
    /// A message came in.
    pub fn saw_inbound(
        &mut self,
        moment: &Moment<'_>,
        plan: &InboundPlan,
        answer: &TakenIn,
    ) -> Check {
        let mut answered = None;
        if let Origin::Answer { to, follow_up } = plan.origin {
            if !self.fulfil(to, follow_up)? {
                ensure!(*answer == TakenIn::AlreadyDone, "{follow_up} was fulfilled twice");
                return Ok(());
            }
            let text = &self.text(to)?.last;
            let InboundMessage { from, to, body: _, route } = &plan.text;
            let right = (from, *to, route) == (&text.to.into(), text.from, &text.route);
            ensure!(right, "{text:?} is answered by {:?}", plan.text);
            answered = Some((text.account, text.mode));
        }
        let InboundMessage { from, to, body, route } = &plan.text;
        let (from, name, to, body) = (from.number(), from.name(), *to, body.as_str());
        let (at, ids) = (plan.at, &plan.ids);
        let arrival = Arrival { from, name, to, body, route, at, ids, note: None };
        self.arrived(moment, &arrival, answered, answer)
    }

    /// A segment came in.
    pub fn saw_part(
        &mut self,
        moment: &Moment<'_>,
        plan: &SegmentPlan,
        answer: &SegmentTaken,
    ) -> Check {
        let (key, number) = (plan.key(), plan.part.place.number());
        let (words, at) = (plan.part.text.decode(), plan.part.received_at);
        let mut newest = self.parts.range((key, 0)..=(key, u32::MAX)).rev().take(REMEMBERED);
        let next = newest.clone().next().map_or(0, |((_, nth), _)| nth + 1);
        let came = newest.find_map(|((_, nth), kept)| match kept.parts.get(&number) {
            Some(known) => (*known == words).then_some(Err("a repeat")),
            None if number == 1 && at.since(kept.first_at) > FIRST_WITHIN => None,
            None => Some(Ok(*nth)),
        });
        let Ok(nth) = came.unwrap_or(Ok(next)) else {
            ensure!(*answer == SegmentTaken::Repeat, "a part that came before is {answer:?}");
            return Ok(());
        };
        let gathered = self.parts.entry((key, nth)).or_insert_with(|| SegmentsModel {
            from: plan.part.from.clone(),
            joined: false,
            parts: BTreeMap::new(),
            route: plan.part.route.clone(),
            first_at: at,
        });
        gathered.parts.insert(number, words);
        gathered.joined = gathered.parts.len() == usize::from(key.total);
        let (joined, sender) = (gathered.joined, gathered.from.clone());
        let route = gathered.route.clone();
        let words = gathered.words(key.total);
        match answer {
            SegmentTaken::Waiting if !joined => Ok(()),
            SegmentTaken::Joined(taken) if joined => {
                self.tally.joined += 1;
                let (from, to, body, route) = (key.from, key.to, words.as_str(), &route);
                let (name, at, ids) = (sender.name(), plan.at, &plan.ids);
                let arrival = Arrival { from, name, to, body, route, at, ids, note: None };
                self.arrived(moment, &arrival, None, taken)
            }
            _ => Err(format!("part {number} of {} became {answer:?}: {joined}", key.total)),
        }
    }

    /// The oldest message whose first segment came too long ago was given up or deleted.
    pub fn saw_parts_given_up(
        &mut self,
        moment: &Moment<'_>,
        plan: &GiveUpPlan,
        answer: &GaveUp,
    ) -> Check {
        let old = self.parts.iter().filter(|(_, parts)| parts.first_at < plan.before);
        let oldest = old.min_by_key(|(place, parts)| (parts.first_at, **place));
        let Some(place) = oldest.map(|(place, _)| *place) else {
            ensure!(*answer == GaveUp::Nothing, "{answer:?} was given up too early");
            return Ok(());
        };
        let Some(parts) = self.parts.remove(&place) else { return Ok(()) };
        let SegmentKey { from, to, total, .. } = place.0;
        match answer {
            GaveUp::Forgotten if parts.joined => Ok(()),
            GaveUp::TakenIn(taken) if !parts.joined => {
                self.tally.given_up += 1;
                let (words, route) = (parts.words(total), &parts.route);
                let (body, at, ids) = (words.as_str(), plan.at, &plan.ids);
                let came = parts.parts.len();
                let note = format!("Incomplete: {came} of its {total} segments arrived in a day.");
                let note = Some(note);
                let name = parts.from.name();
                let arrival = Arrival { from, name, to, body, route, at, ids, note };
                self.arrived(moment, &arrival, None, taken)
            }
            _ => Err(format!("{parts:?} was given up as {answer:?}")),
        }
    }

    fn arrived(
        &mut self,
        moment: &Moment<'_>,
        arrival: &Arrival<'_>,
        answered: Option<(AccountId, Mode)>,
        answer: &TakenIn,
    ) -> Check {
        let is_unrouted = matches!(answer, TakenIn::Unrouted(_));
        let is_forgotten = is_unrouted && self.may_be_forgotten(arrival);
        let owner = answered.or_else(|| self.owner(arrival).filter(|_| !is_forgotten));
        match (answer, owner) {
            (TakenIn::Routed(message), Some(owner)) => {
                self.taken_in(moment, arrival, owner, message, None)
            }
            (TakenIn::Answered(message, reply), Some(owner)) => {
                self.taken_in(moment, arrival, owner, message, Some(reply))
            }
            (TakenIn::Unrouted(text), None) => {
                let (encoding, segments) = measure(arrival.body);
                let must = Unrouted {
                    id: text.id,
                    from: arrival.sender(),
                    to: arrival.to,
                    body: Body::new(arrival.body),
                    encoding,
                    segments,
                    received_at: arrival.at,
                };
                ensure!(*text == must, "a text of nobody's became {text:?}, not {must:?}");
                self.unrouted.insert(text.id);
                Ok(())
            }
            _ => Err(format!("a text belongs to {owner:?} and became {answer:?}")),
        }
    }

    /// Old records of who messaged whom from a shared number were deleted, in portions. The store
    /// does not report which ones, so records of the last full portion may or may not exist.
    pub fn saw_last_contacted_tidied(
        &mut self,
        before: Timestamp,
        limit: usize,
        answer: usize,
    ) -> Check {
        let old = self.last_contacted.values().filter(|(_, at)| *at < before).count();
        let least = limit.min(old.saturating_sub(self.forgotten.count));
        ensure!(
            (least..=limit.min(old)).contains(&answer),
            "{answer} of {old} texted long ago were forgotten, and at least {least} had to be"
        );
        if answer < limit || answer == old {
            self.last_contacted.retain(|_, (_, at)| *at >= before);
            self.forgotten.count = 0;
        } else {
            self.forgotten.count += answer;
            self.forgotten.before = self.forgotten.before.max(Some(before));
        }
        Ok(())
    }

    /// Whether the record of who messaged this person from a shared number may be deleted.
    fn may_be_forgotten(&self, arrival: &Arrival<'_>) -> bool {
        let last = self.last_contacted.get(&(arrival.to, arrival.from));
        last.is_some_and(|(_, at)| Some(*at) < self.forgotten.before)
    }

    /// The account of an inbound message.
    fn owner(&self, arrival: &Arrival<'_>) -> Option<(AccountId, Mode)> {
        let number = self.numbers.values().find(|own| own.phone == arrival.to);
        let last = self.last_contacted.get(&(arrival.to, arrival.from));
        let last = last.filter(|(_, at)| arrival.at.since(*at) <= SHARED_REACH);
        let last = last.map(|(account, _)| *account);
        let account = match number.map(|own| own.holder) {
            Some(Holder::Dedicated(account)) if self.is_released(arrival) => last.or(Some(account)),
            Some(Holder::Dedicated(account)) => Some(account),
            Some(Holder::Shared) => last,
            None => last.filter(|_| self.is_released(arrival)),
        };
        Some((account?, Mode::Live))
    }

    /// Whether a holder released the number within the last thirty days.
    fn is_released(&self, arrival: &Arrival<'_>) -> bool {
        let released = self.releases.get(&arrival.to);
        released.is_some_and(|(_, at)| arrival.at < at.plus(THIRTY_DAYS))
    }

    fn taken_in(
        &mut self,
        moment: &Moment<'_>,
        arrival: &Arrival<'_>,
        (account, mode): (AccountId, Mode),
        message: &Message,
        reply: Option<&Message>,
    ) -> Check {
        self.tally.inbound += 1;
        self.tally.late_answers += u64::from(self.is_released(arrival));
        let word = first_word(arrival.body);
        let own = self.accounts.get(&account).ok_or("an account vanished")?;
        let opted_out = own.opt_outs.contains_key(&arrival.from);
        // A short code or a name wants nothing, because it cannot be answered.
        let is_own = arrival.name.is_none() && own.answers_to(&word);
        let wish = Answer::of(arrival.body, is_own);
        let wish = if arrival.name.is_some() { Answer::Other } else { wish };
        let known = own.book.of_number(arrival.from).map(|contact| contact.id);
        let matched = match wish {
            Answer::Other if is_own => {
                self.match_keyword(moment, arrival, account, Some(word.as_str()))?
            }
            _ => None,
        };
        let contact = matched.as_ref().map(|matched| matched.contact).or(known);
        let Arrival { from, to, body: words, route, at, .. } = *arrival;
        let draft = Draft { id: message.id, account, mode, from, to, words, route };
        let sender = arrival.name.map(str::to_owned);
        let must = Message { contact_id: contact, sender, ..draft.inbound() };
        ensure!(*message == must, "an inbound text became {message:?} and must be {must:?}");
        ensure!(message.created_at() == at, "{} came at {at}", message.id);
        let mut commit = Commit::default();
        commit.plan(arrival.ids.clone());
        let made = MessageModel {
            last: message.clone(),
            lines: 1,
            lane: Lane::Normal,
            ready_at: arrival.at,
            expires_at: arrival.at,
            attempt: 0,
            unanswered: 0,
            lease: None,
            receipts: 0,
        };
        self.message_made_with(moment, made, arrival.note.clone())?;
        let owe = |kind, data| Owed { account, kind, data, at };
        let data = EventData::MessageReceived(Box::new(must));
        commit.owe(owe(EventType::MessageReceived, data));
        if self.opt(moment, account, from, wish) {
            let opt_out =
                OptOut { phone: from, source: OptOutSource::Sms, note: None, created_at: at };
            commit.owe(owe(EventType::OptOutCreated, EventData::OptOutCreated(opt_out)));
        }
        let reply = (matched.as_ref(), reply);
        let must = matched.is_some() && !opted_out;
        ensure!(must || reply.1.is_none(), "a text was answered that matched nothing");
        self.check_reply(moment, &mut commit, arrival, (account, mode), reply)?;
        commit.touch(account);
        self.close(moment, commit)?;
        self.conversation_kept(moment, account, arrival.from)
    }

    /// Opts a person out or in. Returns whether the person is newly opted out.
    fn opt(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        person: E164,
        answer: Answer,
    ) -> bool {
        let Some(own) = self.accounts.get_mut(&account) else { return false };
        let before = own.opt_outs.contains_key(&person);
        match answer {
            Answer::Out if !before => {
                own.opt_outs.insert(person, moment.step);
            }
            Answer::In if before => {
                own.opt_outs.remove(&person);
            }
            _ => return false,
        }
        own.opt_out_changes += 1;
        !before
    }
}

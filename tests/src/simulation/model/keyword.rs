//! Keywords: which words an account may use, and the effects of a match.

use std::num::NonZeroU32;
use std::time::Duration;

use sms_core::account::Mode;
use sms_core::credits::ledger::Cause;
use sms_core::dispatch::Lane;
use sms_core::event::{EventData, EventType};
use sms_core::ids::{AccountId, ContactId, KeywordId};
use sms_core::keyword::reply_limit::{BalanceShare, ReplyLimits, ReplyRate};
use sms_core::keyword::save::{KeywordRefused, Save, SavePlan};
use sms_core::keyword::{Keyword, Listening};
use sms_core::message::Message;
use sms_core::route::RouteName;
use sms_core::store::CommitError;

use super::commit::Owed;
use super::inbound::Arrival;
use super::message::Draft;
use super::record::Allowed;
use super::{Check, Commit, Model, Moment, read};
use crate::simulation::talk::reply_to;

const MOST_REPLIES: usize = 10;
const REPLY_WINDOW: Duration = Duration::from_hours(1);

/// Smaller than by default, so that they are reached.
pub fn reply_limits() -> ReplyLimits {
    let rate = |per_minute, per_hour| {
        let of = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        ReplyRate { per_minute: of(per_minute), per_hour: of(per_hour) }
    };
    let balance = BalanceShare::new(60).unwrap_or_default();
    ReplyLimits { account: rate(6, 25), keyword: rate(4, 20), balance }
}

/// The required effects of a match.
#[derive(Debug)]
pub(super) struct Match {
    /// The keyword.
    keyword: Keyword,
    /// The sender as a contact.
    pub contact: ContactId,
    /// The reply's body and segments, if it may be sent.
    reply: Option<(String, u32)>,
}

impl Model {
    /// A keyword was made or changed, or that was refused.
    pub fn saw_keyword(
        &mut self,
        moment: &Moment<'_>,
        plan: &SavePlan,
        answer: &Result<Keyword, CommitError<KeywordRefused>>,
    ) -> Check {
        let own = self.accounts.get_mut(&plan.account);
        let own = own.ok_or_else(|| format!("no account {}", plan.account))?;
        let word = match &plan.save {
            Save::Make(word) => Some(word.clone()),
            Save::Change => plan.values.word.clone(),
        };
        let holds_word =
            |keyword: &Keyword| Some(&keyword.word) == word.as_ref() && keyword.id != plan.id;
        let taken = own.keywords.values().any(holds_word);
        let list = plan.values.list.flatten();
        let no_list = list.is_some_and(|list| !own.book.lists.contains_key(&list));
        let before = own.keywords.get(&plan.id).cloned();
        let missing = plan.save == Save::Change && before.is_none();
        let refusal = if missing {
            Some(KeywordRefused::NoSuchKeyword)
        } else if let Some(list) = list.filter(|_| no_list) {
            Some(KeywordRefused::NoSuchList(list))
        } else {
            taken.then_some(KeywordRefused::KeywordExists)
        };
        let saved = match answer {
            Ok(keyword) => keyword,
            Err(CommitError::Refused(reason)) => {
                let first = refusal == Some(*reason);
                ensure!(first, "a keyword was refused: {reason}, and had to be: {refusal:?}");
                return Ok(());
            }
            Err(error) => return Err(format!("saving a keyword failed: {error}")),
        };
        ensure!(refusal.is_none(), "a keyword was saved in spite of {refusal:?}: {plan:?}");
        let blank = Keyword {
            id: plan.id,
            account: plan.account,
            word: saved.word.clone(),
            reply: None,
            add_to_list_id: None,
            listening: Listening::On,
            match_count: 0,
            last_matched_at: None,
            created_at: plan.at,
            updated_at: plan.at,
        };
        let mut must = Keyword { updated_at: plan.at, ..before.unwrap_or(blank) };
        must.word = word.unwrap_or(must.word);
        must.reply = plan.values.reply.clone().unwrap_or(must.reply);
        must.add_to_list_id = plan.values.list.unwrap_or(must.add_to_list_id);
        must.listening = plan.values.listening.unwrap_or(must.listening);
        ensure!(*saved == must, "a keyword became {saved:?} and must be {must:?}");
        own.keywords.insert(plan.id, must);
        self.keyword_kept(moment, plan.account, plan.id)
    }

    fn keyword_kept(&self, moment: &Moment<'_>, account: AccountId, id: KeywordId) -> Check {
        let own = self.accounts.get(&account).and_then(|own| own.keywords.get(&id));
        let kept = read(moment.books.keyword_get(account, id))?;
        ensure!(kept.as_ref() == own, "{kept:?} is kept for {own:?}");
        Ok(())
    }

    /// A keyword was removed.
    pub fn saw_keyword_gone(&mut self, account: AccountId, id: KeywordId, answer: bool) -> Check {
        let own = self.accounts.get_mut(&account);
        let known = own.and_then(|own| own.keywords.remove(&id)).is_some();
        ensure!(known == answer, "removing {id} answers {answer}");
        Ok(())
    }

    /// The effects of a message's keyword, if the account has it enabled.
    pub(super) fn match_keyword(
        &mut self,
        moment: &Moment<'_>,
        arrival: &Arrival<'_>,
        account: AccountId,
        word: Option<&str>,
    ) -> Result<Option<Match>, String> {
        let Some(own) = self.accounts.get_mut(&account) else { return Ok(None) };
        let listens = |keyword: &&mut Keyword| {
            keyword.listening == Listening::On && Some(keyword.word.as_str()) == word
        };
        let Some(keyword) = own.keywords.values_mut().find(listens) else { return Ok(None) };
        keyword.match_count += 1;
        keyword.last_matched_at = keyword.last_matched_at.max(Some(arrival.at));
        let keyword = keyword.clone();
        self.tally.matches += 1;
        self.keyword_kept(moment, account, keyword.id)?;
        let contact = self.welcome(moment, account, arrival.from, arrival.at)?;
        let own = self.accounts.get_mut(&account).ok_or("an account vanished")?;
        if let Some(list) = keyword.add_to_list_id {
            let (_, members) = own.book.lists.get_mut(&list).ok_or("a keyword names no list")?;
            members.insert(contact);
        }
        let first_name = own.book.contacts.get(&contact);
        let first_name = first_name.and_then(|contact| contact.details.first_name.as_deref());
        let words = keyword.reply.as_ref().map(sms_core::message::Body::as_str);
        let reply = words.and_then(|words| reply_to(words, first_name.unwrap_or_default()));
        let replied = own.inbox.threads.get(&arrival.from).map(|thread| &thread.replied);
        let recent = replied.into_iter().flatten();
        let recent = recent.filter(|at| arrival.at.since(**at) < REPLY_WINDOW).count();
        self.tally.throttled += u64::from(recent >= MOST_REPLIES && reply.is_some());
        let is_ours = self.numbers.values().any(|number| number.phone == arrival.from);
        self.tally.unanswered += u64::from(is_ours && reply.is_some());
        let own = self.accounts.get(&account).ok_or("an account vanished")?;
        let may = recent < MOST_REPLIES
            && !is_ours
            && !own.opt_outs.contains_key(&arrival.from)
            && arrival.from.is_uk_mobile();
        if let Some(list) = keyword.add_to_list_id {
            self.list_kept(moment, account, list)?;
        }
        Ok(Some(Match { keyword, contact, reply: reply.filter(|_| may) }))
    }

    /// Checks that the message got a reply if and only if it could.
    pub(super) fn check_reply(
        &mut self,
        moment: &Moment<'_>,
        commit: &mut Commit,
        arrival: &Arrival<'_>,
        (account, mode): (AccountId, Mode),
        (matched, answer): (Option<&Match>, Option<&Message>),
    ) -> Check {
        let wanted = matched.and_then(|matched| Some((matched, matched.reply.as_ref()?)));
        let Some((Match { keyword, contact, .. }, (words, parts))) = wanted else {
            ensure!(answer.is_none(), "a text was answered by {answer:?} and must not be");
            return Ok(());
        };
        let own = self.accounts.get_mut(&account).ok_or("an account vanished")?;
        let cost = if mode.is_test() { 0 } else { i64::from(*parts) };
        let money = (own.balance, cost);
        let allowed = match mode {
            Mode::Test => Allowed::Yes,
            Mode::Live => own.replies.judge(&reply_limits(), keyword, money, arrival.at),
        };
        if let Allowed::NoAndTold(pause) = &allowed {
            self.tally.reply_pauses += 1;
            let data = EventData::RepliesPaused(pause.clone());
            commit.owe(Owed { account, kind: EventType::RepliesPaused, data, at: arrival.at });
        }
        if !matches!(allowed, Allowed::Yes) {
            ensure!(answer.is_none(), "a text was answered by {answer:?} although replies pause");
            return Ok(());
        }
        let told = answer.is_none().then_some(Duration::ZERO);
        let room = own.test_wait_at(moment, (mode, 1), arrival.at, told).is_none();
        let can = own.forbids(mode).is_none() && own.balance >= cost && room;
        let Some(reply) = answer else {
            ensure!(!can, "a text that begins with a keyword was not answered");
            return Ok(());
        };
        ensure!(can, "a text was answered although the account could not send");
        let batch = reply.batch_id.ok_or("a reply has no batch")?;
        let own_route = self.numbers.values().find(|number| number.phone == arrival.to);
        let own_route = own_route.and_then(|number| number.route.as_ref());
        let route = match mode {
            Mode::Test => RouteName::test(),
            Mode::Live => own_route.unwrap_or(arrival.route).clone(),
        };
        let (id, from, to, route) = (reply.id, arrival.to, arrival.from, &route);
        let draft = Draft { id, account, mode, from, to, words, route };
        let (batch_id, contact_id) = (Some(batch), Some(*contact));
        let must = Message { batch_id, contact_id, ..draft.outbound() };
        let right = *reply == must && reply.segments.get() == *parts;
        ensure!(right, "a keyword answered with {reply:?} and must answer with {must:?}");
        let own = self.accounts.get_mut(&account).ok_or("an account vanished")?;
        if cost > 0 {
            own.book_entry(Cause::Send { batch, campaign: None }, -cost);
            own.reserved += cost;
        }
        match mode {
            Mode::Test => own.tested(arrival.at, 1),
            Mode::Live => own.replies.sent(keyword.id, cost, arrival.at),
        }
        let thread = own.inbox.threads.get_mut(&arrival.from).ok_or("a conversation vanished")?;
        // What is an hour old by then is forgotten, also for a text that came before this one and
        // is taken in after it.
        thread.replied.retain(|at| arrival.at.since(*at) < REPLY_WINDOW);
        thread.replied.push(arrival.at);
        self.tally.replies += 1;
        commit.touch(account);
        self.write_text(moment, reply, Lane::Normal, arrival.at)
    }
}

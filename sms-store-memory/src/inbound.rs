//! Inbound messages.

use async_trait::async_trait;
use sms_core::account::Mode;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, MessageId};
use sms_core::inbound::segment::{GaveUp, GiveUpPlan, SegmentPlan, SegmentTaken, SegmentVerdict};
use sms_core::inbound::store::{InboundStore, ReadsInbound};
use sms_core::inbound::{
    InboundFacts, InboundPlan, InboundWrites, OptOutChange, Origin, RoutingFacts, TakenIn, Unrouted,
};
use sms_core::keyword::reply::{MatchFacts, Matched, Reply, Sender, question};
use sms_core::message::{Body, Message};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::StoreError;
use sms_core::text::custom_names;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::{AccountState, State};

#[async_trait]
impl ReadsInbound for MemoryStore {
    async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, StoreError> {
        let state = self.state();
        let end = page.after.map_or(MessageId::from_u128(u128::MAX), Cursor::id);
        let rows = state.unrouted.range(..end).rev().take(page.limit.get() + 1);
        let rows = rows.map(|(_, text)| text.clone()).collect();
        Ok(Page::of(rows, page.limit, |text: &Unrouted| text.id))
    }
}

#[async_trait]
impl InboundStore for MemoryStore {
    async fn inbound_take(
        &self,
        plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        if let Origin::Answer { follow_up, .. } = plan.origin
            && !state.follow_ups.remove(follow_up)
        {
            return Ok(Once::Done(TakenIn::AlreadyDone));
        }
        let taken = state.take(plan);
        state.remember(claim, &taken);
        Ok(Once::Done(taken))
    }

    async fn inbound_segment_take(&self, plan: SegmentPlan) -> Result<SegmentTaken, StoreError> {
        let mut state = self.state();
        let key = plan.key();
        Ok(match plan.settle(state.parts.newest(key)) {
            SegmentVerdict::Repeat => SegmentTaken::Repeat,
            SegmentVerdict::Keep(gathered) => {
                state.parts.put(key, gathered);
                SegmentTaken::Waiting
            }
            SegmentVerdict::Join(gathered, text) => {
                state.parts.put(key, gathered);
                SegmentTaken::Joined(state.take(*text))
            }
        })
    }

    async fn inbound_segment_give_up(&self, plan: GiveUpPlan) -> Result<GaveUp, StoreError> {
        let mut state = self.state();
        let Some((key, gathered)) = state.parts.take_older(plan.before) else {
            return Ok(GaveUp::Nothing);
        };
        Ok(match plan.settle(key, &gathered) {
            Some(text) => GaveUp::TakenIn(state.take(text)),
            None => GaveUp::Forgotten,
        })
    }
}

impl MemoryStore {
    pub(crate) fn last_contacted_tidy(&self, before: Timestamp, limit: usize) -> usize {
        let mut state = self.state();
        let old = state.last_contacted.iter().filter(|(_, (_, at))| *at < before);
        let contacts: Vec<_> = old.map(|(contact, _)| *contact).take(limit).collect();
        for contact in &contacts {
            state.last_contacted.remove(contact);
        }
        contacts.len()
    }
}

impl State {
    fn take(&mut self, mut plan: InboundPlan) -> TakenIn {
        let owner = plan.owner(self.routing_facts(&plan));
        let known = owner.filter(|(account, _)| self.accounts.contains_key(account));
        let Some((account, mode)) = known else {
            let unrouted = plan.unrouted();
            self.unrouted.insert(unrouted.id, unrouted.clone());
            return TakenIn::Unrouted(unrouted);
        };
        self.take_in(&mut plan, account, mode)
    }

    fn routing_facts(&self, plan: &InboundPlan) -> RoutingFacts {
        let number = self.number_of(plan.text.to);
        let pair = (plan.text.to, plan.text.from.number());
        let answered = match plan.origin {
            Origin::Network => None,
            Origin::Answer { to, .. } => self.messages.get(&to),
        };
        RoutingFacts {
            holder: number.map(|number| number.holder),
            released: self.releases.get(&plan.text.to).copied(),
            last_contacted: self.last_contacted.get(&pair).copied(),
            answered: answered.map(|stored| (stored.message.account, stored.message.mode)),
        }
    }

    fn take_in(&mut self, plan: &mut InboundPlan, account: AccountId, mode: Mode) -> TakenIn {
        let from = plan.text.from.number();
        let room = self.accounts.get(&account);
        let facts = InboundFacts {
            account,
            mode,
            opted_out: room.is_some_and(|room| room.opt_outs.contains_key(&from)),
            contact: room.and_then(|room| room.book.of_number(from)).cloned(),
            matched: room.and_then(|room| self.match_facts(room, plan)).map(Box::new),
        };
        let writes = plan.settle(facts);
        self.write_inbound(account, writes)
    }

    fn write_inbound(&mut self, account: AccountId, writes: InboundWrites) -> TakenIn {
        let InboundWrites { message, timeline, tally, conversation, opt_out, matched, raised } =
            writes;
        self.insert_message(message.clone(), vec![timeline]);
        self.count(&tally);
        if let Some(room) = self.accounts.get_mut(&account) {
            let newest = room.index.of_number(conversation).next_back();
            room.inbox.receive(conversation, newest.unwrap_or(message.id));
            match opt_out {
                OptOutChange::Keep => {}
                OptOutChange::Add(opt_out) => {
                    room.opt_outs.insert(opt_out.phone, opt_out);
                }
                OptOutChange::Remove(phone) => {
                    room.opt_outs.remove(&phone);
                }
            }
        }
        let answer = matched.and_then(|matched| self.write_match(account, conversation, *matched));
        self.raise(vec![raised]);
        TakenIn::of(message, answer)
    }

    /// The facts of a match, if the message matches a keyword of the account.
    fn match_facts(&self, room: &AccountState, plan: &InboundPlan) -> Option<MatchFacts> {
        let (from, to) = (plan.text.from.number(), plan.text.to);
        let keyword = room.keywords.listening(&plan.word()?)?;
        let words = keyword.reply.as_ref().map_or("", Body::as_str);
        let is_used = |name: &&str| room.book.uses.contains_key(*name);
        let number = self.number_of(to);
        let is_ours = self.number_ids.contains_key(&from);
        Some(MatchFacts {
            book: room.book.facts(&question(keyword, from), &room.opt_outs),
            custom_names: custom_names(words)
                .into_iter()
                .filter(is_used)
                .map(str::to_owned)
                .collect(),
            keyword: keyword.clone(),
            route: number.and_then(|number| number.route.clone()),
            sender: if is_ours { Sender::OurNumber } else { Sender::Person },
            replied: room.inbox.replied(from),
            balance: room.account.balance,
            account_replies: room.keywords.replies(None),
            keyword_replies: room.keywords.replies(Some(keyword.id)),
        })
    }

    /// Writes the effects of a match. Returns the automatic reply, if one is sent.
    fn write_match(&mut self, account: AccountId, from: E164, matched: Matched) -> Option<Message> {
        let Matched { keyword, book, reply, paused } = matched;
        let room = self.accounts.get_mut(&account)?;
        room.keywords.put(keyword);
        room.book.write(book);
        room.keywords.count(paused);
        let Reply { send, replied, counts } = reply?;
        let answer = self.accept(send).ok()?.messages.pop();
        let room = self.accounts.get_mut(&account)?;
        room.inbox.set_replied(from, replied);
        room.keywords.count(counts);
        answer
    }
}

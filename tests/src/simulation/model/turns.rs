//! Which of the due messages a claim must take: lanes, and turns among accounts.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::account::Mode;
use sms_core::dispatch::{Lane, RouteLane, Turns, Wanted};
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::Message;
use sms_core::time::Timestamp;

use super::claim::ClaimSeen;
use super::{Check, Model};

/// How many servers share the store.
const SERVERS: usize = 2;

/// The lane of a message of a send to so many people.
pub(super) fn lane_of(message: &Message, people: usize) -> Lane {
    let is_bulk = message.campaign_id.is_some() || (message.mode == Mode::Live && people > 10);
    if is_bulk { Lane::Bulk } else { Lane::Normal }
}

/// What a claim cannot tell apart from other messages: any of them may be the one that is taken.
type Same = (RouteLane, AccountId, Timestamp);

/// The messages that a claim may take, in the order in which they leave, and how many of which kind
/// it must.
pub(super) struct Picks {
    pub may: Vec<(Timestamp, MessageId)>,
    kinds: BTreeMap<MessageId, Same>,
    must: BTreeMap<Same, usize>,
    waiting: BTreeSet<(RouteLane, AccountId)>,
}

impl Model {
    /// What a claim that begins now must take.
    pub(super) fn picks(&self, seen: &ClaimSeen) -> Picks {
        let mut lanes: BTreeMap<RouteLane, Vec<(Timestamp, MessageId, AccountId)>> =
            BTreeMap::new();
        let mut waiting: BTreeMap<RouteLane, BTreeSet<AccountId>> = BTreeMap::new();
        for (at, id) in &self.queue {
            let Some(text) = self.messages.get(id) else { continue };
            let lane = RouteLane::new(text.last.route.clone(), text.lane);
            if !seen.wanted.concerns(&lane) {
                continue;
            }
            waiting.entry(lane.clone()).or_default().insert(text.last.account);
            let expired = *at <= seen.at && text.expires_at <= seen.at;
            let wanted = match seen.wanted {
                Wanted::AllBut(_) => *at <= seen.at,
                Wanted::ExpiredOf(_) => expired,
            };
            if wanted {
                lanes.entry(lane).or_default().push((*at, *id, text.last.account));
            }
        }
        let mut placed = Vec::new();
        for (lane, due) in &lanes {
            let chosen = match seen.turns.after(lane) {
                Some(after) => self.in_turn(due, &waiting[lane], after, seen.limit),
                None => due.clone(),
            };
            for (nth, (at, id, account)) in chosen.into_iter().enumerate() {
                let place = seen.turns.order().place(lane.lane, nth);
                placed.push((place, at, id, account, lane.clone()));
            }
        }
        placed.sort_unstable();
        let mut must = BTreeMap::new();
        let mut may = Vec::new();
        for (_, at, id, account, lane) in placed.into_iter().take(seen.limit) {
            may.push((at, id));
            *must.entry((lane, account, at)).or_default() += 1;
        }
        let first: BTreeSet<MessageId> = may.iter().map(|(_, id)| *id).collect();
        let all = lanes.iter().flat_map(|(lane, due)| due.iter().map(move |it| (lane, *it)));
        let (mut kinds, mut waiting) = (BTreeMap::new(), BTreeSet::new());
        for (lane, (at, id, account)) in all {
            waiting.insert((lane.clone(), account));
            let kind = (lane.clone(), account, at);
            if must.contains_key(&kind) {
                if !first.contains(&id) {
                    may.push((at, id));
                }
                kinds.insert(id, kind);
            }
        }
        Picks { may, kinds, must, waiting }
    }

    /// The messages of a crowded lane in the order of the turns.
    fn in_turn(
        &self,
        due: &[(Timestamp, MessageId, AccountId)],
        waiting: &BTreeSet<AccountId>,
        after: AccountId,
        limit: usize,
    ) -> Vec<(Timestamp, MessageId, AccountId)> {
        let (behind, ahead): (Vec<AccountId>, Vec<AccountId>) =
            waiting.iter().partition(|account| **account <= after);
        let visited: Vec<AccountId> = ahead.into_iter().chain(behind).take(limit).collect();
        let share = |account: &AccountId| self.accounts[account].shown.share;
        let has_due = |account: &&AccountId| due.iter().any(|(_, _, of)| of == *account);
        let with_due = visited.iter().filter(has_due);
        let all: u64 = with_due.map(|account| u64::from(share(account).get())).sum();
        let mut chosen = Vec::new();
        for (visit, account) in visited.iter().enumerate() {
            let own = due.iter().filter(|(_, _, of)| of == account);
            for (nth, text) in own.take(Turns::most(limit, share(account), all)).enumerate() {
                chosen.push((Turns::round(nth, share(account)), visit, *text));
            }
        }
        chosen.sort_unstable();
        chosen.into_iter().map(|(_, _, text)| text).collect()
    }

    /// Checks that a claim took what it must, and passes nobody over for ever.
    pub(super) fn check_picks(
        &mut self,
        seen: &ClaimSeen,
        picks: &Picks,
        taken: &BTreeSet<MessageId>,
    ) -> Check {
        let mut took: BTreeMap<Same, usize> = BTreeMap::new();
        for id in taken {
            let kind = picks.kinds.get(id).ok_or_else(|| format!("it is not the turn of {id}"))?;
            *took.entry(kind.clone()).or_default() += 1;
        }
        ensure!(took == picks.must, "a claim took {took:?} and its turn were {:?}", picks.must);
        let served: BTreeSet<(RouteLane, AccountId)> =
            took.into_keys().map(|(lane, account, _)| (lane, account)).collect();
        let bound = self.most_passed_over();
        for (lane, account) in &picks.waiting {
            let is_served = served.contains(&(lane.clone(), *account));
            let is_behind = seen
                .turns
                .after(lane)
                .is_some_and(|after| served.iter().any(|(of, _)| of == lane) && *account != after);
            let passed = self.passed_over.entry((lane.clone(), *account)).or_default();
            *passed = if is_served || !is_behind { 0 } else { *passed + 1 };
            ensure!(*passed <= bound, "{account} was passed over {passed} times in {lane:?}");
        }
        Ok(())
    }

    /// How many claims in a row may take from a crowded lane and not from an account whose messages
    /// are due in it: as many as all servers take to go round all accounts one by one, and as many
    /// again for a server that starts anew.
    fn most_passed_over(&self) -> usize {
        2 * SERVERS * (self.accounts.len() + 1)
    }
}

//! How many messages of a campaign are in each status, kept without counting them.
//!
//! Each commit that changes messages adds up what it did to each campaign in one [`CountDelta`],
//! which the store writes in the same commit. A count is the number that the launch created plus
//! all deltas since. So workers that change messages of one campaign do not wait for each other,
//! and reading scans no messages.

use std::collections::BTreeMap;

use crate::change::Changed;
use crate::ids::{AccountId, CampaignId};
use crate::message::record::Message;
use crate::message::status::MessageStatus;
use crate::time::Timestamp;

/// The number of statuses that an outbound message can have.
pub const STATUSES: usize = 8;

/// How many messages are in each status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([u64; STATUSES]);

/// The index of a status in arrays of counts, in the order of the specification.
fn place(status: MessageStatus) -> Option<usize> {
    Counts::STATUSES.iter().position(|one| *one == status)
}

impl Counts {
    /// The counted statuses, in the order of [`Counts::to_array`].
    pub const STATUSES: [MessageStatus; STATUSES] = [
        MessageStatus::Scheduled,
        MessageStatus::Queued,
        MessageStatus::Sending,
        MessageStatus::Sent,
        MessageStatus::Delivered,
        MessageStatus::Undelivered,
        MessageStatus::Failed,
        MessageStatus::Cancelled,
    ];

    /// This many messages in one status, and none in the others.
    pub fn only(status: MessageStatus, count: u64) -> Self {
        let mut counts = Self::default();
        if let Some(place) = place(status) {
            counts.0[place] = count;
        }
        counts
    }

    /// Counts in the order of [`Counts::STATUSES`].
    pub fn from_array(counts: [u64; STATUSES]) -> Self {
        Self(counts)
    }

    /// The counts in the order of [`Counts::STATUSES`].
    pub fn to_array(self) -> [u64; STATUSES] {
        self.0
    }

    /// How many messages have this status.
    pub fn of(&self, status: MessageStatus) -> u64 {
        place(status).map_or(0, |place| self.0[place])
    }

    /// How many messages there are.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// How many messages have not been sent, failed or been cancelled yet.
    pub fn waiting(&self) -> u64 {
        MessageStatus::CLAIMABLE.into_iter().map(|status| self.of(status)).sum()
    }

    /// The counts of these messages.
    pub fn count<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut counts = Self::default();
        for place in messages.into_iter().filter_map(|text| place(text.status)) {
            counts.0[place] += 1;
        }
        counts
    }

    /// The counts after a change.
    #[must_use]
    pub fn changed(mut self, by: &[i64; STATUSES]) -> Self {
        for (count, by) in self.0.iter_mut().zip(by) {
            *count = count.saturating_add_signed(*by);
        }
        self
    }
}

/// What one commit did to the counts of one campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountDelta {
    /// The account that the campaign belongs to.
    pub account: AccountId,
    /// The campaign whose messages changed.
    pub campaign: CampaignId,
    /// The change of each count, in the order of [`Counts::STATUSES`].
    pub by: [i64; STATUSES],
    /// When a message last stopped waiting; `None` if this commit changed no waiting message.
    pub settled_at: Option<Timestamp>,
}

/// What one commit does to the counts of campaigns, added up over its changes of messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountChanges(BTreeMap<(AccountId, CampaignId), CountDelta>);

impl CountChanges {
    /// Adds one change of a message. A message of no campaign has no effect.
    pub fn add(&mut self, changed: &Changed) {
        let Changed { was, message, timeline, refund: _, events: _ } = changed;
        let Some(campaign) = message.campaign_id else { return };
        let account = message.account;
        let fresh = || CountDelta { account, campaign, by: [0; STATUSES], settled_at: None };
        let delta = self.0.entry((account, campaign)).or_insert_with(fresh);
        for (status, by) in [(was.status, -1), (message.status, 1)] {
            if let Some(place) = place(status) {
                delta.by[place] += by;
            }
        }
        let waits = |status| MessageStatus::CLAIMABLE.contains(&status);
        if waits(was.status) && !waits(message.status) {
            delta.settled_at = delta.settled_at.max(timeline.last().map(|line| line.at));
        }
    }

    /// One delta for each campaign whose counts changed.
    pub(crate) fn into_deltas(self) -> Vec<CountDelta> {
        let changes = |delta: &CountDelta| delta.by != [0; STATUSES] || delta.settled_at.is_some();
        self.0.into_values().filter(changes).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::MessageStatus::{Queued, Scheduled, Sending, Sent};
    use super::*;
    use crate::change::{News, Was, change};
    use crate::ids::CampaignId;
    use crate::message::status::Trigger;
    use crate::samples::{ids, message, now, seconds};

    fn campaign() -> CampaignId {
        CampaignId::from_u128(9)
    }

    fn text(status: MessageStatus) -> Message {
        Message { campaign_id: Some(campaign()), ..message(status) }
    }

    #[test]
    fn counts_are_kept_in_the_order_of_their_statuses() {
        let kept = [1, 2, 3, 4, 5, 6, 7, 8];
        let counts = Counts::from_array(kept);
        assert_eq!(counts.to_array(), kept);
        assert_eq!(Counts::STATUSES.map(|status| counts.of(status)), kept);
    }

    fn deltas(changed: &[Changed]) -> Vec<CountDelta> {
        let mut changes = CountChanges::default();
        for changed in changed {
            changes.add(changed);
        }
        changes.into_deltas()
    }

    fn moved(message: &Message, trigger: Trigger, at: Timestamp) -> Changed {
        change(message, &News::new(trigger, at), &mut ids()).unwrap()
    }

    #[test]
    fn a_commit_is_one_delta_for_each_campaign_with_its_last_moment() {
        let other = Message { campaign_id: Some(CampaignId::from_u128(8)), ..text(Queued) };
        let changed = [
            moved(&text(Scheduled), Trigger::Claim, seconds(1)),
            moved(&text(Sending), Trigger::Leave, seconds(3)),
            moved(&text(Sending), Trigger::Leave, seconds(2)),
            moved(&text(Sent), Trigger::Deliver, seconds(9)),
            moved(&other, Trigger::Cancel, seconds(5)),
            moved(&message(Queued), Trigger::Claim, seconds(5)),
        ];
        let found = deltas(&changed);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].by, found[0].settled_at),
            ([0, -1, 0, 0, 0, 0, 0, 1], Some(seconds(5)))
        );
        assert_eq!(
            (found[1].by, found[1].settled_at),
            ([-1, 0, -1, 1, 1, 0, 0, 0], Some(seconds(3)))
        );
    }

    #[test]
    fn a_message_that_passes_two_statuses_is_counted_in_the_last() {
        let changed = moved(&text(MessageStatus::Sending), Trigger::Deliver, now());
        let found = deltas(&[changed]);
        assert_eq!(found[0].by, [0, 0, -1, 0, 1, 0, 0, 0]);
        assert_eq!(found[0].settled_at, Some(now()));
    }

    #[test]
    fn a_change_back_and_forth_leaves_no_delta() {
        assert_eq!(deltas(&[]), []);
        let claimed = moved(&text(MessageStatus::Queued), Trigger::Claim, now());
        let same =
            Changed { was: Was { status: claimed.message.status, ..claimed.was }, ..claimed };
        assert_eq!(deltas(&[same]), []);
    }

    proptest! {
        /// Whatever happens to messages in whatever commits, the launch and the deltas equal a
        /// recount.
        #[test]
        fn counts_are_a_recount_after_any_history(
            history in proptest::collection::vec((0usize..6, 0usize..7, any::<bool>()), 0..80),
        ) {
            let triggers = [Trigger::Claim, Trigger::Leave, Trigger::Fail, Trigger::Deliver,
                            Trigger::Undeliver, Trigger::Cancel, Trigger::CallOff];
            let mut messages = vec![text(MessageStatus::Queued); 6];
            let mut counts = Counts::count(&messages);
            let mut settled_at = None;
            let mut commit = CountChanges::default();
            for (n, (which, trigger, commits)) in history.into_iter().enumerate() {
                let at = seconds(i64::try_from(n).unwrap());
                let news = News::new(triggers[trigger], at);
                if let Some(changed) = change(&messages[which], &news, &mut ids()) {
                    commit.add(&changed);
                    messages[which] = changed.message;
                }
                if commits {
                    for delta in std::mem::take(&mut commit).into_deltas() {
                        counts = counts.changed(&delta.by);
                        settled_at = settled_at.max(delta.settled_at);
                    }
                }
            }
            for delta in commit.into_deltas() {
                counts = counts.changed(&delta.by);
                settled_at = settled_at.max(delta.settled_at);
            }
            prop_assert_eq!(counts, Counts::count(&messages));
            prop_assert_eq!(counts.total(), 6);
            let left = |text: &Message| text.times.sent_at.or(text.times.failed_at)
                .or(text.times.cancelled_at);
            prop_assert_eq!(settled_at, messages.iter().filter_map(left).max());
        }
    }
}

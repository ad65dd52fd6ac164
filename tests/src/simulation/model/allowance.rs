//! What an account may send: by its status, by its balance, and as test messages.

use std::time::Duration;

use sms_core::account::status::MayNotSend;
use sms_core::account::{AccountStatus, Mode};
use sms_core::time::Timestamp;

use super::{AccountModel, Moment};

/// How many test messages an account may make within [`TEST_WINDOW`].
const TEST_MESSAGES: usize = 300;
const TEST_WINDOW: Duration = Duration::from_hours(1);
/// How long they are kept: a plan may be committed up to an hour late.
const TEST_MESSAGES_KEPT: Duration = Duration::from_hours(2);
const LATEST: Duration = Duration::from_hours(1);
const LEAST_WAIT: Duration = Duration::from_secs(1);

impl AccountModel {
    /// Why the account's status forbids it to send, if it does.
    pub(super) fn forbids(&self, mode: Mode) -> Option<MayNotSend> {
        match self.status {
            AccountStatus::Active => None,
            AccountStatus::Pending => (!mode.is_test()).then_some(MayNotSend::Pending),
            AccountStatus::Suspended => Some(MayNotSend::Suspended),
        }
    }

    /// How long further test messages must wait at `at`, if there are too many already: until
    /// enough of those of the last hour are an hour old.
    pub(super) fn test_wait(&self, mode: Mode, more: usize, at: Timestamp) -> Option<Duration> {
        if !mode.is_test() {
            return None;
        }
        let made =
            self.test_messages.iter().filter(|(made_at, _)| at.since(*made_at) < TEST_WINDOW);
        let mut made: Vec<(Timestamp, usize)> = made.copied().collect();
        made.sort_unstable();
        let fits = |made: &[(Timestamp, usize)]| {
            made.iter().map(|(_, count)| count).sum::<usize>() + more <= TEST_MESSAGES
        };
        if fits(&made) {
            return None;
        }
        let enough = (1..=made.len()).find(|gone| fits(&made[*gone..]));
        let last = enough.and_then(|gone| made.get(gone - 1)).map(|(made_at, _)| *made_at);
        let wait = last.map_or(TEST_WINDOW, |last| last.plus(TEST_WINDOW).since(at));
        Some(wait.max(LEAST_WAIT))
    }

    /// The same at a commit, which answered `told`. Messages that only matter to a plan committed
    /// more than an hour late may be forgotten.
    pub(super) fn test_wait_at(
        &self,
        moment: &Moment<'_>,
        (mode, more): (Mode, usize),
        planned_at: Timestamp,
        told: Option<Duration>,
    ) -> Option<Duration> {
        let is_late = moment.now.since(planned_at) > LATEST;
        if is_late && mode.is_test() { told } else { self.test_wait(mode, more, planned_at) }
    }

    /// Records that test messages were made.
    pub(super) fn tested(&mut self, at: Timestamp, count: usize) {
        self.test_messages.retain(|(made_at, _)| at.since(*made_at) <= TEST_MESSAGES_KEPT);
        self.test_messages.push_back((at, count));
    }
}

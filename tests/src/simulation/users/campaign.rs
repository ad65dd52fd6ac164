//! Launching and cancelling campaigns.

use std::time::Duration;

use sms_core::account::Mode;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::{LaunchOptions, QuietHoursApplied};
use sms_core::ids::{AccountId, CampaignId};
use sms_core::list::ListInput;
use sms_core::list::join::JoinInput;
use sms_core::phone::E164;
use sms_core::time::Timestamp;

use super::caller::Caller;
use crate::simulation::dice::Dice;
use crate::simulation::wish::{CAMPAIGN, number, person};

/// A campaign to launch.
#[derive(Debug, Clone)]
pub struct Spread {
    people: Vec<E164>,
    mode: Mode,
    schedule_at: Option<Timestamp>,
    ignore_quiet_hours: bool,
    tracked: bool,
    /// Whether two requests launch it at once.
    twice: bool,
}

impl Spread {
    /// A campaign that makes sense at `now`.
    pub fn draw(dice: &mut Dice, now: Timestamp) -> Self {
        let count = dice.below(9);
        let ahead = Duration::from_millis(dice.between(1, 90_000));
        Self {
            people: (0..count).map(|_| person(dice)).collect(),
            mode: if dice.percent(80) { Mode::Live } else { Mode::Test },
            schedule_at: dice.percent(30).then(|| now.plus(ahead)),
            ignore_quiet_hours: dice.percent(85),
            tracked: dice.percent(50),
            twice: dice.percent(20),
        }
    }

    /// A test campaign, launched at once.
    pub(super) fn rehearsal() -> Self {
        let people = vec![number(447_700_900_100), number(447_700_900_101)];
        let (mode, ignore_quiet_hours) = (Mode::Test, true);
        Self { people, mode, schedule_at: None, ignore_quiet_hours, tracked: false, twice: false }
    }
}

/// The errors with which a launch may be refused.
const REFUSALS: [&str; 10] = [
    "account_pending",
    "account_suspended",
    "campaign_already_launched",
    "insufficient_credit",
    "no_number",
    "no_recipients",
    "not_found",
    "rate_limited",
    "unavailable",
    "validation_failed",
];

impl Caller {
    /// Makes a list and a campaign, and launches it.
    pub(super) async fn launch(&self, account: AccountId, spread: Spread) {
        let Spread { people, mode, schedule_at, ignore_quiet_hours, tracked, twice } = spread;
        let handle = self.sms.account(account, mode);
        let list = ListInput::new("Regulars");
        let list = self.expect("list_create", handle.list_create(list).await, &[]);
        let Some(list) = list else { return };
        // Somebody else may remove the list meanwhile.
        let gone = ["not_found"];
        let phones: Vec<String> = people.iter().map(ToString::to_string).collect();
        let joining = JoinInput::default().phones(phones);
        if self.expect("list_add", handle.list_add(list.id, joining).await, &gone).is_none() {
            return;
        }
        let mut input = CampaignInput::new("Spring", CAMPAIGN, list.id);
        (input.ignore_quiet_hours, input.track_links) = (ignore_quiet_hours, Some(tracked));
        let made = self.expect("campaign_create", handle.campaign_create(input).await, &gone);
        let Some(campaign) = made else { return };
        let options = LaunchOptions::default().schedule_at(schedule_at);
        let launches = if twice { 2 } else { 1 };
        let asks = (0..launches).map(|_| handle.campaign_launch(campaign.id, options));
        for answer in futures_util::future::join_all(asks).await {
            let Some(launched) = self.expect("campaign_launch", answer, &REFUSALS) else {
                continue;
            };
            let quiet = launched.quiet_hours;
            let right = launched.campaign.launch.is_some_and(|launch| {
                let wanted = schedule_at.filter(|at| *at > launch.at);
                let put_off = launch.scheduled_at > wanted;
                launch.recipients > 0 && put_off == (quiet == QuietHoursApplied::Yes)
            });
            let loud = !ignore_quiet_hours || quiet == QuietHoursApplied::No;
            self.must(right && loud, || format!("{} was launched wrongly", campaign.id));
        }
    }

    /// Cancels a campaign.
    pub(super) async fn campaign_cancel(&self, account: AccountId, id: CampaignId) {
        let answer = self.sms.account(account, Mode::Live).campaign_cancel(id).await;
        let codes = ["campaign_not_cancellable", "not_found"];
        if let Some(answer) = self.expect("campaign_cancel", answer, &codes) {
            let campaign = answer.campaign;
            let cancelled = campaign.launch.is_some_and(|launch| launch.cancelled_at.is_some());
            self.must(cancelled && campaign.account == account, || {
                format!("cancelling {id} of {account} does not cancel it")
            });
        }
    }
}

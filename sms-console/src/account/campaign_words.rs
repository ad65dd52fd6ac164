//! When a campaign goes and what became of it, in words.

use maud::{Markup, html};
use sms_core::account::{QuietHours, Settings};
use sms_core::campaign::launch::{LaunchOptions, QuietHoursApplied};
use sms_core::campaign::{Campaign, CampaignStatus, Launch};
use sms_core::message::MessageStatus;
use sms_core::time::Timestamp;

use crate::format::{coming_time, counted, credits};

/// When a draft would go if it were launched with these options, and why.
pub(crate) fn departure_in_words(
    draft: &Campaign,
    options: &LaunchOptions,
    settings: &Settings,
    now: Timestamp,
) -> String {
    let wanted = options.apply(draft.clone());
    let departure = options.departure(&wanted, settings, now);
    let goes = departure.scheduled_at.map(|at| coming_time(at, now));
    let QuietHours { start, end } = settings.quiet_hours;
    match (departure.quiet_hours, goes) {
        (QuietHoursApplied::Yes, Some(goes)) => {
            let quiet = match options.schedule_at.filter(|at| *at > now) {
                None => format!("Quiet hours are on, from {start} to {end}"),
                Some(at) => {
                    format!("{} is in the quiet hours, from {start} to {end}", coming_time(at, now))
                }
            };
            format!("{quiet}: it would be sent at {goes}, London time.")
        }
        (_, Some(goes)) => format!("It would be sent at {goes}, London time."),
        (_, None) if wanted.ignore_quiet_hours && start != end => {
            format!("It would be sent now. Quiet hours, from {start} to {end}, are ignored.")
        }
        (_, None) => "It would be sent now.".to_owned(),
    }
}

/// What a campaign is about to do, or has done.
pub(crate) fn campaign_in_words(campaign: &Campaign, now: Timestamp) -> Markup {
    let Some(launch) = &campaign.launch else {
        return html! { "A draft: nothing has been sent." };
    };
    match (campaign.status(now), launch.scheduled_at) {
        (CampaignStatus::Scheduled, Some(at)) => html! {
            "Goes at " strong { (coming_time(at, now)) } ", London time."
        },
        (CampaignStatus::Cancelled, _) => html! { (cancelled_in_words(launch)) },
        _ => html! {
            (counted(launch.recipients, "message")) " for " (credits(launch.credits.get())) "."
        },
    }
}

fn cancelled_in_words(launch: &Launch) -> String {
    let cancelled = launch.counts.of(MessageStatus::Cancelled);
    let were = if cancelled == 1 { "was" } else { "were" };
    format!("{} {were} cancelled and refunded.", counted(cancelled, "message"))
}

/// How many messages of a launch no longer wait: sent, failed or cancelled.
pub(crate) fn have_left(launch: &Launch) -> u64 {
    launch.recipients.saturating_sub(launch.counts.waiting())
}

#[cfg(test)]
mod tests {
    use sms_core::campaign::CampaignInput;
    use sms_core::ids::{AccountId, CampaignId, ListId};

    use super::*;

    fn draft() -> Campaign {
        let input = CampaignInput::new("Roast", "Hello", ListId::from_u128(1));
        let at = Timestamp::from_millis(0);
        let account = AccountId::from_u128(1);
        input.into_draft(CampaignId::from_u128(1), account, &Settings::default(), at)
    }

    #[test]
    fn quiet_hours_are_explained_with_the_time_that_they_lead_to() {
        let (keeps, ignores) = (draft(), Campaign { ignore_quiet_hours: true, ..draft() });
        // Quiet hours are from 21:00 to 09:00.
        for (now, wanted, campaign, words) in [
            ("2026-11-23T12:00:00Z", None, &keeps, "It would be sent now."),
            (
                "2026-11-23T22:00:00Z",
                None,
                &keeps,
                "Quiet hours are on, from 21:00 to 09:00: it would be sent at 09:00 tomorrow, \
                 London time.",
            ),
            (
                "2026-11-23T08:00:00Z",
                None,
                &keeps,
                "Quiet hours are on, from 21:00 to 09:00: it would be sent at 09:00 today, \
                 London time.",
            ),
            (
                "2026-11-23T22:00:00Z",
                None,
                &ignores,
                "It would be sent now. Quiet hours, from 21:00 to 09:00, are ignored.",
            ),
            (
                "2026-11-23T12:00:00Z",
                Some("2026-11-24T12:30:00Z"),
                &keeps,
                "It would be sent at 12:30 tomorrow, London time.",
            ),
            (
                "2026-11-23T12:00:00Z",
                Some("2026-11-25T06:30:00Z"),
                &keeps,
                "06:30 on Wednesday 25 November is in the quiet hours, from 21:00 to 09:00: it \
                 would be sent at 09:00 on Wednesday 25 November, London time.",
            ),
        ] {
            let wanted: Option<Timestamp> = wanted.map(|at| at.parse().unwrap());
            let options = LaunchOptions::default().schedule_at(wanted);
            let settings = Settings::default();
            let now = now.parse().unwrap();
            assert_eq!(departure_in_words(campaign, &options, &settings, now), words);
        }
    }
}

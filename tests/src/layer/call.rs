//! What a call does, where one method does several things.

use sms_core::contact::store::CustomNamesWanted;
use sms_core::number::store::NumbersWanted;
use sms_core::sender_name::store::NamesWanted;
use sms_core::upkeep::{Chore, Due};
use sms_core::webhook::store::EndpointsWanted;

/// The name of a call of [`tidy`](sms_core::upkeep::store::Upkeep::tidy).
pub(crate) fn of_chore(chore: &Chore) -> &'static str {
    match chore {
        Chore::CampaignCounts => "tidy(CampaignCounts)",
        Chore::Deliveries { .. } => "tidy(Deliveries)",
        Chore::Events { .. } => "tidy(Events)",
        Chore::IdempotencyKeys { .. } => "tidy(IdempotencyKeys)",
        Chore::LastContacts { .. } => "tidy(LastContacts)",
        Chore::Reports { .. } => "tidy(Reports)",
        Chore::Search { .. } => "tidy(Search)",
        Chore::Sessions { .. } => "tidy(Sessions)",
        Chore::Statistics => "tidy(Statistics)",
        Chore::TestSends { .. } => "tidy(TestSends)",
        Chore::UnmatchedReports { .. } => "tidy(UnmatchedReports)",
    }
}

/// The name of a call of [`next`](sms_core::upkeep::store::Upkeep::next).
pub(crate) fn of_due(work: Due) -> &'static str {
    match work {
        Due::Messages => "next(Messages)",
        Due::FollowUps => "next(FollowUps)",
        Due::Deliveries => "next(Deliveries)",
        Due::Replays => "next(Replays)",
        Due::Rents => "next(Rents)",
    }
}

/// The name of a call of `number_list`.
pub(crate) fn of_numbers(wanted: NumbersWanted) -> &'static str {
    match wanted {
        NumbersWanted::All => "number_list",
        NumbersWanted::HeldBy(_) => "number_list(HeldBy)",
        NumbersWanted::Phone(_) => "number_list(Phone)",
        NumbersWanted::UsableBy(_) => "number_list(UsableBy)",
    }
}

/// The name of a call of `sender_name_list`.
pub(crate) fn of_names(wanted: NamesWanted) -> &'static str {
    match wanted {
        NamesWanted::All => "sender_name_list",
        NamesWanted::Approved => "sender_name_list(Approved)",
    }
}

/// The name of a call of `custom_names`.
pub(crate) fn of_custom_names(wanted: CustomNamesWanted<'_>) -> &'static str {
    match wanted {
        CustomNamesWanted::All => "custom_names",
        CustomNamesWanted::Among(_) => "custom_names(Among)",
    }
}

/// The name of a call of `endpoint_list`.
pub(crate) fn of_endpoints(wanted: EndpointsWanted) -> &'static str {
    match wanted {
        EndpointsWanted::Of(_) => "endpoint_list",
        EndpointsWanted::All { .. } => "endpoint_list(All)",
        EndpointsWanted::ReplaysDue { .. } => "endpoint_list(ReplaysDue)",
    }
}

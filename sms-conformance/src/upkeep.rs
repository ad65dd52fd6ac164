//! Chores, and when work falls due, on an empty store. The scenarios of each noun check what its
//! chores remove.

use sms_core::route::RouteName;
use sms_core::upkeep::{Chore, Due};

use crate::Rig;

scenarios! { Upkeep;
    /// A store that holds nothing has nothing to tidy.
    async fn a_store_without_anything_has_nothing_to_tidy(rig: &Rig) {
        let before = rig.now();
        for chore in [
            Chore::CampaignCounts,
            Chore::Deliveries { before },
            Chore::Events { before },
            Chore::IdempotencyKeys { before },
            Chore::LastContacts { before },
            Chore::Reports { before },
            Chore::Search { before },
            Chore::Sessions { before },
            Chore::Statistics,
            Chore::TestSends { before },
            Chore::UnmatchedReports { route: RouteName::new("main"), before, keep: 0 },
        ] {
            let done = rig.store().tidy(chore.clone(), 10).await.expect("tidied");
            assert_eq!(done, 0, "{chore:?}");
        }
    }

    /// Nothing is due in a store that holds nothing.
    async fn nothing_is_due_in_a_store_without_anything(rig: &Rig) {
        for work in [Due::Messages, Due::FollowUps, Due::Deliveries, Due::Replays, Due::Rents] {
            assert_eq!(rig.store().next(work).await.expect("read"), None, "{work:?}");
        }
    }
}

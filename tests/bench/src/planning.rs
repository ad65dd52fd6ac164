//! Planning a send: what is worked out before any store is asked.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use sms_core::account::{Mode, Settings};
use sms_core::clock::{Clock, SystemClock};
use sms_core::ids::{AccountId, IdSource};
use sms_core::link::LinkBase;
use sms_core::phone::E164;
use sms_core::random::{Random, SystemRandom};
use sms_core::route::RouteName;
use sms_core::sending::plan::{Codes, PlanFacts, Shortening, plan};
use sms_core::sending::recipients::Recipients;
use sms_core::sending::request::SendRequest;

use crate::Failed;
use crate::stock::drama_numbers;
use crate::table::print;
use crate::turns::by_turns;

pub(crate) fn planning(during: Duration) -> Result<(), Failed> {
    let mut request = SendRequest::new("Your table for two is ready at 19:30.");
    request.to = drama_numbers();
    let from = E164::from_digits(447_700_900_000).ok_or("a number")?;
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    let (settings, route, base) = (Settings::default(), RouteName::new("any"), LinkBase::default());
    let custom_names = BTreeSet::new();
    let ids = IdSource::default();
    let at = SystemClock.now();
    let facts = PlanFacts {
        account: AccountId::from_u128(1),
        settings: &settings,
        mode: Mode::Live,
        body: &request.body,
        from,
        sender: None,
        route: &route,
        custom_names: &custom_names,
        shortening: Shortening { base: &base, codes: Codes::Drawn(&random) },
        validity: Duration::from_hours(72),
        at,
    };
    let planned = || {
        let recipients = Recipients::of(black_box(&request));
        plan(&request, recipients, facts, &mut ids.draw(at, &*random))
    };
    let made = planned();
    let each = made.messages.len() as f64;
    let ours = || drop(black_box(planned()));
    let turns = by_turns(during, each, ours, || drop(black_box(made.messages.clone())));
    let what = "messages/s planned, 1,000 recipients, numbers read from text";
    print(&turns.row(what, "messages/s of the plan copied"));
    Ok(())
}

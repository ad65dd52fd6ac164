//! The loop that measures how routes stand: fitness, connections, pace.

use std::time::Duration;

use sms_core::Sms;
use sms_core::dispatch::Lane;
use sms_core::route::{Connections, Fitness, Route};
use tokio::time::{MissedTickBehavior, interval};

use crate::stopping::Stopping;

const MEASURE_EVERY: Duration = Duration::from_secs(2);

pub(crate) async fn run(sms: Sms, mut stopping: Stopping) {
    let mut ticks = interval(MEASURE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => sms.routes().iter().for_each(|route| measure(&**route)),
            () = stopping.requested() => return,
        }
    }
}

fn measure(route: &dyn Route) {
    let name = route.name().as_str();
    let ready = if route.fitness(Lane::Bulk) == Fitness::Ready { 1.0 } else { 0.0 };
    metrics::gauge!("sms_route_ready", "route" => name.to_owned()).set(ready);
    let Some(connections) = route.connections() else { return };
    let Connections { up, wanted, in_hand, pace_percent, down_for } = connections;
    let down = down_for.unwrap_or_default().as_secs_f64();
    for (gauge, value) in [
        ("sms_route_connections_up", count(up)),
        ("sms_route_connections_wanted", count(wanted)),
        ("sms_route_messages_in_hand", count(in_hand)),
        ("sms_route_pace_percent", f64::from(pace_percent)),
        ("sms_route_down_seconds", down),
    ] {
        metrics::gauge!(gauge, "route" => name.to_owned()).set(value);
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are few")]
fn count(of: usize) -> f64 {
    of as f64
}

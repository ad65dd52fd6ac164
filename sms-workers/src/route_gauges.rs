//! The loop that measures how routes stand: fitness, connections, pace.

use std::collections::BTreeMap;
use std::time::Duration;

use sms_core::Sms;
use sms_core::dispatch::Lane;
use sms_core::route::{Connections, Fitness, Route, RouteKind, RouteName};
use tokio::time::{MissedTickBehavior, interval};

use crate::stopping::Stopping;

const MEASURE_EVERY: Duration = Duration::from_secs(2);

/// A wrong setting shows within a minute, with the time that a receipt waits for its message.
const LOOK_EVERY: Duration = Duration::from_secs(15);

pub(crate) async fn run(sms: Sms, stopping: Stopping) {
    // Side by side: a slow store does not delay the gauges of connections.
    tokio::join!(measure_all(sms.clone(), stopping.clone()), look_at_receipts(sms, stopping));
}

/// Counts the receipts that match no message, and logs what to do about them when that changes.
async fn look_at_receipts(sms: Sms, mut stopping: Stopping) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told: BTreeMap<RouteName, &str> = BTreeMap::new();
    loop {
        let look = async {
            ticks.tick().await;
            let real = sms.routes().iter().filter(|route| route.kind() == RouteKind::Real);
            for name in real.map(|route| route.name()) {
                // What cannot be read now is read next time.
                let Ok(found) = sms.operator().unmatched_receipts(name, 0).await else { continue };
                let gauge = "sms_route_receipts_unmatched";
                metrics::gauge!(gauge, "route" => name.as_str().to_owned()).set(count(found.count));
                if let Some(hint) = found.hint
                    && told.insert(name.clone(), hint) != Some(hint)
                {
                    let advice = found.advice().unwrap_or_default();
                    tracing::warn!(route = name.as_str(), advice, "receipts match no message");
                }
                if found.count == 0 {
                    told.remove(name);
                }
            }
        };
        tokio::select! {
            () = look => {}
            () = stopping.requested() => return,
        }
    }
}

async fn measure_all(sms: Sms, mut stopping: Stopping) {
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

//! How routes stand, for `/metrics`: looked at every few seconds.

use std::time::Duration;

use sms_core::Sms;
use sms_core::route::{Connections, Fitness, Route};
use tokio::time::{MissedTickBehavior, interval};

use super::work::Stopping;

const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Shows how all routes stand until the server has stopped.
pub(super) async fn keep(sms: Sms, mut stopping: Stopping) {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => sms.routes().iter().for_each(|route| show(&**route)),
            _ = stopping.changed() => return,
        }
    }
}

fn show(route: &dyn Route) {
    let name = route.name().as_str();
    let ready = if route.fitness() == Fitness::Ready { 1.0 } else { 0.0 };
    metrics::gauge!("sms_route_ready", "route" => name.to_owned()).set(ready);
    let Some(connections) = route.connections() else { return };
    let Connections { up, wanted, in_hand, pace_percent, down_for } = connections;
    let down = down_for.unwrap_or_default().as_secs_f64();
    for (gauge, value) in [
        ("sms_route_connections_up", count(up)),
        ("sms_route_connections_wanted", count(wanted)),
        ("sms_route_texts_in_hand", count(in_hand)),
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

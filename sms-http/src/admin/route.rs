//! `/routes`: the state of the routes for live messages.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::dispatch::Lane;
use sms_core::route::{Connections, Fitness, Route, RouteName};

use super::tag::Tag;
use crate::web::choice::Named;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;

/// The state of a route's connections.
#[derive(Debug, Object)]
#[oai(rename = "RouteConnections")]
struct ConnectionsShape {
    /// Connections that are bound.
    up: u64,
    /// Connections that are configured.
    wanted: u64,
    /// Messages that wait for a place in the window or for the network's answer.
    in_hand: u64,
    /// The current rate as a percentage of the agreed rate: below 100 while the network throttles.
    pace_percent: u64,
    /// Seconds since any connection could carry messages; null while one can.
    down_seconds: Option<u64>,
}

impl From<Connections> for ConnectionsShape {
    fn from(connections: Connections) -> Self {
        let Connections { up, wanted, in_hand, pace_percent, down_for } = connections;
        Self {
            up: up as u64,
            wanted: wanted as u64,
            in_hand: in_hand as u64,
            pace_percent: u64::from(pace_percent),
            down_seconds: down_for.map(|time| time.as_secs()),
        }
    }
}

/// A route for live messages.
#[derive(Debug, Object)]
#[oai(rename = "Route")]
struct RouteShape {
    /// The name.
    name: String,
    /// Whether it is the default route, which carries the messages of numbers that name no route.
    default: bool,
    /// Whether the route accepts messages.
    state: Named<Fitness>,
    /// The connections; null for a route that keeps none.
    connections: Option<ConnectionsShape>,
}

impl RouteShape {
    fn of(route: &dyn Route, default: &RouteName) -> Self {
        Self {
            name: route.name().to_string(),
            default: route.name() == default,
            state: Named(route.fitness(Lane::Bulk)),
            connections: route.connections().map(Into::into),
        }
    }
}

/// The handlers of `/routes`.
#[derive(Debug)]
pub struct RouteApi {
    sms: Sms,
}

impl RouteApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/routes", tag = "Tag::Network")]
impl RouteApi {
    /// List routes
    ///
    /// The state of this server's routes, in the order of failover. Each server has separate
    /// connections.
    #[oai(path = "/", method = "get", operation_id = "route_list")]
    #[expect(clippy::unused_async, reason = "handlers are async")]
    async fn list(&self) -> Result<Answer<Vec<RouteShape>>, ApiError> {
        let default = self.sms.default_route();
        let live = self.sms.routes().iter().filter(|route| *route.name() != RouteName::test());
        Ok(Answer::new(live.map(|route| RouteShape::of(&**route, default)).collect()))
    }
}

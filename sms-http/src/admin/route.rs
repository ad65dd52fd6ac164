//! `/routes`: how the routes stand that carry live texts.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::route::{Connections, Fitness, Route, RouteName};

use super::Tag;
use crate::web::choice::Named;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;

/// How the connections of a route stand.
#[derive(Debug, Object)]
#[oai(rename = "RouteConnections")]
struct ConnectionsShape {
    /// Those that are up.
    up: u64,
    /// Those there should be.
    wanted: u64,
    /// Texts that the route has in hand: waiting for their turn, or for the network's answer.
    in_hand: u64,
    /// The pace, in hundredths of the agreed one: less than 100 where the network asked for it.
    pace_percent: u64,
    /// For how long none of them has carried texts; null while one does.
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

/// A route that carries live texts.
#[derive(Debug, Object)]
#[oai(rename = "Route")]
struct RouteShape {
    /// Its name.
    name: String,
    /// Whether it carries the texts of numbers that name no route.
    default: bool,
    /// Whether it carries texts.
    state: Named<Fitness>,
    /// Its connections; null for a route that keeps none.
    connections: Option<ConnectionsShape>,
}

impl RouteShape {
    fn of(route: &dyn Route, default: &RouteName) -> Self {
        Self {
            name: route.name().to_string(),
            default: route.name() == default,
            state: Named(route.fitness()),
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
    /// How the routes of this server stand, in the order in which one carries another's texts. Each
    /// server has connections of its own.
    #[oai(path = "/", method = "get", operation_id = "route_list")]
    #[expect(clippy::unused_async, reason = "handlers are async")]
    async fn list(&self) -> Result<Answer<Vec<RouteShape>>, ApiError> {
        let default = self.sms.default_route();
        let live = self.sms.routes().iter().filter(|route| *route.name() != RouteName::test());
        Ok(Answer::new(live.map(|route| RouteShape::of(&**route, default)).collect()))
    }
}

//! `/routes`: how the routes stand that carry live texts.

use poem_openapi::{Enum, Object, OpenApi};
use sms_core::Sms;
use sms_core::route::{Connections, Fitness, Route, RouteName};

use super::Tag;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;

/// Whether a route carries texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "RouteState", rename_all = "snake_case")]
enum StateName {
    /// It takes texts.
    Ready,
    /// It takes none for now: it has as many in hand as it can use, or no connection for a moment.
    /// Its texts wait.
    Full,
    /// It has been down for so long that the next route carries its texts. Where there is no other
    /// they wait.
    Down,
}

impl From<Fitness> for StateName {
    fn from(fitness: Fitness) -> Self {
        match fitness {
            Fitness::Ready => Self::Ready,
            Fitness::Full => Self::Full,
            Fitness::Down => Self::Down,
        }
    }
}

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
    state: StateName,
    /// Its connections; null for a route that keeps none.
    connections: Option<ConnectionsShape>,
}

impl RouteShape {
    fn of(route: &dyn Route, default: &RouteName) -> Self {
        Self {
            name: route.name().to_string(),
            default: route.name() == default,
            state: route.fitness().into(),
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

//! `/routes`: the state of the routes for live messages.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::dispatch::Lane;
use sms_core::message::ErrorCode;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::unmatched::UnmatchedReport;
use sms_core::route::{Connections, Fitness, Route, RouteName};
use sms_core::service::unmatched::UnmatchedReceipts;

use super::inbound::ReceiptName;
use super::tag::Tag;
use crate::web::choice::Named;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::field_error::checked;
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam};
use crate::web::path_param::PathParam;

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
    /// Receipts of the last 7 days that match no message, counted up to 10,000. A receipt counts
    /// after 30 seconds, because it may come before its message is recorded as sent.
    unmatched_receipts: u64,
    /// What to do about them; null if there are none.
    advice: Option<String>,
}

/// A receipt that matches no message.
#[derive(Debug, Object)]
#[oai(rename = "UnmatchedReceipt")]
struct UnmatchedShape {
    /// The network's id of the message, in the spelling that the route compares.
    network_id: String,
    /// The reported outcome.
    status: Named<ReceiptName>,
    /// Why it was not delivered; null if it was.
    error_code: Option<Named<ErrorCode>>,
    /// The last four digits of the recipient; null if the receipt does not name it.
    recipient_ends: Option<String>,
    /// When it arrived.
    received_at: Moment,
}

impl From<UnmatchedReport> for UnmatchedShape {
    fn from(report: UnmatchedReport) -> Self {
        let (status, error) = match report.status {
            ReceiptStatus::Delivered => (ReceiptName::Delivered, None),
            ReceiptStatus::Undelivered(error) => (ReceiptName::Undelivered, Some(error)),
        };
        Self {
            network_id: report.id.as_told().to_owned(),
            status: Named(status),
            error_code: error.map(Named),
            recipient_ends: report.recipient_ends(),
            received_at: report.at.into(),
        }
    }
}

impl RouteShape {
    fn of(route: &dyn Route, default: &RouteName, unmatched: &UnmatchedReceipts) -> Self {
        Self {
            name: route.name().to_string(),
            default: route.name() == default,
            state: Named(route.fitness(Lane::Bulk)),
            connections: route.connections().map(Into::into),
            unmatched_receipts: unmatched.count as u64,
            advice: unmatched.advice(),
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
    async fn list(&self) -> Result<Answer<Vec<RouteShape>>, ApiError> {
        let default = self.sms.default_route();
        let live = self.sms.routes().iter().filter(|route| *route.name() != RouteName::test());
        let mut shapes = Vec::new();
        for route in live {
            let unmatched = self.sms.operator().unmatched_receipts(route.name(), 0).await?;
            shapes.push(RouteShape::of(&**route, default, &unmatched));
        }
        Ok(Answer::new(shapes))
    }

    /// List receipts that match no message
    ///
    /// The newest receipts of a route whose id is that of no message to their recipient, newest
    /// first. They are kept for 7 days, and 10,000 of each route.
    #[oai(
        path = "/:name/unmatched-receipts",
        method = "get",
        operation_id = "route_unmatched_receipts"
    )]
    async fn unmatched(
        &self,
        /// The name of the route.
        name: PathParam,
        /// The most receipts to list.
        limit: QueryParam<Limit>,
    ) -> Result<Answer<Vec<UnmatchedShape>>, ApiError> {
        let Limit(limit) = checked(limit)?;
        let route = RouteName::new(name.0);
        let found = self.sms.operator().unmatched_receipts(&route, limit as usize).await?;
        Ok(Answer::new(found.newest.into_iter().map(Into::into).collect()))
    }
}

//! A network that takes everything at once.

use std::sync::Arc;

use async_trait::async_trait;
use sms_core::route::{
    HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink, all_at_once,
};

/// Takes everything at once and brings nothing back.
#[derive(Debug)]
pub(crate) struct Taker(RouteName);

impl Taker {
    pub(crate) fn new() -> Self {
        Self(RouteName::new("simulator"))
    }
}

#[async_trait]
impl Route for Taker {
    fn name(&self) -> &RouteName {
        &self.0
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        all_at_once(async move { vec![HandOver::Taken { simulated: Vec::new() }; messages.len()] })
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

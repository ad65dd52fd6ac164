//! The HTTP API inside a poem program of your own: under a path of yours, beside a page of yours,
//! over a route of yours. Data is kept in memory; a program that must remember it takes another
//! store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use poem::listener::TcpListener;
use poem::{Server, get, handler};
use sms_core::prelude::*;
use sms_core::route::{
    HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink, all_at_once,
};
use sms_http::mount::{ApiParts, Paths, error_page};
use sms_http::web::error::ERROR_PAGE;
use sms_http::web::intake::IntakeLimits;
use sms_store_memory::MemoryStore;
use sms_workers::{WorkerOptions, Workers};

/// Prints the messages that it is handed; `write_a_route.rs` has more of a route.
#[derive(Debug)]
struct Printer(RouteName);

#[async_trait]
impl Route for Printer {
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
        all_at_once(async move {
            let print = |text: &OutboundMessage| {
                println!("to {}: {}", text.to, text.body.as_str());
                HandOver::Taken { simulated: Vec::new() }
            };
            messages.iter().map(print).collect()
        })
    }

    /// A real route keeps its connection here, and reports what comes back.
    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// A page of your own.
#[handler]
fn home() -> &'static str {
    "The API is at /sms/api/v1.\n"
}

/// Your service.
pub(crate) fn service() -> Sms {
    let route = Arc::new(Printer(RouteName::new("printer")));
    Sms::builder(MemoryStore::new()).route(route).build()
}

/// Your program's paths. The API is at `/sms/api/v1`, and answers by its own rules: keys, rate
/// limits, errors, documents.
pub(crate) fn app(sms: &Sms) -> poem::Route {
    let parts = ApiParts::new(sms, "http://127.0.0.1:3000/sms");
    let api = Paths::new().with_api(&parts).into_endpoint(IntakeLimits::default());
    poem::Route::new().at("/", get(home)).at(ERROR_PAGE, error_page(&[])).nest("/sms", api)
}

/// An account with a number and credits, and a key for it.
pub(crate) async fn first_key(sms: &Sms) -> Result<String, Error> {
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await?;
    let account = operator.account_create(NewAccountInput::active("Bistro", 100)).await?;
    let created = operator.api_key_create(account.id, Mode::Live, None).await?;
    Ok(created.key.reveal().to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sms = service();
    let key = first_key(&sms).await?;
    let mut workers = Workers::start(&sms, WorkerOptions::new());
    println!("curl http://127.0.0.1:3000/sms/api/v1/balance -H 'Authorization: Bearer {key}'");
    let stop = async {
        tokio::select! {
            stopped = tokio::signal::ctrl_c() => stopped.expect("a handler for Ctrl-C"),
            panicked = workers.failed() => eprintln!("{panicked}"),
        }
    };
    let patience = Duration::from_secs(9);
    let server = Server::new(TcpListener::bind("127.0.0.1:3000"));
    server.run_with_graceful_shutdown(app(&sms), stop, Some(patience)).await?;
    workers.stop(patience).await?;
    Ok(())
}

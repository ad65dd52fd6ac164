//! Starts the parts of a server, and runs it until it is asked to stop.
//!
//! # The parts, in the order in which they start
//!
//! 1. **Settings** are checked as a whole, so that one start tells every mistake.
//! 2. **File handles** are raised before anything takes one, and divided among connections.
//! 3. **Routes** are read from their settings. So far nothing is open, and a mistake changes
//!    nothing.
//! 4. **Data** is opened and migrated. The clock of the server is that of its data.
//! 5. **The public listener** listens, because public URLs may need the port that the system chose.
//!    Connections wait until part 15.
//! 6. **The service** is built on the data, the routes and the public URL. It seals the webhook
//!    secrets that are stored, so that a wrong key is found before anything is sent.
//! 7. **The sandbox**, if wanted, holds the clock that the service was built with.
//! 8. **The operator's token** is read or made.
//! 9. **Metrics** are collected before any part runs that counts something.
//! 10. **The console** gets its files, and the clock of the data: sessions end by it, also in a
//!     sandbox.
//! 11. **The operator's listener** listens, if it has an address to itself. It is the last part
//!     that an operator's mistake can stop.
//! 12. **The demo account** is made while nothing else uses the service.
//! 13. **Workers** begin to send, to deliver webhooks and to tidy.
//! 14. **Tasks** keep the metrics and the demo's number up to date.
//! 15. **Listeners** serve, after the banner has told where.
//!
//! # How they stop
//!
//! All at once: listeners finish their requests and workers their claims, each within
//! `TIME_TO_STOP`. The data is closed last, with the end of [`run_with`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sms_console::Assets;
use sms_core::Sms;
use sms_core::clock::{Clock, MovableClock};
use sms_core::service::sandbox::SandboxClock;
use sms_http::admin::gate::OperatorToken;
use sms_http::api::EventStreams;
use sms_http::rate_limit::Stopwatch;
use sms_http::web::intake::IntakeLimits;
use sms_workers::{WorkerOptions, Workers};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tokio::time::timeout;

use crate::app::AppParts;
use crate::backing::{Backing, Stopping, rate};
use crate::banner::{Banner, MadeToken};
use crate::console::{self, ConsoleParts};
use crate::demo_start::{DemoStart, Routes, Started, keep_online};
use crate::handles::{ConnectionPlan, Handles};
use crate::listeners::Listeners;
use crate::mistakes::Mistakes;
use crate::operator_token::operator_token;
use crate::routes::{self, RoutePlan};
use crate::sandbox::Sandbox;
use crate::service::{self, Additions};
use crate::settings::{Keeping, Settings, SettingsRefused};
use crate::start_failed::StartFailed;
use crate::{file_metrics, metrics_page};

/// How long the whole server may take to stop after the signal.
const TIME_TO_STOP: Duration = Duration::from_secs(9);

/// Serves until `stop` resolves. Then it accepts no more requests, finishes those in progress, and
/// lets the workers finish what they have claimed.
pub async fn run(
    settings: Settings,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), StartFailed> {
    run_with(settings, Additions::default(), stop).await
}

/// [`run()`] with additions.
pub async fn run_with(
    settings: Settings,
    additions: Additions,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), StartFailed> {
    let mut plan = Plan::read(&settings, &additions)?;
    let mut opened = Opened::open(&settings, &mut plan, additions).await?;
    let started = opened.demo(&settings, plan.carriers).await?;
    warn_of(&settings);
    let (stopper, stopping) = watch::channel(());
    let mut workers = Workers::start(&opened.parts.sms, opened.worker_options());
    let mut tasks = Tasks::default();
    opened.start_tasks(&started, &stopping, &mut tasks);
    opened.show_banner(&settings, &plan, &started);
    let Opened { listeners, parts, backing: _backing, .. } = opened;
    let servers = listeners.serve(&parts, plan.connections, &stopping);
    let result = tokio::select! {
        () = stop => Ok(()),
        panicked = workers.failed() => Err(panicked.into()),
        () = tasks.one_panics() => Err(StartFailed::TaskPanicked),
    };
    tracing::info!("stopping; requests in progress will finish");
    drop(stopper);
    finish(servers, tasks, workers).await;
    result
}

/// Parts 1 to 3: what the settings ask for.
struct Plan {
    connections: ConnectionPlan,
    routes: Vec<RoutePlan>,
    /// What the banner calls the routes, the default one first.
    names: Vec<String>,
    carriers: Routes,
}

impl Plan {
    fn read(settings: &Settings, additions: &Additions) -> Result<Self, StartFailed> {
        let variables = |variable: &str| std::env::var(variable).ok();
        Mistakes::of(&settings.mistakes(&variables))?;
        let connections = Handles::raise().plan(settings.connections_per_address);
        tracing::info!("{connections}");
        if settings.sandbox && !additions.routes.is_empty() {
            return Err(SettingsRefused::SandboxNeedsSimulator.into());
        }
        let routes = routes::read(&settings.routes, &variables);
        let routes = routes.map_err(|bad| Mistakes::all(&bad))?;
        let own = additions.routes.iter().map(|route| route.name().to_string());
        let names = own.chain(routes.iter().map(RoutePlan::to_string)).collect();
        let is_simulated = |plan: &RoutePlan| *plan == RoutePlan::Simulator;
        let is_only_simulated = additions.routes.is_empty() && routes.iter().all(is_simulated);
        let carriers = if is_only_simulated { Routes::OnlySimulated } else { Routes::Others };
        Ok(Self { connections, routes, names, carriers })
    }
}

/// Parts 4 to 11: what is open before anything runs.
struct Opened {
    backing: Backing,
    listeners: Listeners,
    sandbox: Option<Sandbox>,
    made_token: Option<MadeToken>,
    parts: AppParts,
}

impl Opened {
    async fn open(
        settings: &Settings,
        plan: &mut Plan,
        additions: Additions,
    ) -> Result<Self, StartFailed> {
        let backing = Backing::open(settings).await?;
        let listeners = Listeners::public(settings)?;
        let public_url = settings.public_url(listeners.public_addr(settings));
        let movable = settings.sandbox.then(|| Arc::new(MovableClock::new(backing.clock.clone())));
        let clock = movable.clone().map_or(backing.clock.clone(), |clock| clock as Arc<dyn Clock>);
        let routes = std::mem::take(&mut plan.routes);
        let sms =
            service::build(settings, additions, routes, &backing, &clock, &public_url).await?;
        let sandbox = movable.map(|clock| Sandbox::new(sms.clone(), clock));
        let (token, made_token) = operator_token(settings)?;
        let parts = AppParts {
            sms: sms.clone(),
            streams: EventStreams::new(sms),
            rate: rate(settings),
            shared_arrivals: backing.arrivals.clone(),
            stopwatch: Stopwatch::default(),
            token: OperatorToken::new(&token),
            public_url,
            limits: IntakeLimits::default(),
            trusted_proxies: settings.trusted_proxies.clone(),
            sandbox: sandbox.clone().map(|sandbox| Arc::new(sandbox) as Arc<dyn SandboxClock>),
            metrics: Some(metrics_page::install(settings)?),
            console: console_of(settings, &backing),
        };
        let listeners = listeners.with_admin(settings)?;
        Ok(Self { backing, listeners, sandbox, made_token, parts })
    }

    /// Part 12: the demo account.
    async fn demo(&self, settings: &Settings, routes: Routes) -> Result<Started, StartFailed> {
        let sms = &self.parts.sms;
        let start = DemoStart {
            settings,
            sms,
            store: &self.backing.store,
            routes,
            link_base: &service::link_base(&self.parts.public_url)?,
            now: self.backing.clock.now(),
        };
        let started = start.run().await?;
        if started.demo.is_some() {
            // Its endpoints have secrets, too.
            sms.seal_secrets().await.map_err(StartFailed::Secrets)?;
        }
        Ok(started)
    }

    /// Part 13: what the workers are told.
    fn worker_options(&self) -> WorkerOptions {
        self.sandbox.as_ref().map_or_else(WorkerOptions::new, Sandbox::worker_options)
    }

    /// Part 14: what runs besides the workers and the listeners.
    fn start_tasks(&self, started: &Started, stopping: &Stopping, tasks: &mut Tasks) {
        if let Some(metrics) = self.parts.metrics.clone() {
            tasks.start("metrics", metrics_page::keep_small(metrics, stopping.clone()));
        }
        if let Some(file) = self.backing.file.clone() {
            tasks.start("file metrics", file_metrics::keep(file, stopping.clone()));
        }
        if let Some(number) = started.number {
            if let Some(sandbox) = &self.sandbox {
                sandbox.keep_online(number);
            }
            let sms: Sms = self.parts.sms.clone();
            tasks.start("demo number", keep_online(sms, number, stopping.clone()));
        }
    }

    /// Before part 15: the banner.
    fn show_banner(&mut self, settings: &Settings, plan: &Plan, started: &Started) {
        let addr = self.listeners.public_addr(settings);
        let banner = Banner {
            addr,
            admin_addr: self.listeners.admin_addr(),
            routes: &plan.names,
            console: self.parts.console.as_ref().map(|_| console::PREFIX),
            keeping: settings.keeping(),
            made_token: self.made_token.take(),
            demo: started.demo.as_ref(),
        };
        println!("{}", banner.text());
        tracing::info!(%addr, "serving");
    }
}

/// The console, if the settings want it.
fn console_of(settings: &Settings, backing: &Backing) -> Option<ConsoleParts> {
    let folder = settings.console_dir.clone();
    let assets = folder.map_or_else(Assets::embedded, Assets::of_folder);
    let is_wanted = settings.console.unwrap_or(true);
    is_wanted.then(|| ConsoleParts { assets, clock: Arc::clone(&backing.clock) })
}

/// Tasks of the server, each with its name.
#[derive(Default)]
struct Tasks {
    running: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

impl Tasks {
    fn start(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.running.spawn(task).id();
        self.names.insert(id, name);
    }

    /// Resolves when a task panics, and never otherwise. The server then exits, so that its
    /// supervisor can start it again.
    async fn one_panics(&mut self) {
        loop {
            match self.running.join_next().await {
                Some(Err(error)) if error.is_panic() => {
                    let task = self.names.get(&error.id()).copied().unwrap_or_default();
                    tracing::error!(task, "a task of the server panicked");
                    return;
                }
                // The loop of the demo's number ends when the number is removed.
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}

fn warn_of(settings: &Settings) {
    if settings.keeping() == Keeping::Memory {
        tracing::warn!("serving from memory: all data is lost when the server stops");
    }
    if settings.sandbox {
        tracing::warn!("running as a sandbox: POST /admin/v1/clock advances the clock");
    }
    if settings.webhook_allow_private {
        tracing::warn!("webhook endpoints on loopback and private addresses are allowed");
    }
}

/// Stops servers and workers concurrently. Servers finish their requests, workers their claims.
async fn finish(mut servers: JoinSet<()>, mut tasks: Tasks, workers: Workers) {
    let rest = async {
        while servers.join_next().await.is_some() {}
        while tasks.running.join_next().await.is_some() {}
    };
    let (workers, rest) = tokio::join!(workers.stop(TIME_TO_STOP), timeout(TIME_TO_STOP, rest));
    if let Err(error) = &workers {
        tracing::warn!(%error, "the workers did not stop in time; their leases will expire");
    }
    if rest.is_err() {
        tracing::warn!("stopped before all requests had finished");
    } else if workers.is_ok() {
        tracing::info!("stopped");
    }
}

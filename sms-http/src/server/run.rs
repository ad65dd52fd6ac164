//! From settings to a server that runs until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use sms_core::Sms;
use sms_core::clock::{Clock, MovableClock};
use sms_core::dispatch::LEASE;
use sms_core::link::LinkBase;
use sms_core::random::{Random, SystemRandom};
use sms_core::route::Route;
use sms_core::service::SmsBuilder;
use sms_core::webhook::RetrySchedule;
use sms_core::webhook::attempt::ATTEMPT_LEASE;
use sms_store_postgres::ConnectFailed;
use sms_webhooks::{HttpSender, Reach};
use sms_workers::{WorkerOptions, WorkerPanicked, Workers};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::app::{AppParts, MetricsPage, admin_app, public_app, whole_app};
use super::backing::{Backing, Stopping, rate};
use super::banner::Banner;
use super::demo::{self, Network};
use super::routes::{self, RoutePlan, SIMULATOR};
use super::settings::{Settings, SettingsRefused};
use crate::admin::gate::OperatorToken;
use crate::domain_error::causes;
use crate::rate_limit::Stopwatch;
use crate::sandbox::Sandbox;
use crate::web::intake::IntakeLimits;
use crate::web::serve::{self, ServeLimits, serve};

/// How long everything may take to stop, from the signal on.
const TIME_TO_STOP: Duration = Duration::from_secs(9);

/// How often measurements are folded together.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// How long SMSCs take to answer, counted by route in these steps of seconds: from one next door
/// to the end of the patience that a route has unless it is set.
const ANSWER_SECONDS: &str = "sms_smpp_answer_seconds";
const ANSWER_BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Why the server did not start, or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum StartFailed {
    /// Settings that do not go together.
    #[error(transparent)]
    Settings(#[from] SettingsRefused),
    /// An address could not be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// Which one.
        addr: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The webhook client could not be made.
    #[error("the webhook client could not be made")]
    Webhooks(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database could not be reached or prepared.
    #[error("the database of DATABASE_URL cannot be used: {0}")]
    Database(#[from] ConnectFailed),
    /// The demo account could not be made.
    #[error("the demo account could not be made")]
    Demo(#[from] sms_core::Error),
    /// A worker panicked.
    #[error(transparent)]
    Worker(#[from] WorkerPanicked),
    /// A task of the server panicked.
    #[error("a task of the server panicked; see the log")]
    TaskPanicked,
    /// Counters could not be set up.
    #[error("metrics could not be set up")]
    Metrics,
}

/// What a program that runs the server inside itself brings along.
#[derive(Debug, Default)]
pub struct Additions {
    /// Routes of its own, before those of the settings: the first one carries live texts whose
    /// number names no other.
    pub routes: Vec<Arc<dyn Route>>,
    /// How long claimed texts are held, if not as long as usual.
    pub lease: Option<Duration>,
    /// How long claimed webhook deliveries are held, if not as long as usual: more than
    /// `SMS_WEBHOOK_TIMEOUT`.
    pub attempt_lease: Option<Duration>,
}

/// Serves until `stop` resolves, then stops in order: no new requests, those under way end, workers
/// finish what they have in hand.
pub async fn run(
    settings: Settings,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), StartFailed> {
    run_with(settings, Additions::default(), stop).await
}

/// [`run()`] with what its caller adds.
pub async fn run_with(
    settings: Settings,
    additions: Additions,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), StartFailed> {
    settings.check()?;
    if settings.sandbox && !additions.routes.is_empty() {
        return Err(SettingsRefused::SandboxNeedsSimulator.into());
    }
    let variables = |variable: &str| std::env::var(variable).ok();
    let plans = routes::read(&settings.routes, &variables).map_err(SettingsRefused::from)?;
    let own = additions.routes.iter().map(|route| route.name().to_string());
    let route_lines: Vec<String> = own.chain(plans.iter().map(RoutePlan::to_string)).collect();
    let backing = Backing::open(&settings).await?;
    let listener = listen(settings.addr)?;
    let addr = listener.local_addr().unwrap_or(settings.addr);
    let public_url = settings.public_url(addr);
    let movable = settings.sandbox.then(|| Arc::new(MovableClock::new(backing.clock.clone())));
    let clock = movable.clone().map_or(backing.clock.clone(), |clock| clock as Arc<dyn Clock>);
    let sms = build(&settings, additions, plans, &backing, &clock, &public_url)?;
    let sandbox = movable.map(|clock| Sandbox::new(sms.clone(), clock));
    let (token, made_token) = operator_token(&settings);
    let parts = AppParts {
        sms: sms.clone(),
        rate: rate(&settings),
        shared_arrivals: backing.arrivals.clone(),
        stopwatch: Stopwatch::default(),
        token: OperatorToken::new(&token),
        public_url,
        limits: IntakeLimits::default(),
        sandbox: sandbox.clone(),
        metrics: Some(install_metrics()?),
    };
    let admin = match settings.admin_addr {
        Some(admin_addr) => Some(listen(admin_addr)?),
        None => None,
    };
    let wants_demo = settings.wants_demo();
    let demo = if wants_demo { Some(demo::make(&sms, network(&sms)).await?) } else { None };
    warn_of(&settings);
    let (stopper, stopping) = watch::channel(());
    let options = sandbox.as_ref().map_or_else(WorkerOptions::new, Sandbox::worker_options);
    let mut workers = Workers::start(&sms, options);
    let mut loops = JoinSet::new();
    backing.start(&mut loops, &stopping);
    if let Some(metrics) = parts.metrics.clone() {
        loops.spawn(keep_metrics_small(metrics, stopping.clone()));
    }
    if let Some(number) = demo.as_ref().and_then(|demo| demo.number) {
        if let Some(sandbox) = &sandbox {
            sandbox.keep_online(number);
        }
        loops.spawn(keep_online(sms.clone(), number, stopping.clone()));
    }
    let banner = Banner {
        addr,
        admin_addr: admin.as_ref().and_then(|listener| listener.local_addr().ok()),
        routes: &route_lines,
        made_token: made_token.then_some(&token),
        demo: demo.as_ref(),
    };
    println!("{}", banner.text());
    tracing::info!(%addr, "serving");
    let servers = start_servers(listener, admin, &parts, &stopping);
    let result = tokio::select! {
        () = stop => Ok(()),
        panicked = workers.failed() => Err(panicked.into()),
        () = a_task_panics(&mut loops) => Err(StartFailed::TaskPanicked),
    };
    tracing::info!("stopping: no new requests, those under way end");
    drop(stopper);
    finish(servers, loops, workers).await;
    result
}

/// Resolves when a task panics that should go on, and never otherwise. The server ends then, to be
/// started again.
async fn a_task_panics(tasks: &mut JoinSet<()>) {
    loop {
        match tasks.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!("a task of the server panicked");
                return;
            }
            // A demo number that was removed.
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

fn build(
    settings: &Settings,
    additions: Additions,
    plans: Vec<RoutePlan>,
    backing: &Backing,
    clock: &Arc<dyn Clock>,
    public_url: &str,
) -> Result<Sms, StartFailed> {
    let link_base = LinkBase::new(public_url).map_err(|_| SettingsRefused::PublicUrl)?;
    let reach = if settings.webhook_allow_private { Reach::AnyAddress } else { Reach::PublicOnly };
    let sender = HttpSender::new(reach, settings.webhook_timeout)
        .map_err(|error| StartFailed::Webhooks(Box::new(error)))?;
    let Additions { routes, lease, attempt_lease } = additions;
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    let builder = backing
        .builder()
        .clock(clock.clone())
        .random(random.clone())
        .link_base(link_base)
        .lease(lease.unwrap_or(LEASE))
        .attempt_lease(attempt_lease.unwrap_or(ATTEMPT_LEASE))
        .webhooks(Arc::new(sender))
        .webhook_retries(RetrySchedule::new(settings.webhook_retries.clone()));
    let planned = plans.into_iter().map(|plan| plan.build(clock.clone(), &random));
    Ok(routes.into_iter().chain(planned).fold(builder, SmsBuilder::route).build())
}

/// What carries the texts of a demo account.
fn network(sms: &Sms) -> Network {
    if sms.default_route().as_str() == SIMULATOR { Network::Simulated } else { Network::Real }
}

/// The operator's token, and whether it was made up now.
fn operator_token(settings: &Settings) -> (String, bool) {
    if let Some(token) = &settings.admin_token {
        return (token.0.clone(), false);
    }
    let words = [(); 3].map(|()| format!("{:016x}", SystemRandom.next_u64()));
    (words.concat(), true)
}

fn listen(addr: SocketAddr) -> Result<TcpListener, StartFailed> {
    serve::listen(addr).map_err(|source| StartFailed::Listen { addr, source })
}

fn install_metrics() -> Result<MetricsPage, StartFailed> {
    let answers = Matcher::Full(ANSWER_SECONDS.to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(answers, &ANSWER_BUCKETS)
        .map_err(|_| StartFailed::Metrics)?
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|_| StartFailed::Metrics)?;
    Ok(MetricsPage(handle))
}

fn warn_of(settings: &Settings) {
    if settings.database().is_none() {
        tracing::warn!("serving from memory: nothing is kept when the server stops");
    }
    if settings.sandbox {
        tracing::warn!("a sandbox: the operator moves the clock by POST /admin/v1/clock");
    }
    if settings.webhook_allow_private {
        tracing::warn!("webhook endpoints may be loopback and private addresses");
    }
}

fn start_servers(
    listener: TcpListener,
    admin: Option<TcpListener>,
    parts: &AppParts,
    stopping: &Stopping,
) -> JoinSet<()> {
    let mut servers = JoinSet::new();
    let mut start = |listener, app: crate::web::intake::Intake| {
        let mut stopping = stopping.clone();
        let running = app.running_handlers();
        servers.spawn(async move {
            let stop = async move {
                // An error means that the sender is gone, which is how stopping is told.
                let _ = stopping.changed().await;
            };
            serve(listener, app, ServeLimits::default(), stop).await;
            running.ended().await;
        });
    };
    match admin {
        Some(admin) => {
            start(listener, public_app(parts));
            start(admin, admin_app(parts));
        }
        None => start(listener, whole_app(parts)),
    }
    servers
}

/// The demo's simulated gateway: it checks in, so that its number stays online.
async fn keep_online(sms: Sms, number: sms_core::ids::NumberId, mut stopping: Stopping) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(demo::CHECK_IN_EVERY) => {}
            _ = stopping.changed() => return,
        }
        match sms.operator().number_check_in(number).await {
            // The operator removed it.
            Err(sms_core::Error::NotFound(_)) => return,
            Err(error) => tracing::warn!(error = %causes(&error), "the demo did not check in"),
            Ok(()) => {}
        }
    }
}

/// Folds what was measured into its buckets, which otherwise waits for somebody to read `/metrics`.
async fn keep_metrics_small(metrics: MetricsPage, mut stopping: Stopping) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => metrics.0.run_upkeep(),
            _ = stopping.changed() => return,
        }
    }
}

/// Ends everything side by side: servers end the requests under way, workers stop in order.
async fn finish(mut servers: JoinSet<()>, mut tasks: JoinSet<()>, workers: Workers) {
    let rest = async {
        while servers.join_next().await.is_some() {}
        while tasks.join_next().await.is_some() {}
    };
    let (workers, rest) = tokio::join!(workers.stop(TIME_TO_STOP), timeout(TIME_TO_STOP, rest));
    if let Err(error) = &workers {
        tracing::warn!(%error, "leases that workers still hold run out");
    }
    if rest.is_err() {
        tracing::warn!("stopped before every request had ended");
    } else if workers.is_ok() {
        tracing::info!("stopped");
    }
}

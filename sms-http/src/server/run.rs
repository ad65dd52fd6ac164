//! Builds a server from its settings, and runs it until it is asked to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use sms_console::Assets;
use sms_core::Sms;
use sms_core::clock::{Clock, MovableClock};
use sms_core::dispatch::LEASE;
use sms_core::dispatch::journal::Journal;
use sms_core::link::LinkBase;
use sms_core::random::{Random, SystemRandom};
use sms_core::route::Route;
use sms_core::service::SmsBuilder;
use sms_core::webhook::RetrySchedule;
use sms_core::webhook::attempt::ATTEMPT_LEASE;
use sms_webhooks::{
    ClientError, DnsResolver, HttpSender, Reach, Resolve, WebhookClient, WebhookClientConfig,
};
use sms_workers::{FileJournal, JournalRefused, WorkerOptions, WorkerPanicked, Workers};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::app::{AppParts, MetricsPage, MetricsReaders, admin_app, public_app, whole_app};
use super::backing::{Backing, OpenFailed, Stopping, rate};
use super::banner::{Banner, MadeToken};
use super::demo_start::{DemoStart, Routes, Started, keep_online};
use super::file_metrics;
use super::handles::{ConnectionPlan, Handles, OPERATOR_CONNECTIONS};
use super::mistakes::Mistakes;
use super::routes::{self, RoutePlan};
use super::settings::{Keeping, Settings, SettingsRefused};
use crate::admin::gate::OperatorToken;
use crate::api::EventStreams;
use crate::console::{self, ConsoleParts};
use crate::rate_limit::Stopwatch;
use crate::sandbox::Sandbox;
use crate::web::intake::IntakeLimits;
use crate::web::serve::{self, ServeLimits, serve};

/// How long the whole server may take to stop after the signal.
const TIME_TO_STOP: Duration = Duration::from_secs(9);

/// How often new measurements are folded into their histograms.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// The histogram of how long SMSCs take to answer, and its buckets in seconds: from an SMSC in the
/// same network to the default of `PATIENCE`.
const ANSWER_SECONDS: &str = "sms_smpp_answer_seconds";
const ANSWER_BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Why the server did not start, or stopped early.
#[derive(Debug, thiserror::Error)]
pub enum StartFailed {
    /// Settings are missing, invalid or contradict each other.
    #[error(transparent)]
    Settings(#[from] Mistakes),
    /// An address could not be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The webhook client could not be set up.
    #[error("the webhook client could not be set up")]
    Webhooks(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The data could not be opened.
    #[error(transparent)]
    Data(#[from] OpenFailed),
    /// The operator's token could not be kept.
    #[error("the operator's token cannot be kept in {file}: {source}")]
    Token {
        /// The file.
        file: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The journal could not be opened.
    #[error("SMS_JOURNAL_DIR: {0}")]
    Journal(#[from] JournalRefused),
    /// The stored webhook secrets cannot be opened or sealed.
    #[error("the stored webhook secrets cannot be used, check SMS_SECRET_KEY: {0}")]
    Secrets(sms_core::Error),
    /// The demo account could not be created.
    #[error("the demo account could not be created")]
    Demo(#[from] sms_core::Error),
    /// A worker panicked.
    #[error(transparent)]
    Worker(#[from] WorkerPanicked),
    /// A task of the server panicked.
    #[error("a task of the server panicked; see the log")]
    TaskPanicked,
    /// Metrics could not be set up.
    #[error("metrics could not be set up")]
    Metrics,
}

impl From<SettingsRefused> for StartFailed {
    fn from(refused: SettingsRefused) -> Self {
        Self::Settings(Mistakes::all(&[refused]))
    }
}

/// What a program that embeds the server adds to the settings.
#[derive(Debug, Default)]
pub struct Additions {
    /// More routes, placed before those of the settings. The first one becomes the default route.
    pub routes: Vec<Arc<dyn Route>>,
    /// The lease of claimed messages, if not the usual one.
    pub lease: Option<Duration>,
    /// The lease of claimed webhook deliveries, if not the usual one. It must be longer than
    /// `SMS_WEBHOOK_TIMEOUT`.
    pub attempt_lease: Option<Duration>,
}

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
    let variables = |variable: &str| std::env::var(variable).ok();
    Mistakes::of(&settings.mistakes(&variables))?;
    let plan = Handles::raise().plan(settings.connections_per_address);
    tracing::info!("{plan}");
    if settings.sandbox && !additions.routes.is_empty() {
        return Err(SettingsRefused::SandboxNeedsSimulator.into());
    }
    let plans = routes::read(&settings.routes, &variables).map_err(|bad| Mistakes::all(&bad))?;
    let own = additions.routes.iter().map(|route| route.name().to_string());
    let route_lines: Vec<String> = own.chain(plans.iter().map(RoutePlan::to_string)).collect();
    let is_simulated = |plan: &RoutePlan| *plan == RoutePlan::Simulator;
    let is_only_simulated = additions.routes.is_empty() && plans.iter().all(is_simulated);
    let routes = if is_only_simulated { Routes::OnlySimulated } else { Routes::Others };
    let backing = Backing::open(&settings).await?;
    let listener = listen(settings.addr)?;
    let addr = listener.local_addr().unwrap_or(settings.addr);
    let public_url = settings.public_url(addr);
    let movable = settings.sandbox.then(|| Arc::new(MovableClock::new(backing.clock.clone())));
    let clock = movable.clone().map_or(backing.clock.clone(), |clock| clock as Arc<dyn Clock>);
    let sms = build(&settings, additions, plans, &backing, &clock, &public_url).await?;
    let sandbox = movable.map(|clock| Sandbox::new(sms.clone(), clock));
    let (token, made_token) = operator_token(&settings)?;
    let parts = AppParts {
        sms: sms.clone(),
        streams: EventStreams::new(sms.clone()),
        rate: rate(&settings),
        shared_arrivals: backing.arrivals.clone(),
        stopwatch: Stopwatch::default(),
        token: OperatorToken::new(&token),
        public_url,
        limits: IntakeLimits::default(),
        trusted_proxies: settings.trusted_proxies.clone(),
        sandbox: sandbox.clone(),
        metrics: Some(install_metrics(&settings)?),
        console: console_of(&settings, &backing),
    };
    let admin = match settings.admin_addr {
        Some(admin_addr) => Some(listen(admin_addr)?),
        None => None,
    };
    let start = DemoStart {
        settings: &settings,
        sms: &sms,
        store: &backing.store,
        routes,
        link_base: &link_base(&parts.public_url)?,
        now: backing.clock.now(),
    };
    let Started { demo, number: demo_number } = start.run().await?;
    if demo.is_some() {
        // Its endpoints have secrets, too.
        sms.seal_secrets().await.map_err(StartFailed::Secrets)?;
    }
    warn_of(&settings);
    let (stopper, stopping) = watch::channel(());
    let options = sandbox.as_ref().map_or_else(WorkerOptions::new, Sandbox::worker_options);
    let mut workers = Workers::start(&sms, options);
    let mut loops = JoinSet::new();
    if let Some(metrics) = parts.metrics.clone() {
        loops.spawn(keep_metrics_small(metrics, stopping.clone()));
    }
    if let Some(file) = backing.file.clone() {
        loops.spawn(file_metrics::keep(file, stopping.clone()));
    }
    if let Some(number) = demo_number {
        if let Some(sandbox) = &sandbox {
            sandbox.keep_online(number);
        }
        loops.spawn(keep_online(sms.clone(), number, stopping.clone()));
    }
    let banner = Banner {
        addr,
        admin_addr: admin.as_ref().and_then(|listener| listener.local_addr().ok()),
        routes: &route_lines,
        console: parts.console.as_ref().map(|_| console::PREFIX),
        keeping: settings.keeping(),
        made_token,
        demo: demo.as_ref(),
    };
    println!("{}", banner.text());
    tracing::info!(%addr, "serving");
    let servers = start_servers(listener, admin, &parts, plan, &stopping);
    let result = tokio::select! {
        () = stop => Ok(()),
        panicked = workers.failed() => Err(panicked.into()),
        () = a_task_panics(&mut loops) => Err(StartFailed::TaskPanicked),
    };
    tracing::info!("stopping; requests in progress will finish");
    drop(stopper);
    finish(servers, loops, workers).await;
    result
}

/// The console, if the settings want it.
fn console_of(settings: &Settings, backing: &Backing) -> Option<ConsoleParts> {
    let folder = settings.console_dir.clone();
    let assets = folder.map_or_else(Assets::embedded, Assets::of_folder);
    let is_wanted = settings.console.unwrap_or(true);
    is_wanted.then(|| ConsoleParts { assets, clock: Arc::clone(&backing.clock) })
}

/// Resolves when a task panics, and never otherwise. The server then exits, so that its supervisor
/// can start it again.
async fn a_task_panics(tasks: &mut JoinSet<()>) {
    loop {
        match tasks.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!("a task of the server panicked");
                return;
            }
            // The loop of the demo's number ends when the number is removed.
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

fn sender(settings: &Settings, reach: Reach) -> Result<HttpSender, ClientError> {
    let resolver: Option<Arc<dyn Resolve>> = if settings.dns_servers.is_empty() {
        None
    } else {
        let asked = DnsResolver::asking(&settings.dns_servers).map_err(ClientError::Dns)?;
        Some(Arc::new(asked))
    };
    let timeout = settings.webhook_timeout;
    let config = WebhookClientConfig { reach, timeout, resolver, ..WebhookClientConfig::default() };
    Ok(HttpSender::with_client(WebhookClient::new(config)?))
}

async fn build(
    settings: &Settings,
    additions: Additions,
    plans: Vec<RoutePlan>,
    backing: &Backing,
    clock: &Arc<dyn Clock>,
    public_url: &str,
) -> Result<Sms, StartFailed> {
    let link_base = link_base(public_url)?;
    let reach = if settings.webhook_allow_private { Reach::AnyAddress } else { Reach::PublicOnly };
    let sender = sender(settings, reach).map_err(|error| StartFailed::Webhooks(Box::new(error)))?;
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
        .reply_limits(settings.replies.limits())
        .webhook_retries(RetrySchedule::new(settings.webhook_retries.clone()))
        .events_kept_for(Duration::from_hours(24 * u64::from(settings.events_kept_days)));
    let builder = match settings.secret_keys().map_err(SettingsRefused::from)? {
        Some(keys) => builder.seal_secrets_with(Arc::new(keys)),
        None => builder,
    };
    let journal = open_journal(settings)?;
    let builder = match &journal {
        Some(journal) => builder.journal(journal.clone()),
        None => builder,
    };
    let planned =
        plans.into_iter().map(|plan| plan.build(clock.clone(), &random, journal.as_ref()));
    let sms = routes.into_iter().chain(planned).fold(builder, SmsBuilder::route).build();
    seal_secrets(&sms, settings).await?;
    Ok(sms)
}

fn link_base(public_url: &str) -> Result<LinkBase, SettingsRefused> {
    LinkBase::new(public_url).map_err(|_| SettingsRefused::PublicUrl)
}

/// Seals the webhook secrets that are stored with the current key, and makes sure that all of them
/// can be opened.
async fn seal_secrets(sms: &Sms, settings: &Settings) -> Result<(), StartFailed> {
    let sealed = sms.seal_secrets().await.map_err(StartFailed::Secrets)?;
    match settings.secret_keys().map_err(SettingsRefused::from)? {
        Some(keys) => {
            let key = keys.current();
            tracing::info!(%key, endpoints = sealed, "webhook secrets are sealed");
        }
        None if settings.keeping() != Keeping::Memory => {
            tracing::warn!("webhook secrets are stored in plain text: SMS_SECRET_KEY is not set");
        }
        None => {}
    }
    Ok(())
}

/// The journal of hand-overs, if the settings want one.
fn open_journal(settings: &Settings) -> Result<Option<Arc<dyn Journal>>, StartFailed> {
    let Some(folder) = settings.journal() else { return Ok(None) };
    let journal: Arc<dyn Journal> = Arc::new(FileJournal::open(&folder)?);
    Ok(Some(journal))
}

/// The operator's token, and what the banner says of it. A generated token stays the same in one
/// folder.
fn operator_token(settings: &Settings) -> Result<(String, Option<MadeToken>), StartFailed> {
    if let Some(token) = &settings.secrets.admin_token {
        return Ok((token.0.clone(), None));
    }
    let Keeping::File(data) = settings.keeping() else {
        let token = made_token();
        return Ok((token.clone(), Some(MadeToken::ForThisRun(token))));
    };
    let file = data.token_file();
    let failed = |source| StartFailed::Token { file: file.display().to_string(), source };
    let token = if let Some(token) = data.token().map_err(failed)? {
        token
    } else {
        let token = made_token();
        data.keep_token(&token).map_err(failed)?;
        token
    };
    Ok((token, Some(MadeToken::InFile(file))))
}

fn made_token() -> String {
    [(); 3].map(|()| format!("{:016x}", SystemRandom.next_u64())).concat()
}

fn listen(addr: SocketAddr) -> Result<TcpListener, StartFailed> {
    serve::listen(addr).map_err(|source| StartFailed::Listen { addr, source })
}

fn install_metrics(settings: &Settings) -> Result<MetricsPage, StartFailed> {
    let answers = Matcher::Full(ANSWER_SECONDS.to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(answers, &ANSWER_BUCKETS)
        .map_err(|_| StartFailed::Metrics)?
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|_| StartFailed::Metrics)?;
    let public_readers =
        if settings.metrics_public { MetricsReaders::Anyone } else { MetricsReaders::Operator };
    Ok(MetricsPage { handle, public_readers })
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

fn start_servers(
    listener: TcpListener,
    admin: Option<TcpListener>,
    parts: &AppParts,
    plan: ConnectionPlan,
    stopping: &Stopping,
) -> JoinSet<()> {
    let mut servers = JoinSet::new();
    let limits = ServeLimits {
        connections: plan.connections,
        connections_per_address: plan.per_address,
        trusted_proxies: parts.trusted_proxies.clone(),
        ..ServeLimits::default()
    };
    let of_operator = ServeLimits { connections: OPERATOR_CONNECTIONS, ..ServeLimits::default() };
    let mut start = |listener, app: crate::web::intake::Intake, limits| {
        let mut stopping = stopping.clone();
        let (running, streams) = (app.running_handlers(), parts.streams.clone());
        servers.spawn(async move {
            let stop = async move {
                // The error means that the sender was dropped, which is the signal to stop.
                let _ = stopping.changed().await;
                streams.end();
            };
            serve(listener, app, limits, stop).await;
            running.ended().await;
        });
    };
    match admin {
        Some(admin) => {
            start(listener, public_app(parts), limits);
            start(admin, admin_app(parts), of_operator);
        }
        None => start(listener, whole_app(parts), limits),
    }
    servers
}

/// Folds new measurements into their histograms. Otherwise they pile up until a read of `/metrics`.
async fn keep_metrics_small(metrics: MetricsPage, mut stopping: Stopping) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => metrics.handle.run_upkeep(),
            _ = stopping.changed() => return,
        }
    }
}

/// Stops servers and workers concurrently. Servers finish their requests, workers their claims.
async fn finish(mut servers: JoinSet<()>, mut tasks: JoinSet<()>, workers: Workers) {
    let rest = async {
        while servers.join_next().await.is_some() {}
        while tasks.join_next().await.is_some() {}
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

//! Builds the service that a server serves: the core on its data, with its routes, its webhooks and
//! its journal.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::clock::Clock;
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
use sms_workers::FileJournal;

use crate::backing::Backing;
use crate::routes::RoutePlan;
use crate::settings::{Keeping, Settings, SettingsRefused};
use crate::start_failed::StartFailed;

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

/// Builds the service. `clock` is the one that it goes by: in a sandbox, the operator moves it.
///
/// # Errors
///
/// If a part of the service cannot be set up, or the stored webhook secrets cannot be used.
pub async fn build(
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

/// The base of the short links.
pub fn link_base(public_url: &str) -> Result<LinkBase, SettingsRefused> {
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

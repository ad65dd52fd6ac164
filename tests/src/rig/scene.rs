//! The load of a scenario, from the first request to the audit at the end.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use sms_core::ids::MessageId;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::RigFailed;
use super::audit::rules::Waiting;
use super::audit::{Books, messages, webhooks};
use super::fault::Outage;
use super::hand_overs;
use super::load::{Crowd, KEYED};
use super::receiver::Receiver;
use super::records::{Records, Told};
use super::report::{Report, Violation};
use super::site::{Site, comes_true};
use super::world::World;
use crate::simulation::dice::Dice;

/// How long the amount of waiting work may stay the same at the end, besides two leases.
const STANDSTILL: Duration = Duration::from_secs(30);
/// How long the rig waits until servers accept sends again after a fault.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time between two sends that ask for it.
const BETWEEN_SENDS: Duration = Duration::from_millis(100);
/// More sends than one server gets while it is asked.
const MOST_SENDS: usize = 1_000;

/// Settings of the load.
#[derive(Debug, Clone, Args)]
pub struct Load {
    /// Number of concurrent clients
    #[arg(long, default_value_t = 16)]
    pub clients: usize,
    /// Approximate requests per second of all clients together
    #[arg(long, default_value_t = 40)]
    pub rate: u64,
    /// How many sends of a hundred carry an idempotency key
    #[arg(long, default_value_t = KEYED, value_parser = clap::value_parser!(u64).range(0..=100))]
    pub keyed: u64,
    /// Length of leases, in seconds
    #[arg(long, default_value_t = 30)]
    pub lease: u64,
    /// Seed for faults and load
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Load {
    pub(super) fn lease(&self) -> Duration {
        Duration::from_secs(self.lease)
    }
}

/// A world under load.
pub(super) struct Scene {
    pub(super) crowd: Crowd,
    receiver: Receiver,
    clients: JoinSet<()>,
    stop: watch::Sender<()>,
    tell_round: watch::Sender<u64>,
}

impl Scene {
    /// Sets up accounts and starts the clients.
    pub(super) async fn begin(
        site: &Site,
        load: &Load,
        dice: &mut Dice,
    ) -> Result<Self, RigFailed> {
        let receiver = Receiver::start(dice.fork()).await?;
        let records = Records::default();
        let addresses = site.fleet.addresses.clone();
        let world = World::make(addresses.all()[0], receiver.addr, &records).await?;
        let (tell_round, round) = watch::channel(0);
        let pause = Duration::from_millis(1_000 * load.clients as u64 / load.rate.max(1));
        let crowd = Crowd { world, keyed: load.keyed, addresses, records, round, pause };
        let (stop, stopping) = watch::channel(());
        let clients = crowd.start(load.clients, dice, &stopping);
        Ok(Self { crowd, receiver, clients, stop, tell_round })
    }

    /// From now on it is this round.
    pub(super) fn round(&self, number: usize) {
        self.tell_round.send_replace(number as u64);
    }

    /// How long after `since` the last server accepts a send again.
    pub(super) async fn recovery(
        &self,
        number: usize,
        since: Instant,
        dice: &mut Dice,
    ) -> Duration {
        let mut servers = JoinSet::new();
        let addresses = self.crowd.addresses.all();
        for (place, addr) in addresses.iter().copied().enumerate() {
            let (crowd, mut dice) = (self.crowd.clone(), dice.fork());
            let first = (number * addresses.len() + place) * MOST_SENDS;
            servers.spawn(async move {
                for name in first.. {
                    let told = crowd.send_one(name, addr, &mut dice).await;
                    if told != Told::Nothing || since.elapsed() > PATIENCE {
                        break;
                    }
                    sleep(BETWEEN_SENDS).await;
                }
                since.elapsed()
            });
        }
        servers.join_all().await.into_iter().max().unwrap_or_default()
    }

    /// Stops the clients, waits until no work is left, stops the servers, and audits everything.
    pub(super) async fn end(
        self,
        site: &mut Site,
        lease: Duration,
        outages: &[Outage],
        report: &mut Report,
    ) -> Result<(), RigFailed> {
        let Self { crowd, receiver, clients, stop, tell_round: _tell_round } = self;
        drop(stop);
        clients.join_all().await;
        eprintln!("no more requests; waiting for remaining work");
        report.violations.extend(site.fleet.renew().await?);
        drain(site, 2 * lease + STANDSTILL, report).await?;
        report.violations.extend(site.fleet.end().await?);
        let mut books = Books::open(site).await?;
        let told = (&crowd.records, &crowd.world);
        let failed = audit(&mut books, site, told, &receiver, report).await?;
        let handed = hand_overs::read(&site.folder)?;
        let twice = hand_overs::explain(&handed, &failed, &site.fleet.pauses, outages, lease);
        report.figure("database outages", outages.len());
        report.figure("handed over again", twice.count);
        report.figure("sent unrecorded, then failed", twice.then_failed);
        report.violations.extend(twice.violations);
        report.violations.extend(site.panics()?);
        if report.violations.is_empty() {
            site.clear()?;
        } else {
            report.figure("logs", site.folder.display());
        }
        Ok(())
    }
}

/// Waits until no work is left, as long as the amount decreases. No request may be under way. Each
/// commit that finishes work also writes what follows from it, so this overlooks none.
pub(super) async fn drain(
    site: &Site,
    patience: Duration,
    report: &mut Report,
) -> Result<(), RigFailed> {
    let mut books = Books::open(site).await?;
    let mut least = i64::MAX;
    while least > 0 {
        let mut waiting = Waiting::default();
        let goes_on = comes_true(patience, async || {
            waiting = books.waiting().await?;
            Ok(waiting.work() < least)
        });
        if !goes_on.await? {
            let rule = "all work completes";
            report.violations.push(Violation::new(rule, waiting.to_string()));
            break;
        }
        least = waiting.work();
    }
    report.violations.extend(books.stale_at_rest().await?);
    Ok(())
}

/// The full audit.
pub(super) async fn audit(
    books: &mut Books,
    site: &Site,
    (records, world): (&Records, &World),
    receiver: &Receiver,
    report: &mut Report,
) -> Result<BTreeSet<MessageId>, RigFailed> {
    report.violations.extend(books.always().await?);
    report.violations.extend(books.at_the_end().await?);
    let all = books.messages().await?;
    let handed = hand_overs::read(&site.folder)?;
    {
        let known = records.lock();
        let statuses = known.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        let statuses = statuses.collect::<Vec<_>>().join(", ");
        report.figure("requests cut off", known.cut_off);
        report.figure("answers (0: none)", statuses);
        messages::audit(&all, &known, world, &handed, report);
    }
    webhooks::audit(&books.webhooks().await?, &all, &receiver.taken(), report);
    Ok(messages::failed(&all))
}

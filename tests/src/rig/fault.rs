//! The faults, one per round.

use std::time::Duration;

use sms_test_postgres::Stop;
use tokio::time::sleep;

use super::RigFailed;
use super::fleet::now;
use super::load::Crowd;
use super::site::{Site, StoreKind};
use crate::simulation::dice::Dice;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Fault {
    /// `kill -9` of a server.
    KillReplica,
    /// PostgreSQL crashes and is started again.
    CrashDatabase,
    /// PostgreSQL stops in order and is started again.
    RestartDatabase,
    /// All connections to PostgreSQL are cut.
    CutConnections,
    /// A server is stopped (SIGSTOP) for a while.
    SuspendReplica,
    /// Many clients hang up on their requests.
    CutRequests,
}

/// A period in which not every server could reach the database, in milliseconds since 1970.
pub(super) type Outage = (i64, i64);

const LONGEST_PAUSE: u64 = 2_000;
/// How many clients hang up, and how many at the same time.
const HANG_UPS: (usize, usize) = (100, 16);
/// Names of clients that hang up, apart from those of the others.
const FIRST_NAME: usize = 1_000_000;

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::KillReplica,
        Self::CrashDatabase,
        Self::RestartDatabase,
        Self::CutConnections,
        Self::SuspendReplica,
        Self::CutRequests,
    ];

    /// Those that servers on this store can have.
    pub(super) fn of(store: StoreKind) -> Vec<Self> {
        let all = Self::ALL.into_iter();
        all.filter(|fault| match fault {
            Self::KillReplica | Self::SuspendReplica | Self::CutRequests => true,
            Self::CrashDatabase | Self::RestartDatabase | Self::CutConnections => {
                store == StoreKind::Postgres
            }
        })
        .collect()
    }

    /// Causes the fault, and then restarts what an operator would restart.
    pub(super) async fn strike(
        self,
        round: usize,
        site: &mut Site,
        crowd: &Crowd,
        dice: &mut Dice,
    ) -> Result<Option<Outage>, RigFailed> {
        let replica = dice.below(site.fleet.len());
        let pause = Duration::from_millis(dice.between(50, LONGEST_PAUSE));
        let from = now();
        match self {
            Self::KillReplica => {
                site.fleet.kill(replica).await?;
                sleep(pause / 2).await;
                site.fleet.start_again(replica).await?;
                return Ok(None);
            }
            Self::CrashDatabase => {
                site.postgres()?.stop(Stop::Immediate);
                sleep(pause / 2).await;
                site.postgres()?.start_again();
            }
            Self::RestartDatabase => {
                site.postgres()?.stop(Stop::Fast);
                site.postgres()?.start_again();
            }
            Self::CutConnections => {
                site.postgres()?.cut_connections().await;
            }
            Self::SuspendReplica => {
                let suspended = site.fleet.suspend(replica)?;
                sleep(pause).await;
                site.fleet.resume(suspended)?;
                return Ok(None);
            }
            Self::CutRequests => {
                let (count, at_once) = HANG_UPS;
                crowd.hang_up(FIRST_NAME + round * count, count, at_once, dice).await;
                return Ok(None);
            }
        }
        Ok(Some((from, now())))
    }
}

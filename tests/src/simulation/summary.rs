//! What happened in a run.

use std::fmt;

use super::model::Tally;

/// What happened in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Steps, including those after the faults stopped.
    pub steps: u64,
    /// Tasks started.
    pub tasks: u64,
    /// Tasks that were dropped before their end.
    pub kills: u64,
    /// Messages handed over to routes.
    pub handed: u64,
    /// Store calls that failed, before or after they took effect.
    pub faults: u64,
    /// Requests to webhook receivers.
    pub visits: u64,
    /// Duration of the run on its virtual clock, in milliseconds.
    pub millis: u64,
    /// What was committed.
    pub tally: Tally,
    /// A hash of the trace: two runs with the same hash are the same.
    pub hash: u64,
}

impl Summary {
    /// The sum of both. Its hash has no meaning.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            tasks: self.tasks + other.tasks,
            kills: self.kills + other.kills,
            handed: self.handed + other.handed,
            faults: self.faults + other.faults,
            visits: self.visits + other.visits,
            millis: self.millis + other.millis,
            tally: self.tally.plus(other.tally),
            hash: 0,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, tasks, kills, handed, faults, visits, millis, tally, hash: _ } = self;
        let hours = millis / 3_600_000;
        writeln!(
            f,
            "{steps} steps, {tasks} tasks, {kills} of them killed, {faults} failures of the store; \
             {hours} hours passed"
        )?;
        writeln!(
            f,
            "{} sends, {} campaigns, {} messages, {} replays, {} refunds, {} rents, {} inbound, \
             {} receipts",
            tally.sends,
            tally.launches,
            tally.messages,
            tally.replays,
            tally.refunds,
            tally.rents,
            tally.inbound,
            tally.receipts
        )?;
        writeln!(
            f,
            "{} messages joined from segments, {} given up, {} matched keywords, {} of them \
             answered and {} too many; {} links, {} hits",
            tally.joined,
            tally.given_up,
            tally.matches,
            tally.replies,
            tally.throttled,
            tally.links,
            tally.hits
        )?;
        writeln!(
            f,
            "{} claims, {} of them after a lost lease; {handed} hand-overs, {} of them without a \
             claim; {} given back",
            tally.claims, tally.takeovers, tally.held, tally.given_back
        )?;
        writeln!(
            f,
            "{} events, {} seen by followers, {} removed; {} pages held back",
            tally.events, tally.followed, tally.events_removed, tally.held_back
        )?;
        writeln!(
            f,
            "{} replays to endpoints, {} of them cut off by failures; {} portions, {} too late; \
             {} events sent again",
            tally.replays_begun,
            tally.replays_cut,
            tally.portions,
            tally.portions_late,
            tally.replayed
        )?;
        write!(
            f,
            "{} deliveries, {visits} calls of receivers, {} recorded, {} endpoints switched off",
            tally.deliveries, tally.attempts, tally.switched_off
        )
    }
}

//! Writes what changes of messages bring with them: refunds, counts, statistics, events.

use rusqlite::params;
use sms_core::campaign::counts::CountDelta;
use sms_core::change::Contacted;
use sms_core::commit::{ChangeWrites, Raised};
use sms_core::ids::AccountId;
use sms_core::webhook::delivery::deliveries;

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{digits, time};

impl Db {
    pub(crate) fn write_changes(&self, writes: ChangeWrites) -> SqlResult<()> {
        let mut raised = Vec::new();
        self.write_but_events(writes, &mut raised)?;
        self.raise(raised)
    }

    /// Writes all but the events. It adds these to `all_raised`, which the caller has to
    /// [raise](Self::raise): events of several changes share a row of the log.
    pub(crate) fn write_but_events(
        &self,
        writes: ChangeWrites,
        all_raised: &mut Vec<Raised>,
    ) -> SqlResult<()> {
        let ChangeWrites { messages, unqueued, contacted, refunds, counts, tally, raised } = writes;
        for message in unqueued {
            self.unqueue(message)?;
        }
        for write in &messages {
            self.rewrite_message(write)?;
        }
        for Contacted { number, person, account, at } in contacted {
            self.run(
                "INSERT INTO last_contacted (number, person, account, at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET account = excluded.account, at = excluded.at
                 WHERE excluded.at >= at",
                params![digits(number), digits(person), self.known_account(account)?, time(at)],
            )?;
        }
        if !refunds.is_empty() {
            self.refund(refunds)?;
        }
        for delta in counts {
            self.change_counts(&delta)?;
        }
        self.tally(&tally)?;
        all_raised.extend(raised);
        Ok(())
    }

    fn change_counts(&self, delta: &CountDelta) -> SqlResult<()> {
        let CountDelta { account, campaign, by, settled_at } = delta;
        let Some(mut found) = self.campaign(*account, *campaign)? else { return Ok(()) };
        let Some(launch) = found.launch.as_mut() else { return Ok(()) };
        launch.counts = launch.counts.changed(by);
        launch.last_settled_at = launch.last_settled_at.max(*settled_at);
        self.put_counts(&found)
    }

    /// Adds events to the log, and their deliveries. Their ids are drawn in the order of the
    /// endpoints' ids.
    pub(crate) fn raise(&self, raised: Vec<Raised>) -> SqlResult<()> {
        self.log_events(&raised)?;
        let mut accounts: Vec<AccountId> =
            raised.iter().flat_map(|raised| &raised.events).map(|event| event.account).collect();
        accounts.sort_unstable();
        accounts.dedup();
        let mut endpoints = Vec::new();
        for account in accounts {
            endpoints.extend(self.endpoints(self.known_account(account)?)?);
        }
        endpoints.sort_unstable_by_key(|endpoint| endpoint.id);
        if endpoints.is_empty() {
            return Ok(());
        }
        for delivery in deliveries(raised, &endpoints.iter()) {
            self.put_delivery(&delivery)?;
        }
        Ok(())
    }
}

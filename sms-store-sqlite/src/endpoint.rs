//! Webhook endpoints as rows.

use std::collections::BTreeSet;

use rusqlite::params;
use sms_core::event::EventType;
use sms_core::ids::{AccountId, EndpointId};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, Power};
use sms_core::webhook::pause::Pause;
use sms_core::webhook::replay::Replay;
use sms_core::webhook::rotation::OldSecret;
use sms_core::webhook::sealing::StoredSecret;

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, id, maybe_time, time};

/// The columns that [`endpoint`] reads.
macro_rules! select_endpoints {
    () => {
        "SELECT id, account, url, events, description, off, secret, old_secret, old_secret_until, \
         consecutive_failures, paused_since, paused_until, replay_at, replay, \
         last_delivered_at, created_at, updated_at FROM endpoint "
    };
}
pub(crate) use select_endpoints;

pub(crate) fn endpoint(db: &Db, c: &mut Cols<'_>) -> SqlResult<Endpoint> {
    Ok(Endpoint {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        url: c.get()?,
        events: c.map(|text: String| events(&text))?,
        description: c.get()?,
        power: c
            .maybe(|place: i64| DisabledReason::ALL.get(usize::try_from(place).ok()?).copied())?
            .map_or(Power::On, Power::Off),
        secret: c.map(StoredSecret::from_stored)?,
        old_secret: old_secret(c)?,
        consecutive_failures: c.count()?,
        pause: pause(c)?,
        replay: replay(c)?,
        last_delivered_at: c.maybe_at()?,
        created_at: c.at()?,
        updated_at: c.at()?,
    })
}

fn events(text: &str) -> Option<BTreeSet<EventType>> {
    text.split_whitespace().map(|name| name.parse().ok()).collect()
}

fn old_secret(c: &mut Cols<'_>) -> SqlResult<Option<OldSecret>> {
    let secret = c.maybe(StoredSecret::from_stored)?;
    let until = c.maybe_at()?;
    Ok(secret.zip(until).map(|(secret, until)| OldSecret { secret, until }))
}

fn pause(c: &mut Cols<'_>) -> SqlResult<Option<Pause>> {
    let (since, until) = (c.maybe_at()?, c.maybe_at()?);
    Ok(since.zip(until).map(|(since, until)| Pause { since, until }))
}

fn replay(c: &mut Cols<'_>) -> SqlResult<Option<Replay>> {
    let at = c.maybe_at()?;
    c.maybe(|text: String| Replay::from_stored(&text, at?))
}

fn off(power: Power) -> Option<i64> {
    match power {
        Power::On => None,
        Power::Off(DisabledReason::ByOwner) => Some(0),
        Power::Off(DisabledReason::Failures) => Some(1),
    }
}

impl Db {
    /// The endpoints of an account, newest first.
    pub(crate) fn endpoints(&self, account: i64) -> SqlResult<Vec<Endpoint>> {
        let query = concat!(select_endpoints!(), "WHERE account = ?1 ORDER BY id DESC");
        self.all(query, [account], |c| endpoint(self, c))
    }

    pub(crate) fn endpoint(
        &self,
        account: AccountId,
        of: EndpointId,
    ) -> SqlResult<Option<Endpoint>> {
        Ok(self.endpoint_of(of)?.filter(|endpoint| endpoint.account == account))
    }

    /// The endpoint with this id, of any account.
    pub(crate) fn endpoint_of(&self, of: EndpointId) -> SqlResult<Option<Endpoint>> {
        self.one(concat!(select_endpoints!(), "WHERE id = ?1"), [id(of)], |c| endpoint(self, c))
    }

    /// Writes an endpoint, new or not.
    pub(crate) fn put_endpoint(&self, endpoint: &Endpoint) -> SqlResult<()> {
        let Endpoint {
            id: of,
            account,
            url,
            events,
            description,
            power,
            secret,
            old_secret,
            consecutive_failures,
            pause,
            replay,
            last_delivered_at,
            created_at,
            updated_at,
        } = endpoint;
        let names: Vec<&str> = events.iter().map(|kind| kind.as_str()).collect();
        self.run(
            "INSERT OR REPLACE INTO endpoint (account, id, url, events, description, off, secret,
                 old_secret, old_secret_until, consecutive_failures, paused_since, paused_until,
                 replay_at, replay, last_delivered_at, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                 ?17)",
            params![
                self.known_account(*account)?,
                id(*of),
                url,
                names.join(" "),
                description,
                off(*power),
                secret.to_stored(),
                old_secret.as_ref().map(|old| old.secret.to_stored()),
                old_secret.as_ref().map(|old| time(old.until)),
                consecutive_failures,
                pause.map(|pause| time(pause.since)),
                pause.map(|pause| time(pause.until)),
                replay.map(|replay| time(replay.next_at)),
                replay.map(|replay| replay.to_stored()),
                maybe_time(*last_delivered_at),
                time(*created_at),
                time(*updated_at)
            ],
        )?;
        Ok(())
    }
}

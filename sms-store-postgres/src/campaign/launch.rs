//! Launches campaigns. One transaction, on a connection that nothing else uses, reads the list page
//! by page, and plans and writes each page. It locks the account only at its end.

use std::panic::resume_unwind;
use std::time::Duration;

use sms_core::campaign::Campaign;
use sms_core::campaign::launch::{LaunchFacts, LaunchPlan, LaunchRefused, Written};
use sms_core::commit::{LaunchWrites, LedgerWrites, NewMessages};
use sms_core::contact::Contact;
use sms_core::idempotency::{Claim, Once};
use sms_core::sending::settle::TEST_WINDOW;
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::row::lock;
use crate::PgStore;
use crate::address_book::{NamedContacts, contact_columns, contacts, select_named_contacts};
use crate::conversation;
use crate::credits::book;
use crate::error::{PgError, PgResult, is_conflict, is_gone};
use crate::event;
use crate::idempotency::{Taken, remember};
use crate::link;
use crate::new_message::insert_queued;
use crate::row::{Read, amount, time, uuid};
use crate::sending::write_tests;
use crate::wire::Wire;

/// The number of concurrent launches. Others wait for their turn. The core starts at most two with
/// long lists, so that there is always room for one with a short list.
pub(crate) const SIDE_BY_SIDE: usize = 3;
/// How often a launch is tried after conflicts with other transactions or a lost connection.
const MOST_TRIES: usize = 3;
/// How long a launch may take. Messages must not be written much later than the time in their ids:
/// see `sms_core::message::filter::SETTLED_AFTER`.
const LONGEST: Duration = Duration::from_mins(4);

/// A launch of this many messages outdates the database's statistics of the queue.
const MANY: u64 = 10_000;

const DOING: &str = "launching a campaign";

type Refused = CommitError<LaunchRefused>;

fn store_error(error: impl Into<PgError>) -> Refused {
    CommitError::Store(error.into().during(DOING))
}

fn too_long() -> Refused {
    CommitError::Store(StoreError::Unavailable { doing: DOING, source: None })
}

/// Launches a campaign. If an earlier commit succeeded and only its answer was lost, a retry
/// recognises its batch.
pub(super) async fn launch(
    store: &PgStore,
    plan: LaunchPlan,
    claim: Option<&Claim>,
) -> Result<Once<Campaign>, Refused> {
    // Looked up first too, so that a key that is taken plans no list.
    if let Some(earlier) = store.earlier(claim).await.map_err(store_error)? {
        return Ok(Once::Earlier(earlier));
    }
    let started = Instant::now();
    let turn = tokio::time::timeout(LONGEST, store.launches.acquire()).await;
    let _turn = turn.map_err(|_| too_long())?.map_err(|_| too_long())?;
    // If this future is dropped, the connection closes and its transaction rolls back.
    let mut wire = Wire::new(store.pool.clone());
    let mut tries = 0;
    loop {
        tries += 1;
        match once(&mut wire, plan.clone(), claim, started).await {
            Err(CommitError::Store(error))
                if tries < MOST_TRIES
                    && started.elapsed() < LONGEST
                    && (is_conflict(&error) || is_gone(&error)) => {}
            answer => {
                if let Ok(Some(campaign)) = &answer {
                    tell_the_planner(&mut wire, campaign).await;
                }
                wire.close().await;
                return match answer {
                    Ok(Some(campaign)) => Ok(Once::Done(campaign)),
                    Ok(None) => {
                        let earlier = store.earlier(claim).await.map_err(store_error)?;
                        earlier.map(Once::Earlier).ok_or_else(|| store_error(PgError::Overtaken))
                    }
                    Err(refused) => store.refused(claim, refused).await,
                };
            }
        }
    }
}

/// Analyzes the queue after a large launch. The last ANALYZE may have found it nearly empty, even
/// while this launch wrote. Then the planner expects a few rows, and reads the whole queue for
/// every portion that is claimed, recorded or cancelled, until autovacuum analyzes it.
async fn tell_the_planner(wire: &mut Wire, campaign: &Campaign) {
    let messages = campaign.launch.as_ref().map_or(0, |launch| launch.recipients);
    if messages < MANY {
        return;
    }
    let Ok(connection) = wire.begin().await else { return };
    // A failure only makes queries slower for a while. If the table is locked for this, another
    // session is analyzing it.
    let measured = sqlx::query("ANALYZE (SKIP_LOCKED) queue").execute(connection).await;
    match measured {
        Ok(_) => drop(wire.commit().await),
        Err(_) => wire.roll_back().await,
    }
}

/// `None` if an earlier request has the key of the claim. Then nothing was written.
async fn once(
    wire: &mut Wire,
    plan: LaunchPlan,
    claim: Option<&Claim>,
    started: Instant,
) -> Result<Option<Campaign>, Refused> {
    let connection = wire.begin().await.map_err(store_error)?;
    let settled = match settle(&mut *connection, plan, started).await {
        Ok(campaign) => match remember(connection, claim, &campaign).await {
            Ok(taken) => Ok((campaign, taken)),
            Err(error) => Err(store_error(error)),
        },
        Err(refused) => Err(refused),
    };
    match settled {
        Ok((campaign, Taken::Now)) => {
            wire.commit().await.map(|()| Some(campaign)).map_err(store_error)
        }
        Ok((_, Taken::Before)) => {
            wire.roll_back().await;
            Ok(None)
        }
        Err(refused) => {
            wire.roll_back().await;
            Err(refused)
        }
    }
}

/// Whether reading the facts locks the account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Account {
    Unlocked,
    Locked,
}

async fn settle(
    connection: &mut PgConnection,
    mut plan: LaunchPlan,
    started: Instant,
) -> Result<Campaign, Refused> {
    // Another launch of the same campaign may hold its lock for longer than the usual timeouts.
    let patience = "SELECT set_config('lock_timeout', '25s', true),
                           set_config('statement_timeout', '25s', true)";
    sqlx::query(patience).execute(&mut *connection).await.map_err(store_error)?;
    event::base::raise_none(connection).await.map_err(store_error)?;
    let campaign = lock(connection, plan.account(), plan.draft.id).await.map_err(store_error)?;
    let (facts, _) = facts(connection, &plan, campaign, Account::Unlocked).await?;
    if let Some(campaign) = plan.launched_before(&facts) {
        return Ok(campaign);
    }
    plan.begin(&facts)?;
    if plan.is_doubtful(&facts) {
        // A rehearsal writes nothing, so that a refused launch leaves no dead rows behind.
        let dry = pages(connection, plan.rehearsal(), Writing::Nothing, started).await?;
        let _foreseen = dry.settle(&facts)?;
    }
    let plan = pages(connection, plan, Writing::Messages, started).await?;
    let (facts, seq) = self::facts(connection, &plan, facts.campaign, Account::Locked).await?;
    let verdict = plan.settle(&facts)?;
    write(connection, verdict, seq).await.map_err(store_error)
}

/// Whether a pass over the list writes its messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Messages,
    Nothing,
}

/// Plans every contact of the list. The cursor shows the list as it was when it was opened.
async fn pages(
    connection: &mut PgConnection,
    mut plan: LaunchPlan,
    writing: Writing,
    started: Instant,
) -> Result<LaunchPlan, Refused> {
    let declare = concat!(
        "DECLARE members NO SCROLL CURSOR FOR
         SELECT ",
        contact_columns!(),
        ", c.opted_out FROM contact_list_member m CROSS JOIN LATERAL (",
        select_named_contacts!("$3", "$4", "$5", "$6"),
        "WHERE c.account_id = $1 AND c.id = m.contact_id LIMIT 1) AS c
         WHERE m.account_id = $1 AND m.list_id = $2
         ORDER BY m.contact_id"
    );
    let NamedContacts { first_name, last_name, email, custom } = NamedContacts::of(&plan.fields);
    let declare = sqlx::query(declare)
        .bind(uuid(plan.account()))
        .bind(uuid(plan.draft.list))
        .bind(first_name)
        .bind(last_name)
        .bind(email)
        .bind(custom);
    declare.persistent(false).execute(&mut *connection).await.map_err(store_error)?;
    let fetch = format!("FETCH {} FROM members", plan.page_size.max(1));
    loop {
        if started.elapsed() > LONGEST {
            return Err(too_long());
        }
        let fetch = sqlx::query(AssertSqlSafe(fetch.clone())).persistent(false);
        let rows = fetch.fetch_all(&mut *connection).await.map_err(store_error)?;
        if rows.is_empty() {
            break;
        }
        let page;
        (plan, page) = plan_page(plan, rows).await?;
        if writing == Writing::Messages {
            let NewMessages { messages, links } = plan.new_messages(&page);
            insert_queued(connection, &messages).await.map_err(store_error)?;
            let written = link::insert(connection, &links).await.map_err(store_error)?;
            if written.len() < links.len() {
                // A link code is taken: the core plans again.
                return Err(CommitError::Stale);
            }
        }
    }
    sqlx::query("CLOSE members").execute(connection).await.map_err(store_error)?;
    Ok(plan)
}

/// Reads and plans a page of contacts, apart from the threads of the runtime.
async fn plan_page(
    mut plan: LaunchPlan,
    rows: Vec<PgRow>,
) -> Result<(LaunchPlan, Written), Refused> {
    let planned = spawn_blocking(move || {
        let page: Vec<Contact> = contacts(&rows)?;
        drop(rows);
        let page = plan.page(&page);
        Ok((plan, page))
    });
    match planned.await {
        Ok(planned) => planned.map_err(|error: PgError| store_error(error)),
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is ending.
            Err(_) => Err(too_long()),
        },
    }
}

/// Selects the facts, without the lock.
macro_rules! facts_query {
    () => {
        "SELECT a.status, a.balance, a.ledger_seq,
             (SELECT contact_count FROM contact_list WHERE account_id = $1 AND id = $2)
                 AS list_size
         FROM account a WHERE a.id = $1"
    };
}

/// Reads the facts, and the seq of the account's newest ledger entry.
async fn facts(
    connection: &mut PgConnection,
    plan: &LaunchPlan,
    campaign: Option<Campaign>,
    account: Account,
) -> Result<(LaunchFacts, i64), Refused> {
    let query = match account {
        Account::Unlocked => facts_query!(),
        Account::Locked => concat!(facts_query!(), " FOR NO KEY UPDATE OF a"),
    };
    let query = sqlx::query(query).bind(uuid(plan.account())).bind(uuid(plan.draft.list));
    let row = query.fetch_optional(&mut *connection).await.map_err(store_error)?;
    let row = row.ok_or(CommitError::Refused(LaunchRefused::NoSuchCampaign))?;
    let size: Option<i64> = row.try_get("list_size").map_err(store_error)?;
    let facts = LaunchFacts {
        campaign,
        list_size: size.and_then(|size| u64::try_from(size).ok()),
        status: row.name("status").map_err(store_error)?,
        balance: row.credits("balance").map_err(store_error)?,
        test_messages: test_messages(connection, plan).await.map_err(store_error)?,
    };
    Ok((facts, row.try_get("ledger_seq").map_err(store_error)?))
}

async fn test_messages(
    connection: &mut PgConnection,
    plan: &LaunchPlan,
) -> PgResult<Vec<(Timestamp, u32)>> {
    if !plan.mode.is_test() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(
        "SELECT made_at, messages FROM test_send WHERE account_id = $1 AND made_at > $2
         ORDER BY made_at",
    )
    .bind(uuid(plan.account()))
    .bind(time(plan.at.minus(TEST_WINDOW)))
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.at("made_at")?, row.count("messages")?))).collect()
}

async fn write(
    connection: &mut PgConnection,
    writes: LaunchWrites,
    seq: i64,
) -> PgResult<Campaign> {
    let LaunchWrites { campaign, entry, balance, test_messages, conversations } = writes;
    let account = campaign.account;
    let ledger = LedgerWrites::of(account, entry, balance);
    book(connection, ledger, |_| Some(seq)).await?;
    conversation::shift_batch(connection, account, conversations).await?;
    write_tests(connection, test_messages.into_iter().collect()).await?;
    let Some(launch) = &campaign.launch else { return Ok(campaign) };
    let mut update = sqlx::query(
        "UPDATE campaign
         SET track_links = $3, ignore_quiet_hours = $4, updated_at = $5, launched_at = $6,
             scheduled_at = $7, batch_id = $8, recipients = $9, rejected = $10, credits = $11,
             scheduled = $12, queued = $13, sending = $14, sent = $15, delivered = $16,
             undelivered = $17, failed = $18, cancelled = $19, links = $20
         WHERE account_id = $1 AND id = $2",
    )
    .bind(uuid(account))
    .bind(uuid(campaign.id))
    .bind(campaign.track_links)
    .bind(campaign.ignore_quiet_hours)
    .bind(time(campaign.updated_at))
    .bind(time(launch.at))
    .bind(launch.scheduled_at.map(time))
    .bind(uuid(launch.batch))
    .bind(i64::try_from(launch.recipients).unwrap_or(i64::MAX))
    .bind(i64::try_from(launch.rejected).unwrap_or(i64::MAX))
    .bind(amount(launch.credits));
    // In the order of `Counts::STATUSES`.
    for count in launch.counts.to_array() {
        update = update.bind(i64::try_from(count).unwrap_or(i64::MAX));
    }
    let links = i64::try_from(campaign.links.links).unwrap_or(i64::MAX);
    update.bind(links).execute(connection).await?;
    Ok(campaign)
}

//! Queries whose every row is a violation. Each is one statement, so it sees one snapshot of the
//! database, whatever else is going on.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::{PgConnection, Row};

use crate::rig::RigFailed;
use crate::rig::report::Violation;
use crate::rig::site::comes_true;

/// What must hold, and the query that finds violations.
type Rule = (&'static str, &'static str);

/// The rules that hold at every moment.
const ALWAYS: [Rule; 10] = [
    (
        "a balance is the sum of its ledger and equals its newest entry's balance, and the ledger \
         has no gap",
        "SELECT 'account ' || a.id AS subject
         FROM account a
         LEFT JOIN (SELECT account_id, sum(amount) AS total, count(*) AS entries, max(seq) AS newest
                    FROM ledger_entry GROUP BY account_id) l ON l.account_id = a.id
         LEFT JOIN ledger_entry n ON n.account_id = a.id AND n.seq = l.newest
         WHERE a.balance < 0
            OR a.balance IS DISTINCT FROM COALESCE(l.total, 0)
            OR a.balance IS DISTINCT FROM COALESCE(n.balance_after, 0)
            OR a.ledger_seq IS DISTINCT FROM COALESCE(l.newest, 0)
            OR l.entries IS DISTINCT FROM l.newest",
    ),
    (
        "each entry of a ledger builds on the one before it",
        "SELECT 'account ' || account_id || ' entry ' || seq AS subject
         FROM (SELECT account_id, seq, balance_after,
                      COALESCE(lag(balance_after) OVER ledger, 0) + amount AS expected
               FROM ledger_entry WINDOW ledger AS (PARTITION BY account_id ORDER BY seq)) e
         WHERE balance_after IS DISTINCT FROM expected OR balance_after < 0",
    ),
    (
        "a send is charged once, with the sum of its messages",
        "SELECT 'batch ' || COALESCE(m.batch_id, l.batch_id) AS subject
         FROM (SELECT account_id, batch_id, sum(credits) AS credits FROM message
               WHERE direction = 'outbound' AND mode = 'live' GROUP BY 1, 2) m
         FULL JOIN (SELECT account_id, batch_id, -sum(amount) AS credits, count(*) AS times
                    FROM ledger_entry WHERE kind = 'send' GROUP BY 1, 2) l
              ON l.account_id = m.account_id AND l.batch_id = m.batch_id
         WHERE m.credits IS DISTINCT FROM l.credits OR l.times <> 1",
    ),
    (
        "a message is refunded once if it failed or was cancelled, and otherwise never",
        "SELECT 'message ' || COALESCE(m.id, l.message_id) AS subject
         FROM (SELECT account_id, id, credits FROM message
               WHERE status IN ('failed', 'cancelled') AND mode = 'live') m
         FULL JOIN (SELECT account_id, message_id, sum(amount) AS credits, count(*) AS times
                    FROM ledger_entry WHERE kind = 'refund' GROUP BY 1, 2) l
              ON l.account_id = m.account_id AND l.message_id = m.id
         WHERE m.credits IS DISTINCT FROM l.credits OR l.times <> 1",
    ),
    (
        "a request makes one send, however often it is repeated",
        "SELECT 'batches ' || string_agg(DISTINCT batch_id::text, ' and ') AS subject
         FROM message WHERE direction = 'outbound'
         GROUP BY account_id, body HAVING count(DISTINCT batch_id) <> 1",
    ),
    (
        "a stored idempotency key has its send",
        "SELECT 'batch ' || k.batch_id AS subject FROM idempotency_key k
         WHERE k.credits > 0 AND NOT EXISTS (SELECT FROM message m
                           WHERE m.account_id = k.account_id AND m.batch_id = k.batch_id)",
    ),
    (
        "a message is in the queue exactly while it waits to be sent",
        "SELECT 'message ' || COALESCE(m.id, q.message_id) AS subject
         FROM (SELECT account_id, id FROM message
               WHERE status IN ('scheduled', 'queued', 'sending')) m
         FULL JOIN queue q ON q.account_id = m.account_id AND q.message_id = m.id
         WHERE m.id IS NULL OR q.message_id IS NULL",
    ),
    (
        "statistics equal a recount of messages and ledger",
        "SELECT 'account ' || account_id || ' ' || counted || ' at ' || at AS subject
         FROM (SELECT account_id, at, counted, amount FROM statistic_change
               UNION ALL
               SELECT account_id, at, counted, amount
               FROM statistic CROSS JOIN LATERAL (VALUES
                   ('sent', sent), ('delivered', delivered), ('failed', failed),
                   ('received', received), ('credits', credits)) AS kept (counted, amount)
               WHERE span = 'moment'
               UNION ALL
               SELECT account_id, at, counted, -1
               FROM message CROSS JOIN LATERAL (VALUES
                   ('sent', sent_at), ('delivered', delivered_at), ('failed', failed_at),
                   ('received', received_at)) AS there (counted, at)
               WHERE mode = 'live' AND at IS NOT NULL
               UNION ALL
               SELECT account_id, created_at, 'credits', amount FROM ledger_entry
               WHERE kind IN ('send', 'refund')) d
         GROUP BY account_id, counted, at HAVING sum(amount) <> 0",
    ),
    (
        "the totals of minutes and hours equal the sums of their moments",
        "SELECT 'account ' || account_id || ' ' || span || ' ' || at AS subject
         FROM (SELECT account_id, span, at, sent, delivered, failed, received, credits
               FROM statistic WHERE span <> 'moment'
               UNION ALL
               SELECT account_id, longer.span, date_trunc(longer.span, at, 'UTC'),
                      -sent, -delivered, -failed, -received, -credits
               FROM statistic CROSS JOIN (VALUES ('minute'), ('hour')) AS longer (span)
               WHERE statistic.span = 'moment') d
         GROUP BY account_id, span, at
         HAVING sum(sent) <> 0 OR sum(delivered) <> 0 OR sum(failed) <> 0 OR sum(received) <> 0
             OR sum(credits) <> 0",
    ),
    (
        "a sent message has a receipt to come",
        "SELECT 'message ' || m.id AS subject FROM message m
         WHERE m.status = 'sent'
           AND NOT EXISTS (SELECT FROM follow_up f WHERE f.message_id = m.id)",
    ),
];

/// Deliveries that wait. A pending delivery of an earlier run of its endpoint counts as given up,
/// although it is not tidied yet.
macro_rules! pending_deliveries {
    () => {
        "FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id AND e.run = d.run
         WHERE d.status = 'pending'"
    };
}

/// The rules that hold once all work is done.
const AT_THE_END: [Rule; 3] = [
    (
        "every accepted message reaches a final status",
        "SELECT 'message ' || id || ' ' || status AS subject FROM message
         WHERE status NOT IN ('delivered', 'undelivered', 'failed', 'cancelled', 'received')",
    ),
    ("no follow-up is left", "SELECT 'message ' || message_id AS subject FROM follow_up"),
    (
        "every delivery is delivered or given up",
        concat!("SELECT 'delivery ' || d.id AS subject ", pending_deliveries!()),
    ),
];

/// Transactions that are open and idle, each with the moment since when it is.
const STALE: &str = "SELECT concat('session ', pid, ', idle in a transaction since ', state_change)
        AS subject FROM pg_stat_activity
    WHERE state LIKE 'idle in transaction%' AND state_change < now() - $1 * interval '1 ms'";
/// How long a transaction may be idle under load.
pub(in crate::rig) const BUSY: Duration = Duration::from_secs(5);
/// How long such a transaction may exist until the database ends it.
const UNTIL_ENDED: Duration = Duration::from_secs(20);
/// How long work under way may take to end.
const UNTIL_QUIET: Duration = Duration::from_secs(5);

/// Violations of the rules that hold at every moment.
pub(in crate::rig) async fn always(db: &mut PgConnection) -> Result<Vec<Violation>, RigFailed> {
    ask(db, &ALWAYS).await
}

/// Violations of the rules that hold once all work is done.
pub(in crate::rig) async fn at_the_end(db: &mut PgConnection) -> Result<Vec<Violation>, RigFailed> {
    ask(db, &AT_THE_END).await
}

/// Transactions that are idle for longer than under normal load.
pub(in crate::rig) async fn stale_under_load(
    db: &mut PgConnection,
) -> Result<Vec<Violation>, RigFailed> {
    stale(db, BUSY, UNTIL_ENDED).await
}

/// Transactions that are open although no work is under way.
pub(in crate::rig) async fn stale_at_rest(
    db: &mut PgConnection,
) -> Result<Vec<Violation>, RigFailed> {
    stale(db, Duration::ZERO, UNTIL_QUIET).await
}

/// Polls until none is left that was there at the first look. A query may catch a transaction
/// between two of its statements, and on a busy machine each look may catch another one.
async fn stale(
    db: &mut PgConnection,
    age: Duration,
    bound: Duration,
) -> Result<Vec<Violation>, RigFailed> {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let mut look = async || -> Result<BTreeSet<String>, RigFailed> {
        let rows = sqlx::query(STALE).bind(age).fetch_all(&mut *db).await?;
        Ok(rows.iter().map(|row| row.get("subject")).collect())
    };
    let mut found = look().await?;
    comes_true(bound, async || {
        let still = look().await?;
        found.retain(|session| still.contains(session));
        Ok(found.is_empty())
    })
    .await?;
    let rule = "no transaction is left open";
    Ok(found.into_iter().map(|session| Violation::new(rule, session)).collect())
}

async fn ask(db: &mut PgConnection, rules: &[Rule]) -> Result<Vec<Violation>, RigFailed> {
    let mut violations = Vec::new();
    for (rule, question) in rules {
        for row in sqlx::query(*question).fetch_all(&mut *db).await? {
            violations.push(Violation::new(rule, row.get::<String, _>("subject")));
        }
    }
    Ok(violations)
}

/// The work that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::rig) struct Waiting {
    pub(super) messages: i64,
    pub(super) receipts: i64,
    pub(super) deliveries: i64,
    /// The attempts made for these deliveries so far.
    pub(super) attempts: i64,
}

/// More attempts than one delivery ever gets.
const ATTEMPTS: i64 = 8;

impl Waiting {
    /// The amount of work, including all that follows from it: a message that is sent makes a
    /// receipt and deliveries, and a receipt makes deliveries. So the amount only decreases.
    pub(in crate::rig) fn work(self) -> i64 {
        ATTEMPTS * (4 * self.messages + 2 * self.receipts + self.deliveries) - self.attempts
    }
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { messages, receipts, deliveries, attempts } = self;
        write!(f, "{messages} messages, {receipts} receipts, {deliveries} deliveries after ")?;
        write!(f, "{attempts} attempts")
    }
}

/// Counts the work that is left now.
pub(in crate::rig) async fn waiting(db: &mut PgConnection) -> Result<Waiting, RigFailed> {
    let row = sqlx::query(concat!(
        "SELECT (SELECT count(*) FROM queue) AS messages,
            (SELECT count(*) FROM follow_up) AS receipts,
                d.count AS deliveries, d.attempts
         FROM (SELECT count(*), COALESCE(sum(d.attempts), 0)::bigint AS attempts ",
        pending_deliveries!(),
        ") AS d"
    ))
    .fetch_one(db)
    .await?;
    Ok(Waiting {
        messages: row.try_get("messages")?,
        receipts: row.try_get("receipts")?,
        deliveries: row.try_get("deliveries")?,
        attempts: row.try_get("attempts")?,
    })
}

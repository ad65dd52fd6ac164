//! What must hold for a whole file: SQLite finds it intact, and no row breaks a rule of the
//! platform.

use rusqlite::Connection;

use crate::error::{Finding, Trouble};

/// Rules of the platform, each with a query that counts the rows that break it.
const RULES: [(&str, &str); 12] = [
    (
        "the balance of an account is the sum of its ledger",
        "SELECT count(*) FROM account a WHERE balance <>
             (SELECT coalesce(sum(amount), 0) FROM ledger_entry e WHERE e.account = a.no)",
    ),
    (
        "the balance after an entry is the one before it and its amount",
        "SELECT count(*) FROM (
             SELECT balance_after - amount
                    - lag(balance_after, 1, 0) OVER (PARTITION BY account ORDER BY seq) AS gap
             FROM ledger_entry) WHERE gap <> 0",
    ),
    (
        "entries are numbered without gaps",
        "SELECT count(*) FROM account a WHERE ledger_seq <>
             (SELECT count(*) FROM ledger_entry e WHERE e.account = a.no)",
    ),
    (
        "a message is refunded if it failed or was cancelled, and only then",
        "SELECT count(*) FROM message m WHERE (m.status IN (6, 7) AND m.credits > 0) <>
             EXISTS (SELECT 1 FROM ledger_entry e WHERE e.message_id = m.id AND e.kind = 1)",
    ),
    (
        "a refund gives back what its message cost",
        "SELECT count(*) FROM ledger_entry e JOIN message m ON m.id = e.message_id
             WHERE e.kind = 1 AND e.amount <> m.credits",
    ),
    (
        "a send is charged what its messages cost",
        "SELECT count(*) FROM ledger_entry e WHERE e.kind = 0 AND -e.amount <>
             (SELECT coalesce(sum(m.credits), 0) FROM message m WHERE m.batch_id = e.batch_id)",
    ),
    (
        "a place in the queue is that of a message that waits",
        "SELECT count(*) FROM queue q WHERE NOT EXISTS (
             SELECT 1 FROM message m WHERE m.id = q.id AND m.status IN (0, 1, 2))",
    ),
    (
        "a message that waits is in the queue",
        "SELECT count(*) FROM message m WHERE m.status IN (0, 1, 2)
             AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.id = m.id)
             AND NOT EXISTS (SELECT 1 FROM launching l WHERE l.batch_id = m.batch_id)",
    ),
    (
        "a message on its way is held, or was",
        "SELECT count(*) FROM message m JOIN queue q ON q.id = m.id
             WHERE m.status = 2 AND q.lease IS NULL AND q.was_held = 0",
    ),
    (
        "the number of unread messages is that of the conversations",
        "SELECT count(*) FROM account a WHERE unread <>
             (SELECT coalesce(sum(unread), 0) FROM conversation c WHERE c.account = a.no)",
    ),
    (
        "the count of a list is that of its contacts",
        "SELECT count(*) FROM contact_list l WHERE contact_count <>
             (SELECT count(*) FROM list_member m WHERE m.list_id = l.id)",
    ),
    (
        "the recipients of a campaign are its messages",
        "SELECT count(*) FROM campaign c WHERE launched_at IS NOT NULL AND recipients <>
             (SELECT count(*) FROM message m WHERE m.campaign_id = c.id
                  AND m.batch_id = c.batch_id)",
    ),
];

/// What is wrong with a file whose schema is the newest. The caller begins the transaction, so that
/// all findings are about one moment.
pub(crate) fn findings(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    match checked(connection) {
        Err(error) if Trouble::is_damage(&error) => Ok(vec![Finding::Damage(error.to_string())]),
        result => result,
    }
}

fn checked(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    if lines != ["ok"] {
        return Ok(lines.into_iter().map(Finding::Damage).collect());
    }
    let mut findings = Vec::new();
    for (rule, query) in RULES {
        let rows = connection.query_row(query, [], |row| row.get::<_, u32>(0))?;
        if rows > 0 {
            findings.push(Finding::Broken { rule, rows });
        }
    }
    Ok(findings)
}

//! Judges the plan of every statement that the scenarios ran: none reads a table that grows from
//! one end to the other, and none sorts what an index could give in order.
//!
//! Plans depend on the schema alone, because the store never runs `ANALYZE`. So an empty file gives
//! the plans that a full one has.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use sms_store_sqlite::{SqliteStore, watch_statements};

static RAN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Tables with few rows: one of each store, what an operator sets up, what is under way (`h` is
/// `launching`) or was switched off just now, and one row for 65,536 messages. All endpoints are
/// read when secrets are sealed anew.
const SMALL: [&str; 9] = [
    "endpoint",
    "giving_up",
    "gone",
    "h",
    "health",
    "launching",
    "message_span_round",
    "number",
    "stretch",
];

const PURGE_OF_KEYS: &str = "DELETE FROM idempotency_key WHERE rowid IN ( SELECT rowid FROM \
     (SELECT rowid, accepted_at FROM idempotency_key ORDER BY rowid LIMIT ?3)";

/// Steps that would be wrong elsewhere: the beginning of the statement, and the step.
const ALLOWED: [(&str, &str); 6] = [
    // The first entry of an index.
    (
        "SELECT due_at FROM follow_up ORDER BY due_at LIMIT 1",
        "SCAN follow_up USING COVERING INDEX follow_up_by_time",
    ),
    // Once an hour, on a reader: an index by time would change with every send.
    ("SELECT number, person FROM last_contacted WHERE at < ?1 LIMIT ?2", "SCAN last_contacted"),
    // As many as a claim takes at most.
    (
        "SELECT id, account, lane, claimable_at, expires_at, attempt, lease, unanswered FROM queue \
         WHERE id IN ( SELECT id FROM queue INDEXED BY queue_by_turn",
        "USE TEMP B-TREE FOR ORDER BY",
    ),
    // The oldest keys, in the order of their coming, up to a bound.
    (PURGE_OF_KEYS, "SCAN idempotency_key"),
    (PURGE_OF_KEYS, "SCAN (subquery-1)"),
    // One row for 65,536 messages.
    ("SELECT no, last_id FROM stretch ORDER BY last_id DESC", "USE TEMP B-TREE FOR ORDER BY"),
];

/// From now on the statements of all stores are noted.
pub(crate) fn watch() {
    watch_statements(|sql| {
        let mut ran = RAN.lock().unwrap_or_else(PoisonError::into_inner);
        if !ran.contains(sql) {
            ran.insert(sql.to_owned());
        }
    });
}

/// The wrong plans of the statements that ran, as text.
pub(crate) fn wrong(folder: &Path) -> Vec<String> {
    let file = folder.join("plans.db");
    drop(SqliteStore::open(&file).expect("a file can be made"));
    let connection = Connection::open(&file).expect("it can be opened");
    let ran = RAN.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(!ran.is_empty(), "no statement was noted");
    let mut wrong = Vec::new();
    for sql in ran.iter().filter(|sql| !is_command(sql)) {
        let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        for step in steps(&connection, &sql) {
            if is_wrong(&step) && !is_allowed(&sql, &step) {
                wrong.push(format!("{step}\n    of {sql}"));
            }
        }
    }
    println!("{} statements have the plans meant for them", ran.len() - wrong.len());
    wrong
}

/// Whether a statement has no plan.
fn is_command(sql: &str) -> bool {
    ["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA"].iter().any(|word| sql.starts_with(word))
}

fn steps(connection: &Connection, sql: &str) -> Vec<String> {
    let explain = format!("EXPLAIN QUERY PLAN {sql}");
    let mut statement = connection.prepare(&explain).unwrap_or_else(|error| panic!("{error}"));
    let rows = statement.raw_query().mapped(|row| row.get::<_, String>(3));
    rows.map(|step| step.expect("a step of a plan")).collect()
}

fn is_wrong(step: &str) -> bool {
    if let Some(scanned) = step.strip_prefix("SCAN ") {
        let name = scanned.split(' ').next().unwrap_or_default();
        return name != "CONSTANT" && !SMALL.contains(&name);
    }
    step.contains("TEMP B-TREE") || step.contains("AUTOMATIC")
}

fn is_allowed(sql: &str, step: &str) -> bool {
    ALLOWED.iter().any(|(beginning, what)| sql.starts_with(beginning) && step == *what)
}

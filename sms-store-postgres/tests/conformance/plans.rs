//! The query plans that requests and workers wait for, with a million messages. Each query uses the
//! index meant for it and reads no more than it needs.
//!
//! The database reports how it ran each statement of the store (`auto_explain`). So the tests judge
//! what really runs: its text, its parameters, its plan, and how many rows it touched.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

pub(crate) mod accepted;
mod book;
mod commands;
mod counted;
pub(crate) mod every;
mod grown;
mod hot;
pub(crate) mod older;
pub(crate) mod reports;
pub(crate) mod rule;
mod waiting;

pub(crate) use hot::hot_queries_use_the_indexes_meant_for_them;

/// Tables that grow with use. No hot query may read a whole one.
const LARGE: [&str; 24] = [
    "contact",
    "contact_list_member",
    "message",
    "message_span",
    "queue",
    "ledger_entry",
    "delivery",
    "opt_out",
    "idempotency_key",
    "follow_up",
    "last_contacted",
    "link",
    "unrouted",
    "account",
    "api_key",
    "number",
    "endpoint",
    "conversation",
    "inbox",
    "keyword",
    "reply_count",
    "inbound_segment",
    "sent_segment",
    "statistic",
];

/// Held by the test whose statements are reported.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The plans reported since [`Plans::told`] last ran.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Collects the database's notices, which sqlx emits as tracing events.
#[derive(Debug)]
pub(crate) struct Notices;

/// The message of an event.
struct Message(Option<String>);
impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = Some(format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0 = Some(value.to_owned());
        }
    }
}

impl<S: Subscriber> Layer<S> for Notices {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "sqlx::postgres::notice" {
            return;
        }
        let mut message = Message(None);
        event.record(&mut message);
        TOLD.lock().unwrap_or_else(PoisonError::into_inner).extend(message.0);
    }
}

/// Statements that were run, with their plans.
pub(crate) struct Plans(Vec<Value>);

impl Plans {
    /// The statements that ran since the last call.
    fn told() -> Self {
        let told = std::mem::take(&mut *TOLD.lock().unwrap_or_else(PoisonError::into_inner));
        let plans = told.iter().filter_map(|notice| {
            let (_, plan) = notice.split_once("plan:\n")?;
            Some(serde_json::from_str(plan).expect("a plan is JSON"))
        });
        Self(plans.collect())
    }

    /// No step of the statements that contain `words` touches more than `most_rows` rows.
    fn judge_those_of(&self, words: &str, what: &str, most_rows: f64) {
        let mut wrong = Vec::new();
        let says = |plan: &&Value| plan["Query Text"].as_str().unwrap_or_default().contains(words);
        let those: Vec<&Value> = self.0.iter().filter(says).collect();
        let mut told = BTreeSet::new();
        for plan in &those {
            let mut most = 0.0_f64;
            each_node(&plan["Plan"], &mut |node| most = most.max(rows_touched(node)));
            // One plan of each statement is enough.
            if most > most_rows && told.insert(plan["Query Text"].to_string()) {
                wrong.push(format!("{what}: a step touches {most} rows: {plan:#}"));
            }
        }
        if those.is_empty() {
            wrong.push(format!("{what}: the server told no plan"));
        }
        WRONG.lock().unwrap_or_else(PoisonError::into_inner).extend(wrong);
    }

    /// The statements use these indexes, read no large table whole, and touch no more than
    /// `most_rows` rows in any step. [`none_is_wrong`] reports violations.
    fn judge(&self, what: &str, indexes: &[&str], most_rows: f64) {
        let mut wrong = Vec::new();
        if self.0.is_empty() {
            wrong.push("the database reported no plan".to_owned());
        }
        let mut used = BTreeSet::new();
        for plan in &self.0 {
            let told = serde_json::to_string_pretty(plan).expect("JSON");
            each_node(&plan["Plan"], &mut |node| {
                let table = node["Relation Name"].as_str().unwrap_or_default();
                let kind = node["Node Type"].as_str().unwrap_or_default();
                if let Some(index) = node["Index Name"].as_str() {
                    used.insert(index.to_owned());
                }
                let rows = rows_touched(node);
                if kind == "Seq Scan" && LARGE.contains(&table) {
                    wrong.push(format!("{table} is read whole: {told}"));
                }
                // Index entries that a scan skips are not rows, but it reads their pages.
                let pages = ["Shared Hit Blocks", "Shared Read Blocks"]
                    .map(|name| node[name].as_f64().unwrap_or_default());
                let pages: f64 = pages.iter().sum();
                if pages > 400.0 + 10.0 * most_rows {
                    wrong.push(format!("{kind} {table} reads {pages} pages: {told}"));
                }
                if rows > most_rows {
                    wrong.push(format!("{kind} {table} touches {rows} rows: {told}"));
                }
            });
        }
        let missing = indexes.iter().filter(|index| !used.contains(**index));
        wrong.extend(missing.map(|index| format!("{index} is not used, but {used:?}")));
        wrong.truncate(2);
        let wrong = wrong.into_iter().map(|wrong| format!("{what}: {wrong}"));
        WRONG.lock().unwrap_or_else(PoisonError::into_inner).extend(wrong);
    }
}

/// The violations of the plans judged so far.
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Fails if a plan was wrong, and lists all that were.
fn none_is_wrong() {
    let wrong = std::mem::take(&mut *WRONG.lock().unwrap_or_else(PoisonError::into_inner));
    assert!(wrong.is_empty(), "{} wrong plans:\n{}", wrong.len(), wrong.join("\n"));
}

/// How many rows a step read in all its loops, including rows that it discarded.
fn rows_touched(node: &Value) -> f64 {
    let number = |name: &str| node[name].as_f64().unwrap_or_default();
    let each = number("Actual Rows")
        + number("Rows Removed by Filter")
        + number("Rows Removed by Index Recheck")
        + number("Rows Removed by Join Filter");
    each * number("Actual Loops").max(1.0)
}

fn each_node(node: &Value, look: &mut impl FnMut(&Value)) {
    look(node);
    for child in node["Plans"].as_array().into_iter().flatten() {
        each_node(child, look);
    }
}

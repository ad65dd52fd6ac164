//! Every statement that the commands run, whichever plan it has: what it reads grows with what it
//! is asked for, and not with the account.
//!
//! The planner makes a generic plan once for a connection and goes by what it knows then. So the
//! tests look at plans that were made before the account grew, too: on a database that nothing was
//! known of, and on one that was analyzed while it was small.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;
use sms_store_postgres::{PgSettings, PgStore};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use super::commands::Commands;
use super::hot::{connect, explain, stop_autovacuum};
use super::{Plans, each_node, rows_touched};
use crate::Own;

/// The items of a command. The account grows to many times the larger.
const VERY_FEW: u64 = 10;
const FEW: u64 = 30;
const MANY: u64 = 200;

/// What a step may touch: so many rows for each item, and some for a page of results or a month of
/// hours.
fn most_rows(items: u64) -> f64 {
    8.0 * count(items) + 800.0
}

fn count(items: u64) -> f64 {
    f64::from(u32::try_from(items).expect("small"))
}

/// Statements that read more than they may, by their text.
#[derive(Default)]
struct Wrong(BTreeMap<String, String>);

impl Wrong {
    /// Judges what ran since the last call.
    fn judge(&mut self, state: &str, items: u64) {
        let plans = Plans::told().0;
        assert!(plans.len() > 100, "the database reported {} plans", plans.len());
        for plan in &plans {
            let text = plan["Query Text"].as_str().unwrap_or_default();
            let mut found = None;
            each_node(&plan["Plan"], &mut |node| {
                if found.is_none() {
                    found = wrong_with(node, items);
                }
            });
            if let Some(found) = found
                && !reads_all(text)
            {
                let outline = outline(&plan["Plan"]);
                let what = || format!("{state}, {items} items: {found}\n{outline}");
                self.0.entry(text.to_owned()).or_insert_with(what);
            }
        }
    }
}

/// Statements whose answer is about the whole account.
fn reads_all(text: &str) -> bool {
    // The number of opt-outs is part of each of their pages.
    text.contains("count(*) FROM opt_out")
}

/// What is wrong with a step of a plan.
fn wrong_with(node: &Value, items: u64) -> Option<String> {
    let rows = rows_touched(node);
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let table = node["Relation Name"].as_str().unwrap_or_default();
    if rows > most_rows(items) {
        return Some(format!("{kind} {table} touches {rows} rows"));
    }
    // An index scan that cannot use a column reads the entries of all its values. Nothing is
    // vacuumed meanwhile, so that some pages of dead entries are fair.
    let own = pages(node) - node["Plans"].as_array().into_iter().flatten().map(pages).sum::<f64>();
    let loops = node["Actual Loops"].as_f64().unwrap_or_default();
    let fair = 150.0 + 10.0 * (rows + loops) + 6.0 * count(items);
    // Whoever scans a CTE first runs it, and with it what it writes.
    let is_scan = kind.ends_with("Scan") && kind != "CTE Scan";
    (is_scan && own > fair).then(|| format!("{kind} {table} reads {own} pages for {rows} rows"))
}

fn pages(node: &Value) -> f64 {
    let number = |name: &str| node[name].as_f64().unwrap_or_default();
    number("Shared Hit Blocks") + number("Shared Read Blocks")
}

/// The steps of a plan, one on a line.
fn outline(plan: &Value) -> String {
    let mut outline = String::new();
    each_node(plan, &mut |node| {
        let text = |name: &str| node[name].as_str().unwrap_or_default();
        let _ = writeln!(
            outline,
            "    {} {} {}: {} rows, {} loops, {} pages {}{}",
            text("Node Type"),
            text("Relation Name"),
            text("Index Name"),
            rows_touched(node),
            node["Actual Loops"],
            pages(node),
            text("Index Cond"),
            text("Filter"),
        );
    });
    outline
}

/// A database whose statements are reported, and planned in one way.
struct Stage<'a> {
    own: &'a Own,
    connection: PgConnection,
    store: PgStore,
    commands: Commands,
}

impl<'a> Stage<'a> {
    async fn new(own: &'a Own) -> Self {
        let mut connection = connect(&own.url).await;
        connection.execute(include_str!("neighbours.sql")).await.expect("it runs");
        let store = open(own).await;
        let commands = Commands::start(Arc::new(store.clone()), own.rig(&store)).await;
        Self { own, connection, store, commands }
    }

    async fn run(&mut self, state: &str, wrong: &mut Wrong) {
        for items in [FEW, MANY] {
            let _ = Plans::told();
            self.commands.run(items).await;
            wrong.judge(state, items);
        }
    }

    async fn execute(&mut self, sql: &'static str) {
        self.connection.execute(sql).await.expect("it runs");
    }

    async fn grow(&mut self) {
        let account = self.commands.account();
        let set = format!("SET test.account = '{account}'");
        self.connection.execute(AssertSqlSafe(set)).await.expect("set");
        self.execute(include_str!("grow.sql")).await;
    }

    /// The same with new connections, whose statements are planned anew.
    async fn reconnected(self) -> Self {
        let Self { own, connection, store, commands } = self;
        store.close().await;
        let store = open(own).await;
        let commands = commands.over(Arc::new(store.clone()), own.rig(&store));
        Self { own, connection, store, commands }
    }
}

async fn open(own: &Own) -> PgStore {
    PgStore::connect(&own.url, PgSettings { connections: 1 }).await.expect("it answers")
}

/// Makes the database plan in one way, and analyze nothing by itself.
async fn prepare(own: &Own, mode: &str) {
    own.store.close().await;
    explain(&own.url).await;
    let mut connection = connect(&own.url).await;
    let database = own.url.rsplit_once('/').expect("a database's address").1;
    let sql = format!("ALTER DATABASE {database} SET plan_cache_mode = {mode}");
    connection.execute(AssertSqlSafe(sql)).await.expect("set");
    stop_autovacuum(&mut connection).await;
}

/// Fails with the outline of every plan that is wrong.
fn none(wrong: &Wrong) {
    let list: Vec<String> =
        wrong.0.iter().map(|(text, what)| format!("{what}    {text}\n")).collect();
    assert!(list.is_empty(), "{} statements read too much:\n{}", list.len(), list.join("\n"));
}

/// On a database of which nothing is known: the account grows before anything is analyzed.
async fn unknown(own: Own, mode: &str) {
    let _alone = super::ALONE.lock().await;
    prepare(&own, mode).await;
    let mut wrong = Wrong::default();
    let mut stage = Stage::new(&own).await;
    stage.run("empty", &mut wrong).await;
    stage.grow().await;
    stage.run("planned when empty", &mut wrong).await;
    let mut stage = stage.reconnected().await;
    stage.run("never analyzed", &mut wrong).await;
    stage.execute("ANALYZE").await;
    let mut stage = stage.reconnected().await;
    stage.run("large", &mut wrong).await;
    stage.store.close().await;
    none(&wrong);
}

/// On a database that was analyzed while it was small.
async fn small(own: Own, mode: &str) {
    let _alone = super::ALONE.lock().await;
    prepare(&own, mode).await;
    let mut wrong = Wrong::default();
    let mut stage = Stage::new(&own).await;
    stage.commands.run(VERY_FEW).await;
    stage.execute("ANALYZE").await;
    let mut stage = stage.reconnected().await;
    stage.run("small", &mut wrong).await;
    stage.grow().await;
    stage.run("planned when small", &mut wrong).await;
    let mut stage = stage.reconnected().await;
    stage.run("analyzed when small", &mut wrong).await;
    stage.store.close().await;
    none(&wrong);
}

pub(crate) async fn generic_plans_made_when_empty_read_no_more_in_a_large_account(own: Own) {
    unknown(own, "force_generic_plan").await;
}

pub(crate) async fn custom_plans_made_when_empty_read_no_more_in_a_large_account(own: Own) {
    unknown(own, "force_custom_plan").await;
}

pub(crate) async fn generic_plans_made_when_small_read_no_more_in_a_large_account(own: Own) {
    small(own, "force_generic_plan").await;
}

pub(crate) async fn custom_plans_made_when_small_read_no_more_in_a_large_account(own: Own) {
    small(own, "force_custom_plan").await;
}

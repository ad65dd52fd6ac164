//! The copy itself: checks, portions, and the comparison at the end.

use futures_util::future;
use sms_core::store::StoreError;

use crate::catalogue::{TABLES, Table};
use crate::digest::Digest;
use crate::error::{CopyFailed, Side};
use crate::lists;
use crate::portable::{Journal, Place, Portable, Portion};
use crate::progress::{Phase, Progress, Watch};

/// How many rows are written in one commit.
const PORTION: usize = 2_000;
/// The table of a journal whose tables are all complete.
const COMPLETE: &str = "";

/// What a copy has done and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Each table with its number of rows, the same in both stores.
    pub tables: Vec<(&'static str, u64)>,
    /// How many rows were there from an earlier run.
    pub resumed: u64,
    /// How many accounts' balances are the sum of their ledger in both stores.
    pub accounts: u64,
    /// How many items of lists read the same from both stores.
    pub items: u64,
}

/// Copies everything from one store to another, or continues a copy that was interrupted, and
/// verifies it.
///
/// # Errors
///
/// If a server uses a store, if the target holds anything but the beginning of this copy, if a
/// store fails, or if the stores differ in the end. Servers then cannot open the target.
pub async fn copy(
    source: &dyn Portable,
    target: &dyn Portable,
    watch: &mut dyn Watch,
) -> Result<Copied, CopyFailed> {
    for (side, store) in [(Side::Source, source), (Side::Target, target)] {
        refuse_unfit(side, store).await?;
    }
    if source.journal().await?.is_some() {
        return Err(CopyFailed::Unfinished);
    }
    source.settle().await?;
    let mut counts = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        counts.push(source.count(table).await?);
    }
    let total = counts.iter().sum();
    let mark = mark(source, &counts).await?;
    let journal = begin(target, mark).await?;
    let resumed = write_all(source, target, journal, total, watch).await?;
    target.derive().await?;
    let tables = compare_rows(source, target, total, watch).await?;
    let lists::Compared { accounts, items } = lists::compare(source, target, watch).await?;
    // A server that was started meanwhile has changed what was compared before.
    refuse_unfit(Side::Source, source).await?;
    target.finish().await?;
    Ok(Copied { tables, resumed, accounts, items })
}

async fn refuse_unfit(side: Side, store: &dyn Portable) -> Result<(), CopyFailed> {
    let count = store.other_programs().await?;
    if count > 0 {
        return Err(CopyFailed::InUse { side, count });
    }
    let unknown = store.unknown().await?;
    if !unknown.is_empty() {
        return Err(CopyFailed::Unknown { side, unknown });
    }
    Ok(())
}

/// What distinguishes a source from another one, and from itself after a change: the number of rows
/// of each table, and the accounts, whose balances and ledgers every send changes.
async fn mark(source: &dyn Portable, counts: &[u64]) -> Result<String, StoreError> {
    let mut mark = String::new();
    for (table, count) in TABLES.iter().zip(counts) {
        let digest = match table.name {
            "account" | "api_key" => digest(source, table, &mut |_| {}).await?.to_text(),
            _ => count.to_string(),
        };
        mark = format!("{mark}{}={digest} ", table.name);
    }
    Ok(mark)
}

/// The journal to go on from.
async fn begin(target: &dyn Portable, source: String) -> Result<Journal, CopyFailed> {
    let first = &TABLES[0];
    match target.journal().await? {
        Some(journal) if journal.source == source => return Ok(journal),
        Some(_) => return Err(CopyFailed::OtherSource),
        None => {}
    }
    for table in &TABLES {
        let rows = target.count(table).await?;
        if rows > 0 {
            return Err(CopyFailed::NotEmpty { table: table.name, rows });
        }
    }
    let journal = Journal { source, table: first.name.to_owned(), place: None };
    target.write(first, Vec::new(), journal.clone()).await?;
    Ok(journal)
}

/// Copies the tables from the journal's on. Returns how many rows were there before.
async fn write_all(
    source: &dyn Portable,
    target: &dyn Portable,
    journal: Journal,
    total: u64,
    watch: &mut dyn Watch,
) -> Result<u64, StoreError> {
    let Journal { source: mark, table: current, place } = journal;
    let begun = TABLES.iter().position(|table| table.name == current).unwrap_or(TABLES.len());
    let mut done = 0;
    for table in TABLES.iter().take(begun + 1) {
        done += target.count(table).await?;
    }
    let resumed = done;
    let mut place = place;
    for table in TABLES.iter().skip(begun) {
        let mut portion = source.read(table, place.take().as_ref(), PORTION).await?;
        while !portion.rows.is_empty() {
            let Portion { rows, last } = portion;
            let count = rows.len() as u64;
            let journal = at(&mark, table.name, Some(last.clone()));
            // The next portion is read while this one is written.
            let written = target.write(table, rows, journal);
            let next = source.read(table, Some(&last), PORTION);
            let (written, next) = future::join(written, next).await;
            written?;
            portion = next?;
            done += count;
            watch.moved(Progress { phase: Phase::Copying, what: table.name, done, total });
        }
    }
    if begun < TABLES.len() {
        target.write(&TABLES[0], Vec::new(), at(&mark, COMPLETE, None)).await?;
    }
    Ok(resumed)
}

fn at(source: &str, table: &str, place: Option<Place>) -> Journal {
    Journal { source: source.to_owned(), table: table.to_owned(), place }
}

/// Reads all rows of a table. `count` is called for each portion.
async fn digest(
    store: &dyn Portable,
    table: &'static Table,
    count: &mut (dyn FnMut(u64) + Send),
) -> Result<Digest, StoreError> {
    let mut digest = Digest::default();
    let mut portion = store.read(table, None, PORTION).await?;
    while !portion.rows.is_empty() {
        portion.rows.iter().for_each(|row| digest.add(table, row));
        count(portion.rows.len() as u64);
        portion = store.read(table, Some(&portion.last), PORTION).await?;
    }
    Ok(digest)
}

/// Compares the rows of all tables by number and content.
async fn compare_rows(
    source: &dyn Portable,
    target: &dyn Portable,
    total: u64,
    watch: &mut dyn Watch,
) -> Result<Vec<(&'static str, u64)>, CopyFailed> {
    let mut done = 0;
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        let mut moved = |rows| {
            done += rows;
            watch.moved(Progress { phase: Phase::Comparing, what: table.name, done, total });
        };
        let ours = digest(source, table, &mut moved);
        let theirs = async { digest(target, table, &mut |_| {}).await };
        let (ours, theirs) = future::join(ours, theirs).await;
        let (ours, theirs) = (ours?, theirs?);
        if ours != theirs {
            return Err(CopyFailed::RowsDiffer {
                table: table.name,
                source_rows: ours.rows,
                target_rows: theirs.rows,
            });
        }
        tables.push((table.name, ours.rows));
    }
    Ok(tables)
}

//! Imports of contacts.
//!
//! A short import is one transaction. A long one would hold up everybody, so it takes effect in
//! portions of a few milliseconds, which take turns with other commands. The last portion also
//! writes what the idempotency key remembers. If the program stops before that, the rows so far are
//! there, and the same import makes up for the rest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use sms_core::contact::import::Imported;
use sms_core::for_stores::CommitError;
use sms_core::for_stores::contact::{BookRefused, ImportPlan, ImportPortions};
use sms_core::idempotency::{Claim, Once};

use crate::SqliteStore;
use crate::command::Size;

const DOING: &str = "importing contacts";
/// How long a portion should take; everybody waits for it.
const PORTION: Duration = Duration::from_millis(3);
/// How many rows the first portion has. The next ones follow from how long it took.
const FIRST: usize = 50;
/// How many rows a portion has at most.
const MOST: usize = 2_000;

type Refused = CommitError<BookRefused>;

/// Imports contacts.
pub(crate) async fn import(
    store: &SqliteStore,
    plan: ImportPlan,
    claim: Option<&Claim>,
) -> Result<Once<Imported>, Refused> {
    if plan.rows.len() <= store.settings().import_at_once {
        return store.once(DOING, claim, move |db| db.change_book(&plan)).await;
    }
    let claim = claim.cloned();
    store.apart(DOING, move |own| in_portions(own, plan, claim)).await?
}

fn in_portions(
    store: &SqliteStore,
    plan: ImportPlan,
    claim: Option<Claim>,
) -> Result<Once<Imported>, Refused> {
    let _turn = store.importing();
    let claim = Arc::new(claim);
    let own = Arc::clone(&claim);
    let earlier = store.look(DOING, move |db| db.earlier(own.as_ref().as_ref()));
    if let Some(earlier) = block_on(earlier)? {
        return Ok(Once::Earlier(earlier));
    }
    let mut portions = ImportPortions::of(plan);
    let mut rows = FIRST.min(store.settings().import_at_once).max(1);
    while let Some(portion) = portions.next(rows) {
        let portion = Arc::new(portion);
        let (own, claim) = (Arc::clone(&portion), Arc::clone(&claim));
        let before_last = portions.is_at_end().then(|| portions.clone());
        let written = store.write_sized(DOING, Size::Portion, move |db| {
            let began = Instant::now();
            let answer = match db.change_book(&own.plan)? {
                Ok(answer) => answer,
                Err(refused) => return Ok(Err(refused)),
            };
            if let Some(before) = &before_last {
                let mut whole = before.clone();
                whole.answered(&own, answer.clone());
                db.remember(claim.as_ref().as_ref(), &whole.imported())?;
            }
            Ok(Ok((answer, began.elapsed())))
        });
        let (answer, took) = block_on(written)?.map_err(CommitError::Refused)?;
        portions.answered(&portion, answer);
        rows = next_size(rows, took);
    }
    Ok(Once::Done(portions.imported()))
}

/// How many rows the next portion has, if one of `rows` took so long.
fn next_size(rows: usize, took: Duration) -> usize {
    if took > PORTION { (rows / 2).max(1) } else { (rows + rows / 4 + 1).min(MOST) }
}

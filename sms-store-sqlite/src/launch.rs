//! Launches of campaigns.
//!
//! A short list is launched in one transaction. A long one would hold up everybody, so it is
//! staged:
//!
//! 1. Its pages are planned from one snapshot of the list, on a thread of their own. The messages
//!    are written in portions of a few milliseconds, which take turns with other commands. Nobody
//!    sees them yet: readings leave out batches that `launching` names as staged.
//! 2. The verdict is one short commit. From then on the messages are there, all at once.
//! 3. They enter the queue in portions. The launch answers when all are in.
//!
//! If a launch is refused in the end, or the program stops before the verdict, the messages are
//! removed in portions. If the program stops after it, the next start goes on with step 3.

use std::sync::Arc;

use futures_executor::block_on;
use sms_core::campaign::Campaign;
use sms_core::campaign::launch::{LaunchFacts, LaunchPlan, LaunchRefused, LaunchWrites, Written};
use sms_core::commit::LedgerWrites;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, BatchId, ContactId};
use sms_core::store::CommitError;

use crate::SqliteStore;
use crate::command::Size;
use crate::db::Db;
use crate::error::{SqlResult, Trouble};
use crate::known::Standing;
use crate::launching::{Page, Stale, enqueue, places, stage_portion};
use crate::row::id;

const DOING: &str = "launching a campaign";
type Refused = CommitError<LaunchRefused>;
type Launched = Result<Once<Campaign>, Refused>;

/// Launches a campaign.
pub(crate) async fn launch(
    store: &SqliteStore,
    plan: LaunchPlan,
    claim: Option<Claim>,
) -> Launched {
    let (account, list) = (plan.account(), plan.draft.list);
    let size = store.look(DOING, move |db| db.list_size(account, list)).await?;
    if size.unwrap_or(0) <= store.settings().launch_at_once {
        return store
            .write_sized(DOING, Size::Portion, move |db| at_once(db, &plan, claim.as_ref()))
            .await?;
    }
    store.apart(DOING, move |own| in_stages(own, plan, claim)).await?
}

/// The whole launch in one transaction. A refusal that only the last page brings undoes the pages.
fn at_once(db: &Db, plan: &LaunchPlan, claim: Option<&Claim>) -> SqlResult<Launched> {
    let mut plan = plan.clone();
    let facts = match begin(db, &plan, claim)? {
        Begun::Now(facts) => facts,
        Begun::Ended(launched) => return Ok(*launched),
    };
    // Until its release nothing is booked and no known fact changes: those would not be undone.
    db.run("SAVEPOINT launch", [])?;
    let settled = match write_pages(db, &mut plan)? {
        Ok(()) => plan.settle(&facts),
        Err(refused) => Err(refused),
    };
    if settled.is_err() {
        db.run("ROLLBACK TO launch", [])?;
    }
    db.run("RELEASE launch", [])?;
    let writes = match settled {
        Ok(writes) => writes,
        Err(refused) => return Ok(Err(refused)),
    };
    let account = db.known_account(plan.account())?;
    let batch = writes.conversations;
    let campaign = write_verdict(db, plan.account(), writes)?;
    for place in places(db, batch, 0, i64::MAX)? {
        db.shift(account, place.to, place.message)?;
    }
    db.remember(claim, &campaign)?;
    Ok(Ok(Once::Done(campaign)))
}

fn write_pages(db: &Db, plan: &mut LaunchPlan) -> SqlResult<Result<(), Refused>> {
    let mut pages = Pages::of(db, plan)?;
    while let Some(written) = pages.next(db, plan)? {
        if db.has_code_of(&written.links)? {
            return Ok(Err(CommitError::Stale));
        }
        db.insert_new(plan.new_messages(&written))?;
    }
    Ok(Ok(()))
}

/// Whether a launch begins.
#[expect(clippy::large_enum_variant, reason = "nearly every launch begins")]
enum Begun {
    Now(LaunchFacts),
    /// It was made before, or is refused.
    Ended(Box<Launched>),
}

fn begin(db: &Db, plan: &LaunchPlan, claim: Option<&Claim>) -> SqlResult<Begun> {
    let ended = |launched| Ok(Begun::Ended(Box::new(launched)));
    if let Some(earlier) = db.earlier(claim)? {
        return ended(Ok(Once::Earlier(earlier)));
    }
    let Some(facts) = facts(db, plan)? else {
        return ended(Err(CommitError::Refused(LaunchRefused::NoSuchCampaign)));
    };
    if let Some(campaign) = plan.launched_before(&facts) {
        return ended(Ok(Once::Done(campaign)));
    }
    match plan.begin(&facts) {
        Ok(()) => Ok(Begun::Now(facts)),
        Err(refused) => ended(Err(refused)),
    }
}

fn facts(db: &Db, plan: &LaunchPlan) -> SqlResult<Option<LaunchFacts>> {
    let Some(standing) = db.standing(plan.account())? else { return Ok(None) };
    let Standing { no, status, balance, .. } = standing;
    let test_messages =
        if plan.mode.is_test() { db.recent_test_messages(no, plan.at)? } else { Vec::new() };
    let list_size = db.list_size(plan.account(), plan.draft.list)?;
    let campaign = db.campaign(plan.account(), plan.draft.id)?;
    Ok(Some(LaunchFacts { campaign, list_size, status, balance, test_messages }))
}

fn write_verdict(db: &Db, account: AccountId, writes: LaunchWrites) -> SqlResult<Campaign> {
    let LaunchWrites { campaign, entry, balance, test_messages, conversations: _ } = writes;
    db.book(LedgerWrites::of(account, entry, balance))?;
    db.remember_test_messages(test_messages)?;
    db.put_campaign(&campaign)?;
    Ok(campaign)
}

/// The pages of a list, oldest contact first.
struct Pages {
    account: i64,
    after: Option<ContactId>,
}

impl Pages {
    fn of(db: &Db, plan: &LaunchPlan) -> SqlResult<Self> {
        Ok(Self { account: db.known_account(plan.account())?, after: None })
    }

    fn next(&mut self, db: &Db, plan: &mut LaunchPlan) -> SqlResult<Option<Written>> {
        let (list, size) = (plan.draft.list, plan.page_size.max(1));
        let contacts = db.on_list_after(self.account, list, self.after, size, &plan.fields)?;
        let Some(last) = contacts.last() else { return Ok(None) };
        self.after = Some(last.id);
        Ok(Some(plan.page(&contacts)))
    }
}

fn of_sql(error: &rusqlite::Error) -> Refused {
    CommitError::Store(Trouble::of(error).during(DOING))
}

/// Launches a long list, step by step.
fn in_stages(store: &SqliteStore, plan: LaunchPlan, claim: Option<Claim>) -> Launched {
    let batch = plan.batch;
    let staged = stage(store, plan, claim.as_ref());
    let plan = match staged {
        Ok(Staged::Whole(plan)) => plan,
        Ok(Staged::Ended(launched)) => return *launched,
        Err(refused) => return abandon(store, batch, Err(refused)),
    };
    let verdict = store.write_sized(DOING, Size::Small(1), move |db| {
        let facts = match begin(db, &plan, claim.as_ref())? {
            Begun::Now(facts) => facts,
            Begun::Ended(launched) => return Ok(*launched),
        };
        let writes = match plan.settle(&facts) {
            Ok(writes) => writes,
            Err(refused) => return Ok(Err(refused)),
        };
        let campaign = write_verdict(db, plan.account(), writes)?;
        db.run("UPDATE launching SET state = 1 WHERE batch_id = ?1", [id(plan.batch)])?;
        db.remember(claim.as_ref(), &campaign)?;
        // If the portions below fail, the writer goes on with them by itself.
        db.has_chores.set(true);
        Ok(Ok(Once::Done(campaign)))
    });
    match block_on(verdict) {
        Ok(Ok(Once::Done(campaign))) => {
            while block_on(store.write_sized(DOING, Size::Portion, move |db| enqueue(db, batch)))? {
            }
            Ok(Once::Done(campaign))
        }
        Ok(other) => abandon(store, batch, other),
        Err(error) => abandon(store, batch, Err(error.into())),
    }
}

/// Leaves what was staged to be removed.
fn abandon(store: &SqliteStore, batch: BatchId, launched: Launched) -> Launched {
    let marked = store.write(DOING, move |db| {
        db.run("UPDATE launching SET state = 2 WHERE batch_id = ?1 AND state = 0", [id(batch)])?;
        db.has_chores.set(true);
        Ok(())
    });
    // If this fails too, the next start marks it.
    let _ = block_on(marked);
    launched
}

#[expect(clippy::large_enum_variant, reason = "it is made once and taken apart at once")]
enum Staged {
    Whole(LaunchPlan),
    Ended(Box<Launched>),
}

/// Plans all pages from one snapshot of the list, and writes their messages where nobody sees them.
fn stage(
    store: &SqliteStore,
    mut plan: LaunchPlan,
    claim: Option<&Claim>,
) -> Result<Staged, Refused> {
    let snapshot = store.snapshot().map_err(|error| of_sql(&error))?;
    let begun = begin(&snapshot, &plan, claim).map_err(|error| of_sql(&error))?;
    let facts = match begun {
        Begun::Now(facts) => facts,
        Begun::Ended(launched) => return Ok(Staged::Ended(launched)),
    };
    if plan.is_doubtful(&facts) {
        let mut rehearsal = plan.rehearsal();
        let mut pages = Pages::of(&snapshot, &plan).map_err(|error| of_sql(&error))?;
        while pages.next(&snapshot, &mut rehearsal).map_err(|error| of_sql(&error))?.is_some() {}
        if let Err(refused) = rehearsal.settle(&facts) {
            return Ok(Staged::Ended(Box::new(Err(refused))));
        }
    }
    let mut pages = Pages::of(&snapshot, &plan).map_err(|error| of_sql(&error))?;
    while let Some(written) = pages.next(&snapshot, &mut plan).map_err(|error| of_sql(&error))? {
        let page = Arc::new(Page::of(plan.new_messages(&written)));
        let (account, batch) = (pages.account, plan.batch);
        let mut next = 0;
        while next < page.rows.len() {
            let own = Arc::clone(&page);
            let portion = store.write_sized(DOING, Size::Portion, move |db| {
                stage_portion(db, account, batch, &own, next)
            });
            next = block_on(portion)?.map_err(|Stale| CommitError::Stale)?;
        }
    }
    Ok(Staged::Whole(plan))
}

//! The thread that writes. It owns the only connection that writes, so that every command is "read
//! the facts, settle, write" in turn, as in the memory store. All commands that wait when a commit
//! begins share it; each is answered after the commit.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_WRITE;

use crate::cache::Caches;
use crate::checkpoint::{self, Counted};
use crate::chores::{self, Moment};
use crate::command::Size;
use crate::db::Db;
use crate::error::{SqlResult, Trouble};
use crate::page_check::Damage;
use crate::place::Place;

/// How much work shares one commit, in about the cost of a message.
const GROUP: usize = 500;
/// A transaction that takes longer is logged: everybody waits for it.
const LONG: Duration = Duration::from_millis(250);

/// A command that waits for its commit.
trait Job: Send {
    fn size(&self) -> Size;
    /// Runs the command. It may run again, if another command of its commit fails.
    fn run(&mut self, db: &Db) -> Result<(), rusqlite::Error>;
    fn fail(&mut self, trouble: Trouble);
    fn answer(self: Box<Self>);
}

struct Command<F, T> {
    size: Size,
    work: F,
    result: Option<Result<T, Trouble>>,
    answer: oneshot::Sender<Result<T, Trouble>>,
}

impl<F, T> Job for Command<F, T>
where
    F: FnMut(&Db) -> SqlResult<T> + Send,
    T: Send,
{
    fn size(&self) -> Size {
        self.size
    }

    fn run(&mut self, db: &Db) -> Result<(), rusqlite::Error> {
        self.result = Some(Ok((self.work)(db)?));
        Ok(())
    }

    fn fail(&mut self, trouble: Trouble) {
        self.result = Some(Err(trouble));
    }

    fn answer(self: Box<Self>) {
        let Self { size: _, work, result, answer } = *self;
        // What the command holds is dropped before its caller goes on.
        drop(work);
        if let Some(result) = result {
            // A caller that is gone needs no answer.
            let _ = answer.send(result);
        }
    }
}

#[derive(Default)]
struct Waiting {
    small: VecDeque<Box<dyn Job>>,
    portions: VecDeque<Box<dyn Job>>,
    is_closing: bool,
    /// Whether the writer waits for a command. Otherwise it looks by itself, and waking it would be
    /// a system call for nothing.
    is_idle: bool,
    /// Why the store takes no writes any more.
    down: Option<String>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writer's queue, and its thread.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(db: Db, upkeep: Upkeep) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("sms-sqlite-writer".to_owned());
        let thread = thread.spawn(move || serve(&db, &own, &upkeep))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a command. Its answer comes after the commit.
    pub(crate) fn submit<F, T>(&self, size: Size, work: F) -> oneshot::Receiver<Result<T, Trouble>>
    where
        F: FnMut(&Db) -> SqlResult<T> + Send + 'static,
        T: Send + 'static,
    {
        let (answer, receiver) = oneshot::channel();
        let mut command = Box::new(Command { size, work, result: None, answer });
        let mut waiting = self.shared.lock();
        if let Some(reason) = waiting.down.clone() {
            drop(waiting);
            command.fail(Trouble::Down(reason));
            command.answer();
            return receiver;
        }
        match size {
            Size::Small(_) => waiting.small.push_back(command),
            Size::Portion => waiting.portions.push_back(command),
        }
        let is_idle = std::mem::take(&mut waiting.is_idle);
        drop(waiting);
        if is_idle {
            self.shared.arrived.notify_one();
        }
        receiver
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the writer does besides commands.
pub(crate) struct Upkeep {
    /// After how many pages the log is written back.
    pub(crate) checkpoint_pages: u32,
    pub(crate) checkpoints: Arc<Counted>,
    pub(crate) caches: Arc<Caches>,
    pub(crate) damage: Damage,
    pub(crate) place: Place,
}

impl Upkeep {
    /// Whether the file can take a commit.
    fn check(&self) -> Result<(), Trouble> {
        self.damage.check()?;
        Ok(self.place.check()?)
    }
}

/// Takes what waits, until the store is closed and nothing waits.
fn serve(db: &Db, shared: &Shared, upkeep: &Upkeep) {
    while let Some(mut jobs) = next_group(shared, db.has_chores.get()) {
        if let Err(trouble) = upkeep.check() {
            for mut job in jobs {
                job.fail(trouble.clone());
                job.answer();
            }
            db.has_chores.set(false);
            continue;
        }
        let moment = if jobs.is_empty() { Moment::Idle } else { Moment::Busy };
        let began = Instant::now();
        let down = if jobs.is_empty() { None } else { commit_group(db, &mut jobs, &upkeep.damage) };
        let is_down = down.is_some();
        if is_down {
            shared.lock().down = down;
        }
        let took = began.elapsed();
        if took > LONG {
            tracing::debug!(millis = took.as_millis(), commands = jobs.len(), "long transaction");
        }
        upkeep.caches.forget_changed();
        for job in jobs {
            job.answer();
        }
        if is_down || upkeep.damage.check().is_err() {
            continue;
        }
        do_chores(db, moment);
        upkeep.caches.forget_changed();
        checkpoint::after_commit(&db.sql, upkeep.checkpoint_pages, &upkeep.checkpoints);
    }
}

/// Does a portion of what commands left for later.
fn do_chores(db: &Db, moment: Moment) {
    if !db.has_chores.get() {
        return;
    }
    let mut has_more = false;
    let done = transact(db, |db| {
        has_more = chores::portion(db, moment)?;
        Ok(())
    });
    if let Err(Failure { error, .. }) = &done {
        tracing::error!(%error, "rows of deleted objects could not be removed");
    }
    // After a failure the next deletion, or the next start, tries again.
    db.has_chores.set(has_more && done.is_ok());
}

/// What waits. If nothing does: nothing, as soon as there are chores to do.
fn next_group(shared: &Shared, has_chores: bool) -> Option<Vec<Box<dyn Job>>> {
    let mut waiting = shared.lock();
    loop {
        if waiting.down.is_some() {
            fail_all(&mut waiting);
        }
        let mut jobs = Vec::new();
        let mut work = 0;
        while work < GROUP
            && let Some(job) = waiting.small.pop_front()
        {
            work += match job.size() {
                Size::Small(weight) => weight.max(1),
                Size::Portion => GROUP,
            };
            jobs.push(job);
        }
        jobs.extend(waiting.portions.pop_front());
        if !jobs.is_empty() {
            return Some(jobs);
        }
        if waiting.is_closing {
            return None;
        }
        if has_chores && waiting.down.is_none() {
            return Some(jobs);
        }
        waiting.is_idle = true;
        waiting = shared.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
    }
}

fn fail_all(waiting: &mut Waiting) {
    let reason = waiting.down.clone().unwrap_or_default();
    let Waiting { small, portions, .. } = waiting;
    for mut job in small.drain(..).chain(portions.drain(..)) {
        job.fail(Trouble::Down(reason.clone()));
        job.answer();
    }
}

/// Runs commands in one transaction. If one of them fails, each runs in a transaction of its own.
/// Returns why the store has to stop, if it has to.
fn commit_group(db: &Db, jobs: &mut [Box<dyn Job>], damage: &Damage) -> Option<String> {
    let failure = commit(db, jobs).err()?;
    let is_damage = Trouble::is_damage(&failure.error);
    let stops = failure.at_commit && is_unknown_on_disk(&failure.error);
    if jobs.len() > 1 && !is_damage && !stops {
        return commit_each(db, jobs, damage);
    }
    fail(jobs, &failure);
    if is_damage {
        damage.found(failure.error.to_string());
    }
    stops.then(|| failure.error.to_string())
}

/// Runs each command in a transaction of its own, until the store has to stop.
fn commit_each(db: &Db, jobs: &mut [Box<dyn Job>], damage: &Damage) -> Option<String> {
    let mut down = None;
    for job in jobs.chunks_mut(1) {
        let refused = damage.check().err().or_else(|| down.clone().map(Trouble::Down));
        match refused {
            Some(trouble) => job.iter_mut().for_each(|job| job.fail(trouble.clone())),
            None => down = commit_group(db, job, damage),
        }
    }
    down
}

/// What is on disk after this failure of a commit is unknown. After a write that failed it is not,
/// as with a quota that is used up: the frames that were not written whole are written anew.
fn is_unknown_on_disk(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
        && error.sqlite_error().is_none_or(|error| error.extended_code != SQLITE_IOERR_WRITE)
}

fn fail(jobs: &mut [Box<dyn Job>], failure: &Failure) {
    let trouble = Trouble::of(&failure.error);
    tracing::error!(%trouble, commands = jobs.len(), "a transaction failed");
    for job in jobs {
        job.fail(trouble.clone());
    }
}

struct Failure {
    error: rusqlite::Error,
    at_commit: bool,
}

fn commit(db: &Db, jobs: &mut [Box<dyn Job>]) -> Result<(), Failure> {
    transact(db, |db| jobs.iter_mut().try_for_each(|job| job.run(db)))
}

fn transact(db: &Db, work: impl FnOnce(&Db) -> SqlResult<()>) -> Result<(), Failure> {
    let begun = db.run("BEGIN IMMEDIATE", []);
    let ran = begun.and_then(|_| work(db)).and_then(|()| db.flush());
    let ended = match ran {
        Ok(()) => db.run("COMMIT", []).map_err(|error| Failure { error, at_commit: true }),
        Err(error) => Err(Failure { error, at_commit: false }),
    };
    if ended.is_err() {
        db.forget();
        if !db.sql.is_autocommit() {
            // If this fails too, the next BEGIN does, and its commands hear of it.
            let _ = db.run("ROLLBACK", []);
        }
    }
    ended.map(drop)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, ffi};

    use super::*;

    type Answer = oneshot::Receiver<Result<(), Trouble>>;

    /// A command that fails with this code.
    fn failing(code: i32) -> (Box<dyn Job>, Answer) {
        let (answer, receiver) = oneshot::channel();
        let work = move |_: &Db| Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        (Box::new(Command { size: Size::Small(1), work, result: None, answer }), receiver)
    }

    #[test]
    fn damage_that_a_command_finds_when_it_runs_alone_counts() {
        let db = Db::new(Connection::open_in_memory().unwrap());
        let damage = Damage::default();
        let codes = [ffi::SQLITE_CONSTRAINT, ffi::SQLITE_CORRUPT, ffi::SQLITE_CONSTRAINT];
        let (mut jobs, answers): (Vec<_>, Vec<_>) = codes.map(failing).into_iter().unzip();
        assert_eq!(commit_group(&db, &mut jobs, &damage), None);
        assert!(damage.check().is_err());
        jobs.into_iter().for_each(Job::answer);
        let mut troubles = answers.into_iter().map(|mut answer| answer.try_recv().unwrap());
        assert!(matches!(troubles.next(), Some(Some(Err(Trouble::Lasting(_))))));
        assert!(matches!(troubles.next(), Some(Some(Err(Trouble::Lasting(_))))));
        assert!(matches!(troubles.next(), Some(Some(Err(Trouble::Damaged(_))))));
    }
}

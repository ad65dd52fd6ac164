//! Connections that only read. They see the last commit, and never wait for the writer.
//!
//! The service asks for so many pages and searches of accounts at once, each account in turn
//! (`Sms::reads_at_once`), so the queue is short.
//!
//! Looking up a few rows by their keys runs at once on the caller's thread, as a hop to another
//! thread costs more than the look-up. Pages and searches run on the readers' own threads.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use futures_channel::oneshot;

use crate::db::Db;
use crate::error::{SqlResult, Trouble};
use crate::page_check::Damage;

type Job = Box<dyn FnOnce(&Db) + Send>;

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    is_closing: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

/// The readers' queue, and their threads.
pub(crate) struct Readers {
    shared: Arc<Shared>,
    /// Connections for look-ups on the threads of callers.
    spare: Vec<Mutex<Db>>,
    damage: Damage,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn start(own: Vec<Db>, spare: Vec<Db>, damage: Damage) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let mut threads = Vec::new();
        for db in own {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("sms-sqlite-reader".to_owned());
            threads.push(thread.spawn(move || serve(&db, &shared))?);
        }
        let spare = spare.into_iter().map(Mutex::new).collect();
        Ok(Self { shared, spare, damage, threads })
    }

    /// Reads on a reader's thread, all of it from one snapshot.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Db) -> SqlResult<T> + Send + 'static,
    ) -> oneshot::Receiver<Result<T, Trouble>> {
        let (answer, receiver) = oneshot::channel();
        let damage = self.damage.clone();
        let job: Job = Box::new(move |db| {
            // Nobody waits for the answer any more.
            if !answer.is_canceled() {
                let _ = answer.send(from_one_snapshot(db, &damage, read));
            }
        });
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).jobs.push_back(job);
        self.shared.arrived.notify_one();
        receiver
    }

    /// Reads at once, if a connection is free. Otherwise returns what was to be run.
    pub(crate) fn try_now<T, R: FnOnce(&Db) -> SqlResult<T>>(
        &self,
        read: R,
    ) -> Result<Result<T, Trouble>, R> {
        for db in &self.spare {
            if let Ok(db) = db.try_lock() {
                return Ok(from_one_snapshot(&db, &self.damage, read));
            }
        }
        Err(read)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_closing = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn from_one_snapshot<T>(
    db: &Db,
    damage: &Damage,
    read: impl FnOnce(&Db) -> SqlResult<T>,
) -> Result<T, Trouble> {
    damage.check()?;
    let begun = db.run("BEGIN", []);
    let result = begun.and_then(|_| read(db));
    if !db.sql.is_autocommit() {
        // A snapshot that stays would keep the log from starting anew.
        let _ = db.run("COMMIT", []);
    }
    result.map_err(|error| {
        let trouble = Trouble::of(&error);
        tracing::error!(%trouble, "a read failed");
        if Trouble::is_damage(&error) {
            damage.found(error.to_string());
        }
        trouble
    })
}

fn serve(db: &Db, shared: &Shared) {
    loop {
        let mut waiting = shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let job = loop {
            if let Some(job) = waiting.jobs.pop_front() {
                break job;
            }
            if waiting.is_closing {
                return;
            }
            waiting = shared.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        };
        drop(waiting);
        job(db);
    }
}

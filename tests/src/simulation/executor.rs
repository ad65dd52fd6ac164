//! Runs tasks on one thread, one poll at a time, in the order that the driver chooses.
//!
//! It has no clock and no queue: the driver chooses which woken task is polled next, and which task
//! dies where it waits.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// The number of a task within one run, in order of start.
pub type TaskId = u64;

/// On whose behalf a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A user's request.
    User,
    /// Background work of one server.
    Worker,
    /// The network bringing something back.
    Network,
}

/// What a task is called in a trace, and where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Its number.
    pub id: TaskId,
    /// What it does.
    pub name: &'static str,
    /// On whose behalf.
    pub role: Role,
    /// The server that runs it.
    pub replica: usize,
}

/// How a poll ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    /// The task waits for something.
    Waiting,
    /// The task finished and was removed.
    Done,
    /// The task panicked with this message and was removed.
    Panicked(String),
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    label: Label,
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    woken: Arc<Flag>,
    waker: Waker,
}

/// The tasks under way.
#[derive(Default)]
pub struct Executor {
    tasks: Vec<Task>,
    started: TaskId,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tasks.iter().map(|task| task.label)).finish()
    }
}

impl Executor {
    /// Adds a task.
    pub fn start(
        &mut self,
        name: &'static str,
        role: Role,
        replica: usize,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Label {
        self.started += 1;
        let label = Label { id: self.started, name, role, replica };
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        self.tasks.push(Task { label, future: Box::pin(future), woken, waker });
        label
    }

    /// The tasks that were woken, oldest first.
    pub fn ready(&self) -> impl Iterator<Item = Label> {
        self.tasks.iter().filter(|task| task.woken.0.load(Ordering::Relaxed)).map(|task| task.label)
    }

    /// All tasks, oldest first.
    pub fn labels(&self) -> impl Iterator<Item = Label> {
        self.tasks.iter().map(|task| task.label)
    }

    /// Polls one task once. An unknown task counts as done.
    pub fn poll(&mut self, id: TaskId) -> Polled {
        let Some(index) = self.tasks.iter().position(|task| task.label.id == id) else {
            return Polled::Done;
        };
        let task = &mut self.tasks[index];
        task.woken.0.store(false, Ordering::Relaxed);
        let mut context = Context::from_waker(&task.waker);
        let future = &mut task.future;
        let result = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        match result {
            Ok(Poll::Pending) => Polled::Waiting,
            Ok(Poll::Ready(())) => {
                self.tasks.remove(index);
                Polled::Done
            }
            Err(panic) => {
                self.tasks.remove(index);
                Polled::Panicked(words_of(&*panic))
            }
        }
    }

    /// Drops a task wherever it waits.
    pub fn kill(&mut self, id: TaskId) {
        self.tasks.retain(|task| task.label.id != id);
    }

    /// Drops every task of a server, as if its process died.
    pub fn kill_replica(&mut self, replica: usize) {
        self.tasks.retain(|task| task.label.replica != replica);
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

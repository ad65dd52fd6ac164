//! Calls the program's own code for the events of accounts, in the order of their logs.

use std::collections::BTreeMap;
use std::fmt;
use std::iter;
use std::time::Duration;

use sms_core::Error;
use sms_core::event::log::{EventRequest, LoggedEvent};
use sms_core::event::position::Position;
use sms_core::service::AccountHandle;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::worker::{LONGEST_SLEEP, Worker};

/// How soon to look after a bell. A store may show an event only some time after its commit, so the
/// pauses grow from here.
const SHORTEST_SLEEP: Duration = Duration::from_millis(10);

/// An account whose events the program wants.
pub(crate) struct Follower {
    account: AccountHandle,
    /// The program has had the events up to here.
    at: Position,
    /// Whether the log was read to its end; until then its row may have more.
    is_at_end: bool,
    handle: Box<dyn FnMut(LoggedEvent) + Send>,
}

impl Follower {
    pub(crate) fn new(
        account: AccountHandle,
        after: Position,
        handle: impl FnMut(LoggedEvent) + Send + 'static,
    ) -> Self {
        Self { account, at: after, is_at_end: false, handle: Box::new(handle) }
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("at", &self.at).finish_non_exhaustive()
    }
}

/// Runs until the loops are to stop.
pub(crate) async fn run(mut worker: Worker, mut joining: mpsc::UnboundedReceiver<Follower>) {
    let mut bell = worker.bells.events();
    let mut followers: Vec<Follower> = Vec::new();
    let mut pause = LONGEST_SLEEP;
    while !worker.is_stopping() {
        tokio::select! {
            joined = joining.recv() => match joined {
                Some(follower) => {
                    followers.push(follower);
                    followers.extend(iter::from_fn(|| joining.try_recv().ok()));
                }
                // The loops are about to be dropped.
                None => return,
            },
            () = wait(&mut bell, &mut pause), if !followers.is_empty() => {}
            () = worker.stopping.requested() => return,
        }
        if let Err(error) = look(&worker, &mut followers).await {
            worker.failed("reading events", &error).await;
        }
    }
}

/// Waits for a bell, or for a pause that is twice as long as the one before it.
async fn wait(bell: &mut watch::Receiver<()>, pause: &mut Duration) {
    tokio::select! {
        _ = bell.changed() => {
            *pause = SHORTEST_SLEEP;
            // Bells that ring meanwhile are answered by one read.
            sleep(SHORTEST_SLEEP).await;
        }
        () = sleep(*pause) => *pause = (*pause * 2).min(LONGEST_SLEEP),
    }
}

/// Asks once which accounts have news, and reads the logs of those.
async fn look(worker: &Worker, followers: &mut [Follower]) -> Result<(), Error> {
    let mut waiting = BTreeMap::new();
    for one in followers.iter().filter(|one| one.is_at_end) {
        let least = waiting.entry(one.account.id()).or_insert(one.at);
        *least = one.at.min(*least);
    }
    let news = worker.sms.store().events_after(waiting.into_iter().collect()).await?;
    for follower in &mut *followers {
        follower.is_at_end &= !news.contains(&follower.account.id());
    }
    // A page each in turn: a long log does not delay the events of other accounts.
    while followers.iter().any(|follower| !follower.is_at_end) && !worker.is_stopping() {
        for follower in followers.iter_mut().filter(|follower| !follower.is_at_end) {
            read_page(follower).await?;
        }
    }
    Ok(())
}

/// Hands the next page of events over.
async fn read_page(follower: &mut Follower) -> Result<(), Error> {
    let page = follower.account.event_list(EventRequest::after(follower.at)).await?;
    for event in page.items {
        follower.at = event.position;
        (follower.handle)(event);
    }
    follower.is_at_end = page.next.is_none();
    follower.at = page.next.unwrap_or(follower.at);
    Ok(())
}

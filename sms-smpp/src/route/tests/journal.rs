//! A route with a journal.

use std::sync::Mutex;

use sms_core::dispatch::journal::{Entry, LeftOver, NotKept};
use tokio::sync::Notify;

use super::*;

/// A journal in memory.
#[derive(Debug, Default)]
struct Notes {
    submitting: Notify,
    answered: Mutex<Vec<HandOver>>,
}

impl Journal for Notes {
    fn append(&self, entries: Vec<Entry>) -> Result<(), NotKept> {
        for entry in entries {
            match entry {
                Entry::Submitting { .. } => self.submitting.notify_one(),
                Entry::Answered { result, .. } => self.answered.lock().unwrap().push(result),
                Entry::Claimed { .. } | Entry::Settled { .. } => {}
            }
        }
        Ok(())
    }

    fn left_over(&self) -> Vec<LeftOver> {
        Vec::new()
    }
}

#[tokio::test]
async fn an_answer_is_in_the_journal_once_it_is_read_even_if_nobody_waits_for_it_any_more() {
    let peer = Peer::start(&[]).await;
    let notes = Arc::new(Notes::default());
    let journal = notes.clone();
    let stage = Stage::of(route(peer.settings()).journal(journal)).await.ready().await;
    let (messages, sink) = ([outbound("hello", 1)], stage.sms.sink());
    let outcomes = stage.route.hand_over(&messages, &*sink);
    notes.submitting.notified().await;
    drop(outcomes);
    until(|| !notes.answered.lock().unwrap().is_empty()).await;
    let answered = notes.answered.lock().unwrap();
    assert!(matches!(answered[..], [HandOver::Submitted { .. }]), "{answered:?}");
}

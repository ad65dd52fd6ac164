//! Whether whoever was admitted still is, while a long answer goes on.
//!
//! A door says who it admits. An answer that takes long follows that admission: one task looks
//! after all that are followed, and tells their answers when one was lost. What is short is
//! answered before anybody could look.

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::iter;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How many holders are looked after at once.
const AT_ONCE: usize = 8;

/// What somebody was admitted with.
#[async_trait]
pub trait Standing: fmt::Debug + Send + Sync {
    /// Whose admission it is.
    fn holder(&self) -> Holder;

    /// Why they would not be admitted any more; `None` while they would be, and while nobody can
    /// tell.
    async fn lost(&self) -> Option<Lost>;
}

/// Those who lose their admission together are one holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    /// One of many, by a number of the application's choice.
    Numbered(u128),
    /// One of many, by a hash of what only they have.
    Hashed([u8; 32]),
}

/// Why an admission was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The name of the reason.
    pub reason: &'static str,
    /// What to do, for people.
    pub message: &'static str,
}

/// The admissions that long answers follow. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Admissions(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    check_every: Duration,
    followed: Mutex<Following>,
}

#[derive(Debug, Default)]
struct Following {
    /// Those that no answer follows any more are gone.
    holders: HashMap<Holder, Weak<Watched>>,
    /// The task that looks after them.
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Watched {
    standing: Arc<dyn Standing>,
    lost: watch::Sender<Option<Lost>>,
}

/// The admission of one request. Handlers find it in the data of the request.
#[derive(Debug, Clone)]
pub struct Admission {
    admissions: Admissions,
    /// `None` for one that cannot be lost.
    standing: Option<Arc<dyn Standing>>,
}

/// An admission that an answer follows.
#[derive(Debug)]
pub struct Followed(Option<Arc<Watched>>);

impl Admissions {
    /// None yet. Those that are followed will be checked this often.
    pub(crate) fn new(check_every: Duration) -> Self {
        Self(Arc::new(Shared { check_every, followed: Mutex::default() }))
    }

    pub(crate) fn of(&self, standing: Option<Arc<dyn Standing>>) -> Admission {
        Admission { admissions: self.clone(), standing }
    }

    /// Until none is followed.
    async fn watch(self) {
        loop {
            sleep(self.0.check_every).await;
            let Some(all) = self.watched() else { return };
            let checks = iter(all).for_each_concurrent(AT_ONCE, async |watched| {
                if let Some(lost) = watched.standing.lost().await {
                    self.tell(&watched, lost);
                }
            });
            checks.await;
        }
    }

    /// All that are followed; `None`, and the watch ends, if none is.
    fn watched(&self) -> Option<Vec<Arc<Watched>>> {
        let mut following = self.following();
        following.holders.retain(|_, watched| watched.strong_count() > 0);
        if following.holders.is_empty() {
            following.watcher = None;
            return None;
        }
        Some(following.holders.values().filter_map(Weak::upgrade).collect())
    }

    /// Tells the answers of a holder. Whoever is admitted again later has a new admission.
    fn tell(&self, watched: &Watched, lost: Lost) {
        self.following().holders.remove(&watched.standing.holder());
        watched.lost.send_replace(Some(lost));
    }

    /// Every change is complete before the lock is released, so a poisoned lock holds valid state.
    fn following(&self) -> MutexGuard<'_, Following> {
        self.0.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission {
    /// Follows the admission until what this returns is dropped.
    pub fn follow(&self) -> Followed {
        let Some(standing) = &self.standing else { return Followed(None) };
        let mut following = self.admissions.following();
        let found = following.holders.get(&standing.holder()).and_then(Weak::upgrade);
        let watched = found.unwrap_or_else(|| {
            let (standing, lost) = (Arc::clone(standing), watch::Sender::new(None));
            let watched = Arc::new(Watched { standing, lost });
            following.holders.insert(watched.standing.holder(), Arc::downgrade(&watched));
            watched
        });
        if following.watcher.as_ref().is_none_or(JoinHandle::is_finished) {
            following.watcher = Some(tokio::spawn(self.admissions.clone().watch()));
        }
        drop(following);
        Followed(Some(watched))
    }
}

impl Followed {
    /// Resolves when the admission was lost, and never otherwise.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let told = self.0.as_ref().map(|watched| watched.lost.subscribe());
        async move {
            let Some(mut told) = told else { return pending().await };
            let lost = told.wait_for(Option::is_some).await.ok().and_then(|lost| *lost);
            match lost {
                Some(lost) => lost,
                // Nobody looks any more.
                None => pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use futures_util::FutureExt as _;

    use super::*;

    const LOST: Lost = Lost { reason: "gone", message: "come again" };

    #[derive(Debug, Default)]
    struct Guest {
        is_gone: AtomicBool,
        asked: AtomicUsize,
    }

    #[async_trait]
    impl Standing for Guest {
        fn holder(&self) -> Holder {
            Holder::Numbered(1)
        }

        async fn lost(&self) -> Option<Lost> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.is_gone.load(Ordering::SeqCst).then_some(LOST)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_answers_of_a_holder_are_told_by_one_check_and_later_ones_are_checked_anew() {
        let admissions = Admissions::new(Duration::from_secs(2));
        let guest = Arc::new(Guest::default());
        let admit = || admissions.of(Some(Arc::clone(&guest) as Arc<dyn Standing>));
        let followed = [admit().follow(), admit().follow()];
        sleep(Duration::from_secs(5)).await;
        assert_eq!(guest.asked.load(Ordering::SeqCst), 2);
        assert!(followed.iter().all(|followed| followed.lost().now_or_never().is_none()));
        guest.is_gone.store(true, Ordering::SeqCst);
        for followed in &followed {
            assert_eq!(followed.lost().await, LOST);
        }
        assert_eq!(guest.asked.load(Ordering::SeqCst), 3);
        guest.is_gone.store(false, Ordering::SeqCst);
        let again = admit().follow();
        sleep(Duration::from_secs(5)).await;
        assert_eq!(again.lost().now_or_never(), None);
        assert_eq!(followed[0].lost().now_or_never(), Some(LOST), "it is not admitted again");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_for_while_nothing_is_followed() {
        let admissions = Admissions::new(Duration::from_secs(2));
        let guest = Arc::new(Guest::default());
        let admission = admissions.of(Some(Arc::clone(&guest) as Arc<dyn Standing>));
        drop(admission.follow());
        sleep(Duration::from_mins(1)).await;
        assert_eq!(guest.asked.load(Ordering::SeqCst), 0);
        assert!(admissions.following().watcher.is_none());
        assert_eq!(admissions.of(None).follow().lost().now_or_never(), None);
        // What was followed is not kept until the next look.
        let followed = admission.follow();
        drop((admission, guest));
        let kept = admissions.following().holders.values().next().unwrap().clone();
        assert!(kept.upgrade().is_some());
        drop(followed);
        assert!(kept.upgrade().is_none());
    }
}

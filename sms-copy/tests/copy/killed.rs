//! Copies that are killed: the program ends at any write, before or after its commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use sms_conformance::rig::request;
use sms_conformance::{Rig, ThreadRunner};
use sms_copy::{Journal, Place, Portable, Portion, Row, Table};
use sms_core::store::{Reads, StoreError};
use sms_store_postgres::{PgSettings, PgStore};
use sms_store_sqlite::SqliteStore;

use crate::rig::{Own, connect, copied, open};

/// A file with enough messages for several portions.
async fn fill(own: &Own) {
    let store = SqliteStore::open(own.file("source.db")).expect("the file opens");
    let rig = Rig::new(Arc::new(store), Arc::new(ThreadRunner));
    let account = rig.account(100_000).await;
    for _ in 0..12 {
        rig.send(&account, &request(1..=999)).await;
    }
    let hand = rig.claim(50).await;
    rig.finish(&hand, &sms_conformance::rig::taken()).await;
    rig.contact(&account, &sms_conformance::rig::named(5, "Ada")).await;
}

pub(crate) async fn a_copy_that_is_killed_goes_on_and_ends_right(own: Arc<Own>) {
    fill(&own).await;
    let url = own.database().await;
    let mut kills = 0;
    let there = loop {
        // As after a kill: everything is opened anew.
        let (source, target) = (open(own.file("source.db")), connect(&url).await);
        let copied = copied(&source, &Killed::after(0, Death::ALL[kills % 2], &target)).await;
        target.close().await;
        match copied {
            Ok(copied) => break copied,
            Err(_) => kills += 1,
        }
        assert!(kills < 100, "every run gets further");
    };
    assert!(kills >= 10, "killed {kills} times");
    assert!(there.resumed > 2_000, "{there:?}");
    let rows = |name| there.tables.iter().find(|(table, _)| *table == name).map(|(_, rows)| *rows);
    assert_eq!(rows("message"), Some(11_988));

    let mut kills = 0;
    let back = loop {
        let (source, target) = (connect(&url).await, open(own.file("target.db")));
        let copied = copied(&source, &Killed::after(0, Death::ALL[kills % 2], &target)).await;
        source.close().await;
        match copied {
            Ok(copied) => break copied,
            Err(_) => kills += 1,
        }
        assert!(kills < 100, "every run gets further");
    };
    assert!(kills >= 10, "killed {kills} times");
    assert_eq!(back.tables, there.tables);
    let check = sms_store_sqlite::check_file(&own.file("target.db")).expect("the file is read");
    assert_eq!(check.len(), 0, "{check:?}");
}

pub(crate) async fn no_server_opens_half_a_copy(own: Arc<Own>) {
    fill(&own).await;
    let url = own.database().await;
    let (source, database) = (open(own.file("source.db")), connect(&url).await);
    copied(&source, &Killed::after(3, Death::AfterCommit, &database))
        .await
        .expect_err("the copy is killed");
    database.close().await;
    let server = PgStore::connect(&url, PgSettings { connections: 1 }).await.expect("it answers");
    let refused = server.migrate().await.expect_err("it is refused").to_string();
    assert!(refused.contains("holds a part of a copy"), "{refused}");
    server.close().await;

    let target = open(own.file("target.db"));
    copied(&source, &Killed::after(3, Death::AfterCommit, &target))
        .await
        .expect_err("the copy is killed");
    let further = connect(&own.database().await).await;
    let refused = copied(&target, &further).await.expect_err("it is refused").to_string();
    assert!(refused.contains("the source is an unfinished copy"), "{refused}");
    further.close().await;
    drop(target);
    let refused = SqliteStore::open(own.file("target.db")).expect_err("it is refused").to_string();
    assert!(refused.contains("holds a part of a copy"), "{refused}");
    copied(&source, &open(own.file("target.db"))).await.expect("it goes on");
    SqliteStore::open(own.file("target.db")).expect("servers may open it");
}

/// When a program dies at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    BeforeCommit,
    AfterCommit,
}

impl Death {
    const ALL: [Self; 2] = [Self::BeforeCommit, Self::AfterCommit];
}

/// A target whose program is killed after some writes.
struct Killed<'a> {
    store: &'a dyn Portable,
    left: AtomicUsize,
    death: Death,
}

impl<'a> Killed<'a> {
    fn after(writes: usize, death: Death, store: &'a dyn Portable) -> Self {
        // One write more, so that every run gets further.
        Self { store, left: AtomicUsize::new(writes + 1), death }
    }
}

#[async_trait]
impl Portable for Killed<'_> {
    fn lists(&self) -> &dyn Reads {
        self.store.lists()
    }

    async fn other_programs(&self) -> Result<u64, StoreError> {
        self.store.other_programs().await
    }

    async fn unknown(&self) -> Result<Vec<String>, StoreError> {
        self.store.unknown().await
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.store.settle().await
    }

    async fn count(&self, table: &'static Table) -> Result<u64, StoreError> {
        self.store.count(table).await
    }

    async fn read(
        &self,
        table: &'static Table,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<Portion, StoreError> {
        self.store.read(table, after, limit).await
    }

    async fn journal(&self) -> Result<Option<Journal>, StoreError> {
        self.store.journal().await
    }

    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
        journal: Journal,
    ) -> Result<(), StoreError> {
        let killed = StoreError::Unavailable { doing: "being killed", source: None };
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 && self.death == Death::BeforeCommit {
            return Err(killed);
        }
        self.store.write(table, rows, journal).await?;
        if left == 0 { Err(killed) } else { Ok(()) }
    }

    async fn derive(&self) -> Result<(), StoreError> {
        self.store.derive().await
    }

    async fn finish(&self) -> Result<(), StoreError> {
        self.store.finish().await
    }
}

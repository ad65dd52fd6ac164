//! The store: a writer and readers of one file.

use std::fmt;
use std::fs::File;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_channel::oneshot;
use sms_core::for_stores::cache::Cache;
use sms_core::store::{CommitError, Health, StoreError};

use crate::cache::Caches;
use crate::checkpoint::{Checkpoints, Counted};
use crate::command::Size;
use crate::db::Db;
use crate::error::{OpenError, SqlResult, Trouble};
use crate::known::Known;
use crate::open::{self, Lock, Purpose};
use crate::page_check::{Damage, PageCheck};
use crate::place::Place;
use crate::readers::Readers;
use crate::settings::SqliteSettings;
use crate::writer::{Upkeep, Writer};

/// A store in one file. Clones share it; the file is closed when the last one is dropped.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

/// Fields are dropped in this order: the file is unlocked last.
struct Inner {
    _page_check: Option<PageCheck>,
    checkpoints: Arc<Counted>,
    caches: Arc<Caches>,
    writer: Writer,
    readers: Readers,
    importing: Mutex<()>,
    path: PathBuf,
    place: Place,
    settings: SqliteSettings,
    /// As [`open::writer`] says, it outlives all connections.
    _file: File,
    _lock: Lock,
}

impl SqliteStore {
    /// Opens the file, or makes it, with its folder.
    ///
    /// # Errors
    ///
    /// If another program has opened it, if it is damaged or of a newer version, or if it cannot be
    /// made.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, SqliteSettings::default())
    }

    /// Opens the file with these settings.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, settings: SqliteSettings) -> Result<Self, OpenError> {
        Self::open_for(path.as_ref(), settings, Purpose::Serve)
    }

    pub(crate) fn open_for(
        path: &Path,
        settings: SqliteSettings,
        purpose: Purpose,
    ) -> Result<Self, OpenError> {
        let path = path.to_owned();
        let lock = open::lock(&path)?;
        let (mut writer, file) = open::writer(&path, &settings, purpose)?;
        let reader = || open::reader(&path, &settings);
        let own = (0..settings.readers.max(1)).map(|_| reader()).collect::<Result<_, _>>()?;
        let spare = (0..settings.readers.max(1)).map(|_| reader()).collect::<Result<_, _>>()?;
        let failed = |source| OpenError::Files { path: path.clone(), source };
        let (damage, checkpoints) = (Damage::default(), Arc::<Counted>::default());
        let is_checked = path.metadata().map_err(failed)?.len() <= open::CHECKED_AT_OPENING;
        let page_check = if is_checked {
            None
        } else {
            Some(PageCheck::start(reader()?, &path, damage.clone()).map_err(failed)?)
        };
        let caches = Arc::<Caches>::default();
        caches.watch(&writer.sql).map_err(|source| open::explain(&path, source))?;
        let known = Known::watch(&writer.sql).map_err(|source| open::explain(&path, source))?;
        writer.known = Some(known);
        let place = Place::of(&path, &writer.sql);
        let upkeep = Upkeep {
            checkpoint_pages: settings.checkpoint_pages,
            checkpoints: Arc::clone(&checkpoints),
            caches: Arc::clone(&caches),
            damage: damage.clone(),
            place: place.clone(),
        };
        let readers = Readers::start(own, spare, damage).map_err(failed)?;
        let writer = Writer::start(writer, upkeep).map_err(failed)?;
        let inner = Inner {
            _page_check: page_check,
            checkpoints,
            caches,
            writer,
            readers,
            importing: Mutex::default(),
            path,
            place,
            settings,
            _file: file,
            _lock: lock,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// How often the log was written back to the file since it was opened.
    pub fn checkpoints(&self) -> Checkpoints {
        self.inner.checkpoints.read()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    pub(crate) fn place(&self) -> &Place {
        &self.inner.place
    }

    pub(crate) fn caches(&self) -> &Caches {
        &self.inner.caches
    }

    pub(crate) fn settings(&self) -> &SqliteSettings {
        &self.inner.settings
    }

    /// A connection that keeps seeing the last commit of this moment.
    pub(crate) fn snapshot(&self) -> SqlResult<Db> {
        let db = open::connect_reader(&self.inner.path, &self.inner.settings)?;
        db.run("BEGIN", [])?;
        // The snapshot is taken by the first reading.
        db.has("SELECT 1 FROM health", [])?;
        Ok(db)
    }

    /// Runs a command in a commit that it may share with others.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        command: impl FnMut(&Db) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_sized(doing, Size::Small(1), command).await
    }

    /// Runs a command of this size.
    pub(crate) async fn write_sized<T: Send + 'static>(
        &self,
        doing: &'static str,
        size: Size,
        command: impl FnMut(&Db) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.inner.writer.submit(size, command).await;
        answer.map_err(|_| gone(doing))?.map_err(|trouble| trouble.during(doing))
    }

    /// Runs long work on a thread of its own. It goes on if its caller does not wait, as a commit
    /// does.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Unavailable {
            doing,
            source: Some(source),
        };
        let (answer, receiver) = oneshot::channel();
        let own = self.clone();
        let thread = std::thread::Builder::new().name("sms-sqlite-long".to_owned());
        let spawned = thread.spawn(move || {
            let _ = answer.send(work(&own));
        });
        spawned.map_err(|error| failed(Box::new(error)))?;
        receiver.await.map_err(|error| failed(Box::new(error)))
    }

    /// Imports are made one at a time, so that a key is remembered before its next use.
    pub(crate) fn importing(&self) -> MutexGuard<'_, ()> {
        self.inner.importing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a command that may be refused. A refusal writes nothing.
    pub(crate) async fn decide<T: Send + 'static, R: Send + 'static>(
        &self,
        doing: &'static str,
        command: impl FnMut(&Db) -> SqlResult<Result<T, CommitError<R>>> + Send + 'static,
    ) -> Result<T, CommitError<R>> {
        self.write(doing, command).await?
    }

    /// Reads on a reader's thread.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Db) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.inner.readers.submit(read).await;
        answer.map_err(|_| gone(doing))?.map_err(|trouble| trouble.during(doing))
    }

    /// Looks up a value unless it is cached. What is not there is not cached.
    pub(crate) async fn look_cached<K: Eq + Hash, V: Clone + Send + 'static>(
        &self,
        cache: &Cache<K, V>,
        key: K,
        doing: &'static str,
        read: impl FnOnce(&Db) -> SqlResult<Option<V>> + Send + 'static,
    ) -> Result<Option<V>, StoreError> {
        let ticket = match cache.get(&key) {
            Ok(value) => return Ok(Some(value)),
            Err(ticket) => ticket,
        };
        let found = self.look(doing, read).await?;
        if let Some(value) = &found {
            cache.put(ticket, key, value.clone());
        }
        Ok(found)
    }

    /// Looks up a few rows by their keys.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Db) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.inner.readers.try_now(read) {
            Ok(result) => result.map_err(|trouble| trouble.during(doing)),
            Err(read) => self.read(doing, read).await,
        }
    }
}

/// The thread that was to answer is gone.
fn gone(doing: &'static str) -> StoreError {
    Trouble::Down("a thread of the store has ended".to_owned()).during(doing)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl Health for SqliteStore {
    async fn health_check(&self) -> Result<(), StoreError> {
        // It writes, so that it notices a full disk, and a file that is not at its place.
        let write = |db: &Db| db.run("UPDATE health SET checks = checks + 1", []).map(drop);
        self.write("checking that the store takes writes", write).await
    }
}

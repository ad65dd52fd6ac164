//! What a file promises: who may open it, what survives a kill, and what a copy holds.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use futures_executor::block_on;
use sms_core::account::store::ReadsAccounts;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::contact::ContactInput;
use sms_core::event::EventType;
use sms_core::ids::EndpointId;
use sms_core::list::ListInput;
use sms_core::prelude::*;
use sms_core::store::Health;
use sms_core::upkeep::store::Upkeep;
use sms_core::upkeep::{Chore, Due};
use sms_core::webhook::delivery::DeliveryStatus;
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, EndpointChange, EndpointInput, Power};
use sms_core::webhook::secret::Secret;
use sms_core::webhook::store::{ReadsWebhooks, WebhookStore};
use sms_store_sqlite::{Finding, MaintenanceError, OpenError, SqliteSettings, SqliteStore};

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// Where the child of a test keeps its file.
const CHILD: &str = "SMS_STORE_SQLITE_CHILD";

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("sms-sqlite-files-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn file(&self) -> PathBuf {
        self.0.join("sms.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A service over a file, with an account that has credits and a number.
fn service(store: SqliteStore) -> (Sms, sms_core::ids::AccountId) {
    let sms = Sms::builder(store).build();
    let account = block_on(async {
        let new = NewAccountInput::active("Bistro", 1_000_000);
        let account = sms.operator().account_create(new).await.expect("the store serves");
        sms.operator()
            .number_create(NumberInput::shared("07700 900001"))
            .await
            .expect("the store serves");
        account.id
    });
    (sms, account)
}

fn send(sms: &Sms, account: sms_core::ids::AccountId, body: &str) -> String {
    let request = SendRequest::new(body).to("07700 900123");
    let sent = block_on(sms.account(account, Mode::Live).send(request)).expect("the store serves");
    sent.messages[0].id.to_string()
}

#[test]
fn a_second_program_is_refused_until_the_first_has_closed_the_file() {
    let folder = Folder::new();
    let first = SqliteStore::open(folder.file()).expect("the store serves");
    let refused = SqliteStore::open(folder.file()).unwrap_err();
    assert!(matches!(refused, OpenError::InUse(_)), "{refused}");
    assert!(refused.to_string().contains("in use by another program"), "{refused}");
    drop(first);
    SqliteStore::open(folder.file()).unwrap();
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_folder_and_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let (_sms, _) = service(SqliteStore::open(folder.file()).unwrap());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    let mut files = 0;
    for entry in std::fs::read_dir(&folder.0).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert_eq!(files, 4, "the file, its log, the log's index and the lock");
}

/// Sends until it is killed, and prints the id of each message that was accepted. Without a parent
/// it does nothing.
#[test]
fn child_that_sends_until_it_is_killed() {
    let Some(file) = std::env::var_os(CHILD) else { return };
    let (sms, account) = service(SqliteStore::open(file).unwrap());
    let mut out = std::io::stdout();
    for number in 0.. {
        let id = send(&sms, account, &format!("message {number}"));
        writeln!(out, "accepted {account} {id}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn what_was_accepted_survives_a_kill() {
    for wanted in [1, 7, 40, 150] {
        let folder = Folder::new();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_sends_until_it_is_killed", "--nocapture"])
            .env(CHILD, folder.file())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let accepted = lines.filter_map(|line| {
            let at = line.find("accepted ")?;
            let (account, id) = line[at + 9..].split_once(' ')?;
            Some((account.parse().unwrap(), id.parse().unwrap()))
        });
        let accepted: Vec<(sms_core::ids::AccountId, sms_core::ids::MessageId)> =
            accepted.take(wanted).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        let store = SqliteStore::open(folder.file()).unwrap();
        assert_eq!(block_on(store.check()).unwrap(), []);
        let sms = Sms::builder(store).build();
        for (account, id) in accepted {
            let account = sms.account(account, Mode::Live);
            let found = block_on(account.message_get(id));
            found.unwrap_or_else(|error| panic!("{id} is lost: {error}"));
        }
    }
}

/// A power cut leaves the file and a beginning of the log: what was synced, and perhaps some of
/// what was not. Whatever the beginning, the store opens with a beginning of the commits.
#[test]
fn a_log_that_was_cut_off_holds_whole_commits_in_their_order() {
    let folder = Folder::new();
    let (sms, account) = service(SqliteStore::open(folder.file()).unwrap());
    let log = |folder: &Path| folder.join("sms.db-wal");
    let mut states: Vec<(u64, usize)> = Vec::new();
    let ids: Vec<String> = (0..40)
        .map(|number| {
            let id = send(&sms, account, &format!("message {number}"));
            states.push((std::fs::metadata(log(&folder.0)).unwrap().len(), number + 1));
            id
        })
        .collect();
    let whole = std::fs::read(log(&folder.0)).unwrap();
    for cut in (0..=40).map(|part| whole.len() * part / 40) {
        let copy = Folder::new();
        std::fs::create_dir_all(&copy.0).unwrap();
        std::fs::copy(folder.file(), copy.file()).unwrap();
        std::fs::write(log(&copy.0), &whole[..cut]).unwrap();
        // The very first commits make the tables: before them there is no store yet.
        let Ok(store) = SqliteStore::open(copy.file()) else { continue };
        assert_eq!(block_on(store.check()).unwrap(), [], "cut at {cut}");
        let promised =
            states.iter().filter(|(length, _)| *length <= cut as u64).map(|(_, count)| *count);
        let promised = promised.max().unwrap_or(0);
        let sms = Sms::builder(store).build();
        let found = ids.iter().map(|id| {
            let account = sms.account(account, Mode::Live);
            block_on(account.message_get(id.parse().unwrap())).is_ok()
        });
        let found: Vec<bool> = found.collect();
        let count = found.iter().filter(|is_there| **is_there).count();
        assert!(count >= promised, "cut at {cut}: {count} of {promised}");
        assert!(found[..count].iter().all(|is_there| *is_there), "cut at {cut}: a gap");
    }
}

#[test]
fn a_backup_is_a_whole_store_and_replaces_nothing() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let (sms, account) = service(store.clone());
    let id = send(&sms, account, "kept");
    let copy = folder.0.join("copy.db");
    block_on(store.backup(&copy)).unwrap();
    let again = block_on(store.backup(&copy)).unwrap_err();
    assert!(matches!(again, MaintenanceError::Exists(_)), "{again}");
    send(&sms, account, "after the copy");
    let copied = SqliteStore::open(&copy).unwrap();
    assert_eq!(block_on(copied.check()).unwrap(), []);
    let copied = Sms::builder(copied).build();
    let account = copied.account(account, Mode::Live);
    assert!(block_on(account.message_get(id.parse().unwrap())).is_ok());
    let page = block_on(account.message_list(&MessageFilter::default(), PageRequest::default()));
    assert_eq!(page.unwrap().items.len(), 1);
}

#[test]
fn other_files_and_damaged_ones_are_refused_with_a_reason() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.file(), "x".repeat(8_192)).unwrap();
    let refused = SqliteStore::open(folder.file()).unwrap_err();
    assert!(matches!(refused, OpenError::NotOurs(_)), "{refused}");
    let other = folder.0.join("other.db");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
    let refused = SqliteStore::open(&other).unwrap_err();
    assert!(matches!(refused, OpenError::NotOurs(_)), "{refused}");
    let newer = folder.0.join("newer.db");
    drop(SqliteStore::open(&newer).unwrap());
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let refused = SqliteStore::open(&newer).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 99, .. }), "{refused}");
}

#[test]
fn a_check_names_damage_and_broken_rules() {
    let folder = Folder::new();
    let (sms, account) = service(SqliteStore::open(folder.file()).unwrap());
    for number in 0..50 {
        send(&sms, account, &format!("message {number}"));
    }
    drop(sms);
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    connection.execute_batch("UPDATE account SET balance = balance + 1").unwrap();
    connection.execute_batch("UPDATE message SET status = 2 WHERE no = 1").unwrap();
    drop(connection);
    let store = SqliteStore::open(folder.file()).unwrap();
    let balance = "the balance of an account is the sum of its ledger";
    let on_its_way = "a message on its way is held, or was";
    let broken = [balance, on_its_way].map(|rule| Finding::Broken { rule, rows: 1 });
    assert_eq!(block_on(store.check()).unwrap(), broken);
    drop(store);
    let mut bytes = std::fs::read(folder.file()).unwrap();
    let middle = bytes.len() / 2 / 4_096 * 4_096;
    bytes[middle..middle + 4_096].fill(0xA5);
    std::fs::write(folder.file(), bytes).unwrap();
    let findings = match SqliteStore::open(folder.file()) {
        Ok(store) => block_on(store.check()).unwrap(),
        Err(OpenError::Damaged { finding, .. }) => vec![Finding::Damage(finding)],
        Err(error) => panic!("{error}"),
    };
    assert!(matches!(findings[..], [Finding::Damage(_), ..]), "{findings:?}");
}

/// A launch in stages that a power cut ends anywhere has either not happened, and leaves nothing,
/// or has happened, and all of its messages leave.
#[test]
fn a_staged_launch_that_was_cut_off_is_whole_or_nothing() {
    const CONTACTS: usize = 120;
    let folder = Folder::new();
    let mut settings = SqliteSettings::default();
    (settings.launch_at_once, settings.checkpoint_pages) = (0, 0);
    let store = SqliteStore::open_with(folder.file(), settings).unwrap();
    let (sms, account) = service(store);
    let handle = sms.account(account, Mode::Live);
    let list = block_on(handle.list_create(ListInput::new("Regulars"))).unwrap();
    let contact = |number: usize| ContactInput::new(format!("07700 900{number:03}"));
    let contacts = (0..CONTACTS).map(contact).collect();
    block_on(handle.contacts_import(contacts, Some(list.id))).unwrap();
    let mut input = CampaignInput::new("News", "Open late today", list.id);
    input.ignore_quiet_hours = true;
    let draft = block_on(handle.campaign_create(input)).unwrap();
    let log = |folder: &Path| folder.join("sms.db-wal");
    let before = std::fs::read(log(&folder.0)).unwrap().len();
    block_on(handle.campaign_launch(draft.id, LaunchOptions::default())).unwrap();
    let whole = std::fs::read(log(&folder.0)).unwrap();
    let mut outcomes = std::collections::BTreeSet::new();
    let steps = 24;
    for cut in (0..=steps).map(|step| before + (whole.len() - before) * step / steps) {
        let copy = Folder::new();
        std::fs::create_dir_all(&copy.0).unwrap();
        std::fs::copy(folder.file(), copy.file()).unwrap();
        std::fs::write(log(&copy.0), &whole[..cut]).unwrap();
        let store = SqliteStore::open(copy.file()).unwrap();
        // Each write is followed by a portion of what the cut left to do.
        let connection = rusqlite::Connection::open(copy.file()).unwrap();
        let left = || -> i64 {
            let query = "SELECT count(*) FROM launching";
            connection.query_row(query, [], |row| row.get(0)).unwrap()
        };
        while left() > 0 {
            block_on(store.health_check()).unwrap();
        }
        assert_eq!(block_on(store.check()).unwrap(), [], "cut at {cut}");
        let sms = Sms::builder(store).build();
        let handle = sms.account(account, Mode::Live);
        let is_launched = block_on(handle.campaign_get(draft.id)).unwrap().launch.is_some();
        let queued = block_on(sms.dispatch_due(1_000)).unwrap().claimed;
        assert_eq!(queued, if is_launched { CONTACTS } else { 0 }, "cut at {cut}");
        let rows = "SELECT count(*) FROM message";
        let rows: i64 = connection.query_row(rows, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, if is_launched { 120 } else { 0 }, "cut at {cut}");
        outcomes.insert(is_launched);
    }
    assert_eq!(outcomes.len(), 2, "some cuts come before the verdict, some after it");
}

/// A connection of the test, beside the store's.
fn beside(folder: &Folder) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.file()).unwrap()
}

fn pragma(connection: &rusqlite::Connection, name: &str) -> i64 {
    connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
}

/// Many messages that belong to no account, each of a kilobyte.
fn fill(folder: &Folder, messages: u32) {
    drop(SqliteStore::open(folder.file()).unwrap());
    let connection = beside(folder);
    connection
        .execute(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)
             INSERT INTO unrouted
             SELECT randomblob(16), 1, 1, hex(randomblob(500)), 0, 1, 0, NULL FROM n",
            [messages],
        )
        .unwrap();
}

#[test]
fn space_is_given_back_after_tidying() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let connection = beside(&folder);
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    assert_eq!(pragma(&connection, "auto_vacuum"), 2, "incremental");
    connection
        .execute_batch(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
             INSERT INTO idempotency_key (account, key, fingerprint, accepted_at, answer)
             SELECT 0, 'key ' || n, zeroblob(32), 0, randomblob(400) FROM n",
        )
        .unwrap();
    let before = pragma(&connection, "page_count");
    assert!(before > 2_000, "{before} pages");
    let at = sms_core::time::Timestamp::from_millis(1);
    while block_on(store.tidy(Chore::IdempotencyKeys { before: at }, 1_000)).unwrap() > 0 {}
    // The writer gives pages back whenever nothing else waits.
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let is_small = || {
        pragma(&connection, "page_count") <= before / 2
            && pragma(&connection, "freelist_count") <= 256 + before / 16
    };
    while !is_small() {
        assert!(std::time::Instant::now() < deadline, "the file stays as large as it was");
        std::thread::yield_now();
    }
    assert_eq!(block_on(store.check()).unwrap(), []);
}

#[test]
fn events_of_outcomes_that_are_recorded_together_share_a_row_of_the_log() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let (sms, account) = service(store);
    let numbers = (0..20).map(|n| format!("07700 900{:03}", 200 + n));
    let request = numbers.fold(SendRequest::new("Hello"), SendRequest::to);
    block_on(sms.account(account, Mode::Live).send(request)).unwrap();
    // The simulated network answers for all of them at once.
    assert_eq!(block_on(sms.dispatch_due(100)).unwrap().sent, 20);
    let query = "SELECT count(*), sum(length(events)) / 20 >= 16 FROM event";
    let rows = beside(&folder).query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(rows.unwrap(), (1, true), "one row, with an id for each of 20 events");
}

#[test]
fn checkpoints_are_counted_and_keep_the_log_short() {
    let folder = Folder::new();
    let mut settings = SqliteSettings::default();
    settings.checkpoint_pages = 20;
    let store = SqliteStore::open_with(folder.file(), settings).unwrap();
    assert_eq!(store.checkpoints().count, 0);
    let (sms, account) = service(store.clone());
    for number in 0..200 {
        send(&sms, account, &format!("message {number}"));
    }
    let checkpoints = store.checkpoints();
    assert!(checkpoints.count > 20, "{checkpoints:?}");
    assert!(!checkpoints.took.is_zero(), "{checkpoints:?}");
    let sizes = store.file_sizes().unwrap();
    assert!(sizes.log < 400 * 4_096, "{sizes:?}");
    assert!(sizes.file > 20 * 4_096, "{sizes:?}");
}

/// A large file is open at once, and its pages are read in the background.
#[test]
fn nothing_is_served_from_a_large_file_once_a_damaged_page_is_found() {
    let folder = Folder::new();
    fill(&folder, 30_000);
    let mut bytes = std::fs::read(folder.file()).unwrap();
    assert!(bytes.len() > 17 << 20, "{} bytes", bytes.len());
    let middle = bytes.len() / 2 / 4_096 * 4_096;
    bytes[middle..middle + 4_096].fill(0xA5);
    std::fs::write(folder.file(), bytes).unwrap();
    let store = SqliteStore::open(folder.file()).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let refused = loop {
        assert!(std::time::Instant::now() < deadline, "the damage is not found");
        match block_on(store.health_check()) {
            Ok(()) => std::thread::yield_now(),
            Err(error) => break error,
        }
    };
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert!(cause.contains("the file is damaged"), "{cause}");
    assert!(cause.contains("restore a backup"), "{cause}");
    let page = block_on(store.account_list(PageRequest::default()));
    assert!(page.is_err(), "reads are refused too");
    let findings = block_on(store.check()).unwrap();
    assert!(matches!(findings[..], [Finding::Damage(_), ..]), "{findings:?}");
}

#[test]
fn a_large_file_in_order_is_served_and_closed_at_any_moment() {
    let folder = Folder::new();
    fill(&folder, 30_000);
    for _ in 0..5 {
        drop(SqliteStore::open(folder.file()).unwrap());
    }
    let store = SqliteStore::open(folder.file()).unwrap();
    block_on(store.health_check()).unwrap();
}

/// An endpoint of an account, with so many deliveries that wait for it.
fn with_backlog(folder: &Folder, store: &SqliteStore, deliveries: u32) -> Endpoint {
    let (_, account) = service(store.clone());
    let input = EndpointInput::new("https://example.com/hook", [EventType::MessageDelivered]);
    let secret = Secret::from_stored("whsec_test".to_owned()).into();
    let at = sms_core::time::Timestamp::from_millis(1_000_000);
    let endpoint = input.into_endpoint(EndpointId::from_u128(1), account, secret, at);
    let _ = block_on(store.endpoint_create(endpoint.clone(), None)).unwrap();
    let connection = beside(folder);
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    connection
        .execute(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)
             INSERT INTO delivery (id, account, endpoint_id, event_id, event_type, body, status,
                 attempts, next_attempt_at, created_at, claimable_at)
             SELECT randomblob(16), e.account, e.id, randomblob(16), 'message.delivered', '{}', 0,
                 0, e.created_at, e.created_at, e.created_at
             FROM n, endpoint e",
            [deliveries],
        )
        .unwrap();
    endpoint
}

fn turn(store: &SqliteStore, endpoint: &Endpoint, power: Power) {
    let change = EndpointChange { power: Some(power), ..EndpointChange::default() };
    let update = store.endpoint_update(endpoint.account, endpoint.id, change, endpoint.created_at);
    block_on(update).unwrap().unwrap();
}

fn waiting(folder: &Folder) -> i64 {
    let query = "SELECT count(*) FROM delivery WHERE claimable_at IS NOT NULL";
    beside(folder).query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn waiting_deliveries_are_given_up_at_once_for_readers_and_later_on_disk() {
    const BACKLOG: u32 = 30_000;
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let endpoint = with_backlog(&folder, &store, BACKLOG);
    let (account, id) = (endpoint.account, endpoint.id);
    turn(&store, &endpoint, Power::Off(DisabledReason::ByOwner));
    let left = waiting(&folder);
    assert!(left > 0, "the command did not wait for all of them");
    let page = block_on(store.delivery_list(account, id, PageRequest::default())).unwrap();
    assert!(page.items.iter().all(|one| one.status == DeliveryStatus::GivenUp));
    assert_eq!(block_on(store.next(Due::Deliveries)).unwrap(), None);
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while waiting(&folder) > 0 {
        assert!(std::time::Instant::now() < deadline, "{} are left", waiting(&folder));
        std::thread::yield_now();
    }
}

#[test]
fn deliveries_given_up_stay_so_if_the_endpoint_is_enabled_again_at_once() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let endpoint = with_backlog(&folder, &store, 30_000);
    turn(&store, &endpoint, Power::Off(DisabledReason::ByOwner));
    turn(&store, &endpoint, Power::On);
    assert_eq!(waiting(&folder), 0);
}

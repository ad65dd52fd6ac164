//! Backups and restores that are killed: in the middle of every write, and between all other steps.
//! Whatever has the name of a backup can be restored, and everything else is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use futures_executor::block_on;
use sha2::{Digest as _, Sha256};
use sms_core::ids::AccountId;
use sms_core::prelude::*;
use sms_store_sqlite::{
    Finding, MaintenanceError, OpenError, SqliteStore, backup_file, check_file, restore_file,
};

use super::folder::Folder;
use super::power::compile;

/// How often each is killed, unless this variable says it.
const KILLS: usize = 24;
const KILLS_VARIABLE: &str = "SMS_KILLED_BACKUPS";
/// So many of the last steps are tried one by one: there a file gets its name.
const LAST: usize = 8;
/// What the program does: its source and its target.
const WORK: &str = "SMS_FAULTS_WORK";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Backup,
    Restore,
}

/// The program. Without a parent it does nothing.
#[test]
fn child_that_copies_until_it_is_killed() {
    let Ok(work) = std::env::var(WORK) else { return };
    let mut parts = work.split('|');
    let mut next = || parts.next().unwrap();
    let (what, from, to) = (next(), PathBuf::from(next()), PathBuf::from(next()));
    match what {
        "backup" => backup_file(&from, &to).unwrap(),
        _ => restore_file(&from, &to).unwrap(),
    }
}

/// Something to copy, with the account that it holds.
fn shop(file: &Path) -> AccountId {
    let sms = Sms::builder(SqliteStore::open(file).unwrap()).build();
    block_on(async {
        let new = NewAccountInput::active("Bistro", 1_000);
        let account = sms.operator().account_create(new).await.unwrap().id;
        sms.operator().number_create(NumberInput::shared("07700 900001")).await.unwrap();
        for number in 0..60 {
            let request = SendRequest::new(format!("message {number}")).to("07700 900123");
            sms.account(account, Mode::Live).send(request).await.unwrap();
        }
        account
    })
}

/// Whether the file is whole and holds the shop.
fn assert_is_the_shop(file: &Path, account: AccountId) {
    assert_eq!(check_file(file).unwrap(), []);
    let sms = Sms::builder(SqliteStore::open(file).unwrap()).build();
    let balance = block_on(sms.operator().account_get(account)).unwrap().balance;
    assert_eq!(balance.get(), 940);
}

/// Where the work is killed: at a call, of which this share is done before, in percent, if it is a
/// write.
#[derive(Debug, Clone, Copy)]
struct Kill {
    call: usize,
    share: usize,
}

struct Killer {
    folder: Folder,
    library: PathBuf,
}

impl Killer {
    fn new() -> Self {
        let folder = Folder::new();
        let library = compile(&folder.0, "killer");
        Self { folder, library }
    }

    /// Runs the work, and kills it there.
    fn run(&self, work: Work, from: &Path, to: &Path, at: Kill) -> ExitStatus {
        let what = if work == Work::Backup { "backup" } else { "restore" };
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "backup::child_that_copies_until_it_is_killed"])
            .env(WORK, format!("{what}|{}|{}", from.display(), to.display()))
            .env("LD_PRELOAD", &self.library)
            .env("SMS_KILL_AT", at.call.to_string())
            .env("SMS_KILL_SHARE", at.share.to_string())
            .env("SMS_KILL_COUNT", self.folder.0.join("count"))
            .stdout(Stdio::null())
            .status()
            .unwrap()
    }

    /// Where the work is killed: at calls from the first to the last, evenly. If it has fewer, at
    /// each of them several times, with less or more of a write done.
    fn kills(&self, work: Work, from: &Path, to: &Path) -> Vec<Kill> {
        assert!(self.run(work, from, to, Kill { call: 0, share: 0 }).success());
        let count = fs::read_to_string(self.folder.0.join("count")).unwrap();
        let count: usize = count.parse().unwrap();
        let kills = std::env::var(KILLS_VARIABLE).ok().and_then(|kills| kills.parse().ok());
        let even = kills.unwrap_or(KILLS).saturating_sub(LAST).max(1);
        println!("{count} calls, {even} kills, and one at each of the last {LAST} calls");
        let evenly = (0..even).map(|kill| {
            let call = if even <= count { kill * count / even } else { kill % count };
            Kill { call: 1 + call, share: (50 + kill / count * 17) % 100 }
        });
        let last = (count - LAST + 1..=count).map(|call| Kill { call, share: 50 });
        evenly.chain(last).collect()
    }
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_killed_backup_is_restored_whole_or_refused() {
    let (killer, source) = (Killer::new(), Folder::new());
    let account = shop(&source.file());
    let kept = Folder::new();
    let kills = killer.kills(Work::Backup, &source.file(), &kept.0.join("nightly.db"));
    let mut outcomes = [0, 0];
    for kill in kills {
        let kept = Folder::new();
        let (backup, part) = (kept.0.join("nightly.db"), kept.0.join("nightly.db.part"));
        assert!(!killer.run(Work::Backup, &source.file(), &backup, kill).success());
        for copy in [&backup, &part].into_iter().filter(|copy| copy.exists()) {
            let target = Folder::new();
            match restore_file(copy, &target.file()) {
                Ok(()) => {
                    assert_is_the_shop(&target.file(), account);
                    outcomes[0] += 1;
                }
                Err(MaintenanceError::NotWhole(path)) => {
                    assert_eq!(&path, &part, "killed at {kill:?}: a backup has its name too early");
                    assert_eq!(names(&target), Vec::<String>::new(), "killed at {kill:?}");
                    outcomes[1] += 1;
                }
                Err(error) => panic!("killed at {kill:?}: {error}"),
            }
        }
        // What the killed one left is in nobody's way, and the finished one is never replaced.
        match backup_file(&source.file(), &backup) {
            Ok(()) => assert_eq!(names(&kept), ["nightly.db"], "killed at {kill:?}"),
            Err(MaintenanceError::Exists(_)) => {}
            Err(error) => panic!("killed at {kill:?}: {error}"),
        }
        let target = Folder::new();
        restore_file(&backup, &target.file()).unwrap();
        assert_is_the_shop(&target.file(), account);
    }
    println!("{} copies were restored, {} refused", outcomes[0], outcomes[1]);
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    assert_is_the_shop(&source.file(), account);
}

#[test]
fn a_killed_restore_leaves_no_data_or_all_of_it() {
    let (killer, source) = (Killer::new(), Folder::new());
    let account = shop(&source.file());
    let backup = source.0.join("nightly.db");
    backup_file(&source.file(), &backup).unwrap();
    let sealed = fs::read(&backup).unwrap();
    let first = Folder::new();
    let mut outcomes = [0, 0];
    for kill in killer.kills(Work::Restore, &backup, &first.file()) {
        let target = Folder::new();
        fs::write(target.0.join("admin-token"), "kept").unwrap();
        assert!(!killer.run(Work::Restore, &backup, &target.file(), kill).success());
        let is_there = target.file().exists();
        outcomes[usize::from(is_there)] += 1;
        match restore_file(&backup, &target.file()) {
            Ok(()) => assert!(!is_there, "killed at {kill:?}: data was replaced"),
            Err(MaintenanceError::Exists(_)) if is_there => {}
            Err(error) => panic!("killed at {kill:?}: {error}"),
        }
        assert_is_the_shop(&target.file(), account);
        assert_eq!(fs::read(target.0.join("admin-token")).unwrap(), b"kept");
    }
    println!("{} restores left no data, {} left all of it", outcomes[0], outcomes[1]);
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    assert_eq!(fs::read(&backup).unwrap(), sealed);
}

/// These bytes with the seal of a backup.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let digest = Sha256::digest(&bytes);
    let digits = digest.iter().fold(String::new(), |all, byte| all + &format!("{byte:02x}"));
    bytes.extend(format!("\nsms backup 1 sha256 {digits}\n").into_bytes());
    bytes
}

/// Each kind of file that is no good backup, and why it is refused.
#[test]
fn what_is_no_whole_backup_in_order_is_refused_and_nothing_is_put_in_the_folder() {
    let source = Folder::new();
    shop(&source.file());
    let good = source.0.join("good.db");
    backup_file(&source.file(), &good).unwrap();
    let whole = fs::read(&good).unwrap();
    let bad = source.0.join("bad.db");
    let refusal = || {
        let target = Folder::new();
        let refused = restore_file(&bad, &target.file()).unwrap_err();
        let left = names(&target);
        assert!(left.is_empty() || left == ["sms.db.lock"], "{left:?}");
        refused
    };
    // Empty, cut off, with the seal of nothing, another program's, text.
    let seal = whole.len() - 86;
    assert!(whole[seal..].starts_with(b"\nsms backup 1 sha256 "));
    fs::write(source.0.join("theirs.db"), "").unwrap();
    let theirs = rusqlite::Connection::open(source.0.join("theirs.db")).unwrap();
    theirs.execute_batch("CREATE TABLE theirs (a)").unwrap();
    let theirs = fs::read(source.0.join("theirs.db")).unwrap();
    for bytes in [
        &[][..],
        &whole[..1],
        &whole[..seal / 2],
        &whole[..seal],
        &whole[..whole.len() - 1],
        &whole[seal..],
        &theirs[..],
        b"no database",
        &fs::read(source.file()).unwrap(),
    ] {
        fs::write(&bad, bytes).unwrap();
        let refused = refusal();
        assert!(matches!(refused, MaintenanceError::NotWhole(_)), "{refused}");
        assert!(refused.to_string().contains("is no whole backup"), "{refused}");
    }
    // A bit anywhere that differs, in the seal too.
    for place in (0..whole.len()).step_by(whole.len() / 40).chain([seal + 40]) {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        fs::write(&bad, changed).unwrap();
        let refused = refusal();
        assert!(matches!(refused, MaintenanceError::DamagedBackup { .. }), "{place}: {refused}");
    }
    assert!(matches!(restore_file(&source.0, &bad), Err(MaintenanceError::Missing(_))));

    // A file that was in disorder, or of a newer version, before the backup.
    let harm = |sql: &str| {
        let folder = Folder::new();
        fs::copy(source.file(), folder.file()).unwrap();
        let _ = fs::remove_file(&bad);
        let connection = rusqlite::Connection::open(folder.file()).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        backup_file(&folder.file(), &bad)
    };
    harm("UPDATE account SET balance = balance + 1").unwrap();
    let MaintenanceError::NotInOrder { findings, .. } = refusal() else { panic!("in order") };
    assert!(matches!(findings[..], [Finding::Broken { rows: 1, .. }]), "{findings:?}");
    // Files with a seal that were never ours to back up.
    let newer = Folder::new();
    fs::copy(source.file(), newer.file()).unwrap();
    let connection = rusqlite::Connection::open(newer.file()).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(connection);
    fs::write(&bad, sealed(fs::read(newer.file()).unwrap())).unwrap();
    let refused = refusal();
    assert!(matches!(refused, MaintenanceError::Open(OpenError::Newer { .. })), "{refused}");
    for bytes in [theirs, b"no database".to_vec()] {
        fs::write(&bad, sealed(bytes)).unwrap();
        let refused = refusal();
        assert!(matches!(refused, MaintenanceError::Open(OpenError::NotOurs(_))), "{refused}");
    }
    let newer = harm("PRAGMA user_version = 99").unwrap_err();
    assert!(matches!(newer, MaintenanceError::Open(OpenError::Newer { .. })), "{newer}");
    let half = harm("CREATE TABLE copy_journal (journal)").unwrap_err();
    assert!(matches!(half, MaintenanceError::Open(OpenError::HalfCopied(_))), "{half}");
    // No tables yet: a backup would hold nothing.
    fs::write(source.0.join("empty.db"), "").unwrap();
    let empty = backup_file(&source.0.join("empty.db"), &bad).unwrap_err();
    assert!(matches!(empty, MaintenanceError::Open(OpenError::NotOurs(_))), "{empty}");
    assert!(!bad.exists());
}

#[test]
fn a_restore_replaces_nothing_and_takes_up_nothing_that_is_there() {
    let source = Folder::new();
    shop(&source.file());
    let good = source.0.join("good.db");
    backup_file(&source.file(), &good).unwrap();
    for name in ["sms.db", "sms.db-wal", "sms.db-shm", "sms.db-journal"] {
        let target = Folder::new();
        let there = target.0.join(name);
        fs::write(&there, "what is there").unwrap();
        let refused = restore_file(&good, &target.file()).unwrap_err();
        assert!(matches!(&refused, MaintenanceError::Exists(path) if *path == there), "{refused}");
        assert_eq!(fs::read(&there).unwrap(), b"what is there");
    }
    // A link that leads nowhere is something, too.
    let target = Folder::new();
    std::os::unix::fs::symlink(target.0.join("elsewhere"), target.file()).unwrap();
    let refused = restore_file(&good, &target.file()).unwrap_err();
    assert!(matches!(refused, MaintenanceError::Exists(_)), "{refused}");
}

#[test]
fn a_backup_and_a_restore_write_through_no_link() {
    let source = Folder::new();
    let account = shop(&source.file());
    let victim = source.0.join("victim");
    let plant = |link: &Path| {
        fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, link).unwrap();
    };
    let (good, target) = (source.0.join("good.db"), Folder::new());
    plant(&source.0.join("good.db.part"));
    backup_file(&source.file(), &good).unwrap();
    plant(&target.0.join("sms.db.unfinished"));
    restore_file(&good, &target.file()).unwrap();
    assert_is_the_shop(&target.file(), account);
    plant(&source.0.join("linked.db"));
    let refused = backup_file(&source.file(), &source.0.join("linked.db")).unwrap_err();
    assert!(matches!(refused, MaintenanceError::Exists(_)), "{refused}");
    assert_eq!(fs::read(&victim).unwrap(), b"kept");
}

#[test]
fn a_backup_that_another_program_is_writing_is_left_alone() {
    let source = Folder::new();
    shop(&source.file());
    let (good, part) = (source.0.join("good.db"), source.0.join("good.db.part"));
    let theirs = fs::File::create(&part).unwrap();
    theirs.try_lock().unwrap();
    let refused = backup_file(&source.file(), &good).unwrap_err();
    assert!(matches!(refused, MaintenanceError::UnderWay(_)), "{refused}");
    assert!(part.exists() && !good.exists());
    drop(theirs);
    // A second name of a backup that is whole, as a kill may leave it.
    backup_file(&source.file(), &good).unwrap();
    let (moved, sealed) = (source.0.join("moved.db"), fs::read(&good).unwrap());
    fs::hard_link(&good, &part).unwrap();
    fs::rename(&good, &moved).unwrap();
    backup_file(&source.file(), &good).unwrap();
    assert_eq!(fs::read(&moved).unwrap(), sealed);
}

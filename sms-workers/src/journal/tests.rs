use std::os::unix::fs::PermissionsExt;

use sms_core::dispatch::LeaseToken;
use sms_core::dispatch::journal::{IfUnanswered, Stage};
use sms_core::ids::MessageId;
use sms_core::receipt::report::NetworkId;
use sms_core::route::{HandOver, RouteName};
use sms_core::time::Timestamp;

use super::*;

/// A folder that is gone at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("sms-journal-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// The journal as the next run of the program in the same run of the machine opens it.
    fn open(&self) -> FileJournal {
        self.open_in("run 1")
    }

    fn open_in(&self, run: &str) -> FileJournal {
        let opened = FileJournal::open_in(&self.0, Some(run));
        opened.unwrap_or_else(|_| panic!("the journal is opened"))
    }

    fn text(&self) -> String {
        fs::read_to_string(self.0.join("journal")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn id(number: u128) -> MessageId {
    MessageId::from_u128(number)
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn claimed(numbers: impl IntoIterator<Item = u128>) -> Entry {
    let messages = numbers.into_iter().map(id).collect();
    Entry::Claimed { lease: LeaseToken(7), at: at(1), messages }
}

fn submitting(number: u128) -> Entry {
    Entry::Submitting { messages: vec![id(number)], unanswered: IfUnanswered::Again }
}

fn submitted(number: u128) -> HandOver {
    HandOver::Submitted { parts: vec![NetworkId::new(RouteName::new("main"), number.to_string())] }
}

fn answered(number: u128) -> Entry {
    Entry::Answered { message: id(number), result: submitted(number), at: at(2) }
}

fn settled(number: u128) -> Entry {
    Entry::Settled { messages: vec![id(number)] }
}

fn left(journal: &FileJournal) -> Vec<(u128, Stage)> {
    let each = |left: LeftOver| (left.message.as_u128(), left.stage);
    journal.left_over().into_iter().map(each).collect()
}

#[test]
fn the_next_run_finds_what_was_not_settled() {
    let folder = Folder::new("next");
    let journal = folder.open();
    assert_eq!(left(&journal), []);
    journal.append(vec![claimed(1..=4)]).unwrap();
    journal.append(vec![submitting(2), submitting(3)]).unwrap();
    journal.append(vec![answered(3), answered(4), settled(4)]).unwrap();
    drop(journal);
    let expected = [
        (1, Stage::Claimed),
        (2, Stage::Submitting(IfUnanswered::Again)),
        (3, Stage::Answered(submitted(3), at(2))),
    ];
    // A run that is killed before it settles anything leaves the same.
    for _ in 0..2 {
        assert_eq!(left(&folder.open()), expected);
    }
    let next = folder.open();
    next.append((1..=3).map(settled).collect()).unwrap();
    drop(next);
    assert_eq!(left(&folder.open()), []);
}

#[test]
fn two_programs_cannot_use_one_folder() {
    let folder = Folder::new("two");
    let journal = folder.open();
    let refused = FileJournal::open(&folder.0).unwrap_err();
    assert!(matches!(refused, JournalRefused::InUse(_)), "{refused}");
    drop(journal);
    FileJournal::open(&folder.0).unwrap();
}

#[test]
fn a_journal_is_for_its_owner_alone() {
    let folder = Folder::new("mode");
    let _journal = folder.open();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    assert_eq!(mode(&folder.0.join("journal")), 0o600);
}

#[test]
fn a_journal_writes_through_no_link() {
    let folder = Folder::new("link");
    drop(folder.open());
    let victim = folder.0.join("victim");
    fs::write(&victim, "kept").unwrap();
    let plant = |name: &str| {
        let _ = fs::remove_file(folder.0.join(name));
        std::os::unix::fs::symlink(&victim, folder.0.join(name)).unwrap();
    };
    plant("journal.new");
    folder.open().append(vec![claimed([1])]).unwrap();
    for name in ["journal", "lock"] {
        plant(name);
        let refused = FileJournal::open(&folder.0).unwrap_err();
        let cause = std::error::Error::source(&refused).unwrap().to_string();
        assert!(cause.contains("is no regular file"), "{cause}");
        fs::remove_file(folder.0.join(name)).unwrap();
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "kept");
}

#[test]
fn a_line_that_a_kill_cut_off_is_no_entry_and_does_not_spoil_the_next() {
    let folder = Folder::new("torn");
    let journal = folder.open();
    journal.append(vec![claimed(1..=2), submitting(1)]).unwrap();
    drop(journal);
    let text = folder.text();
    fs::write(folder.0.join("journal"), &text[..text.len() - 3]).unwrap();
    let next = folder.open();
    assert_eq!(left(&next), [(1, Stage::Claimed), (2, Stage::Claimed)]);
    next.append(vec![answered(2)]).unwrap();
    drop(next);
    assert_eq!(left(&folder.open())[1].1, Stage::Answered(submitted(2), at(2)));
}

#[test]
fn after_a_crash_of_the_machine_or_damage_only_answers_count() {
    let folder = Folder::new("crash");
    let entries = || vec![claimed(1..=3), submitting(2), answered(3)];
    let only_answer = [(3, Stage::Answered(submitted(3), at(2)))];
    folder.open().append(entries()).unwrap();
    assert_eq!(left(&folder.open_in("run 2")), only_answer);

    let journal = folder.open_in("run 2");
    journal.append(entries()).unwrap();
    drop(journal);
    let damaged = folder.text() + "deadbeef nonsense\n";
    fs::write(folder.0.join("journal"), damaged).unwrap();
    assert_eq!(left(&folder.open_in("run 2")), only_answer);
}

#[test]
fn a_journal_stays_small_and_keeps_what_is_not_settled() {
    let folder = Folder::new("small");
    let journal = folder.open();
    journal.append(vec![claimed([1]), submitting(1)]).unwrap();
    for number in 2..20_000 {
        journal.append(vec![claimed([number]), submitting(number), answered(number)]).unwrap();
        journal.append(vec![settled(number)]).unwrap();
    }
    let length = usize::try_from(fs::metadata(folder.0.join("journal")).unwrap().len()).unwrap();
    assert!(length <= LARGE + 1_000, "{length}");
    drop(journal);
    assert_eq!(left(&folder.open()), [(1, Stage::Submitting(IfUnanswered::Again))]);
}

#[test]
fn a_journal_that_cannot_be_written_says_nothing_about_what_it_missed() {
    let folder = Folder::new("full");
    let journal = folder.open();
    journal.append(vec![claimed([1, 2])]).unwrap();
    // A file that is only open for reading refuses every write, as a full disk does.
    journal.state.lock().unwrap().file = File::open(folder.0.join("journal")).unwrap();
    let failed = journal.append(vec![submitting(1)]).unwrap_err();
    assert!(matches!(failed, NotKept::Unwritable(_)), "{failed}");
    let unknown = journal.append(vec![answered(1)]).unwrap_err();
    assert!(matches!(unknown, NotKept::Unknown), "its place is not free yet: {unknown}");
    journal.append(vec![claimed([3])]).unwrap();
    drop(journal);
    assert_eq!(left(&folder.open()), [(3, Stage::Claimed)]);
}

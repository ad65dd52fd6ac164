//! A long import that the power cuts off.

use futures_executor::block_on;
use sms_core::contact::ContactInput;
use sms_core::contact::import::RowOutcome;
use sms_core::idempotency::Replay;
use sms_core::list::ListInput;
use sms_core::prelude::*;
use sms_store_sqlite::{SqliteSettings, SqliteStore};

use super::folder::Folder;

const ROWS: usize = 900;

fn rows() -> Vec<ContactInput> {
    let row = |number: usize| ContactInput::new(format!("07700 900{number:03}"));
    (0..ROWS).map(row).collect()
}

/// It takes effect in portions, which others take turns with. Whatever is cut off, the same import
/// makes up for it.
#[test]
fn a_long_import_that_was_cut_off_is_finished_by_the_same_import() {
    let folder = Folder::new();
    let mut settings = SqliteSettings::default();
    (settings.import_at_once, settings.checkpoint_pages) = (100, 0);
    let store = SqliteStore::open_with(folder.file(), settings).unwrap();
    let sms = Sms::builder(store).build();
    let account = NewAccountInput::active("Bistro", 100);
    let account = block_on(sms.operator().account_create(account)).unwrap().id;
    let handle = sms.account(account, Mode::Live);
    let list = block_on(handle.list_create(ListInput::new("Regulars"))).unwrap().id;
    let before = std::fs::read(folder.log()).unwrap().len();
    let key = || Some("import-1".parse().unwrap());
    let whole = block_on(handle.keyed(key()).contacts_import(rows(), Some(list))).unwrap().value;
    assert_eq!(whole.count(RowOutcome::Created), ROWS);
    let log = std::fs::read(folder.log()).unwrap();
    let mut found = std::collections::BTreeSet::new();
    let steps = 20;
    for cut in (0..=steps).map(|step| before + (log.len() - before) * step / steps) {
        let copy = Folder::new();
        std::fs::copy(folder.file(), copy.file()).unwrap();
        std::fs::write(copy.log(), &log[..cut]).unwrap();
        let store = SqliteStore::open_with(copy.file(), settings).unwrap();
        assert_eq!(block_on(store.check()).unwrap(), [], "cut at {cut}");
        let sms = Sms::builder(store).build();
        let handle = sms.account(account, Mode::Live);
        let on_list = || block_on(handle.list_get(list)).unwrap().contact_count;
        let there = on_list();
        found.insert(there);
        let again = block_on(handle.keyed(key()).contacts_import(rows(), Some(list))).unwrap();
        if there == ROWS as u64 {
            assert_ne!(again.replay, Replay::First, "the import was whole: cut at {cut}");
        } else {
            assert_eq!(again.value.added_to_list as u64, ROWS as u64 - there, "cut at {cut}");
        }
        assert_eq!(on_list(), ROWS as u64, "cut at {cut}");
    }
    assert!(found.len() > 3, "it was not in portions: {found:?}");
    assert!(found.contains(&0) && found.contains(&(ROWS as u64)), "{found:?}");
}

//! A page of the file is damaged.

use futures_executor::block_on;
use sms_core::prelude::*;
use sms_store_sqlite::{Finding, MaintenanceError, OpenError, SqliteStore, check_file};

use super::folder::Folder;

const PAGE: usize = 4_096;

#[test]
fn a_small_file_with_any_page_damaged_is_refused_and_the_check_names_it() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let sms = Sms::builder(store).build();
    block_on(async {
        let new = NewAccountInput::active("Bistro", 1_000);
        let account = sms.operator().account_create(new).await.unwrap().id;
        sms.operator().number_create(NumberInput::shared("07700 900001")).await.unwrap();
        for number in 0..60 {
            let request = SendRequest::new(format!("message {number}")).to("07700 900123");
            sms.account(account, Mode::Live).send(request).await.unwrap();
        }
    });
    drop(sms);
    let whole = std::fs::read(folder.file()).unwrap();
    assert!(whole.len() > 50 * PAGE, "every table and index has a page");
    for page in 0..whole.len() / PAGE {
        let mut damaged = whole.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0xA5);
        std::fs::write(folder.file(), damaged).unwrap();
        match SqliteStore::open(folder.file()) {
            Err(OpenError::Damaged { .. } | OpenError::NotOurs(_)) => {}
            Err(error) => panic!("page {page}: {error}"),
            Ok(_) => panic!("page {page} is damaged, and the file is served"),
        }
        match check_file(&folder.file()) {
            Ok(findings) => assert!(matches!(findings[..], [Finding::Damage(_), ..]), "{page}"),
            Err(MaintenanceError::Open(OpenError::Damaged { .. } | OpenError::NotOurs(_))) => {}
            Err(error) => panic!("page {page}: {error}"),
        }
    }
}

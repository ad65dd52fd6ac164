//! The disk takes no more: every write fails, as with a quota that is used up.

use std::process::Command;

use super::child::{Running, Told};
use super::folder::Folder;

/// Sets how large the program's files may become. Its pipes are not concerned.
fn limit(running: &Running, bytes: &str) {
    let mut command = Command::new("prlimit");
    let id = running.id().to_string();
    command.args(["--pid", &id, &format!("--fsize={bytes}:")]);
    assert!(command.status().unwrap().success(), "prlimit sets the limit");
}

#[test]
fn a_store_whose_writes_fail_says_so_and_goes_on_by_itself_once_there_is_room() {
    let folder = Folder::new();
    let mut running = Running::start(&mut Running::command(&folder.file()));
    running.until(40, Told::is_accepted);
    for _ in 0..3 {
        limit(&running, "0");
        running.until(20, |told| matches!(told, Told::Unavailable(_)));
        running.until(20, |told| *told == Told::Read);
        limit(&running, "unlimited");
        running.until(40, Told::is_accepted);
    }
    let known = running.kill();
    folder.must_hold(&known);
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    for told in &known {
        if let Told::Unavailable(body) = told {
            let query = "SELECT count(*) FROM message WHERE body = ?1";
            let rows: u32 = connection.query_row(query, [body], |row| row.get(0)).unwrap();
            assert_eq!(rows, 0, "a send that was refused left {body}");
        }
    }
}

//! The file may not be written.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::child::{Running, Told};
use super::folder::Folder;

/// A user without rights of its own, for tests that run as root, whom no mode keeps out.
const NOBODY: u32 = 65_534;

fn as_somebody(file: &Path) -> Command {
    let mut command = Running::command(file);
    let folder = file.parent().unwrap();
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn allow(folder: &Folder, mode: u32) {
    for entry in std::fs::read_dir(&folder.0).unwrap() {
        let path = entry.unwrap().path();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn a_file_that_may_not_be_written_is_refused_at_the_start_and_taken_back_afterwards() {
    let folder = Folder::new();
    let mut running = Running::start(&mut as_somebody(&folder.file()));
    running.until(20, Told::is_accepted);
    // Who has opened the file goes on.
    allow(&folder, 0o400);
    running.until(200, Told::is_accepted);
    let mut known = running.kill();

    let mut refused = Running::start(&mut as_somebody(&folder.file()));
    refused.until(1, |told| match told {
        Told::NotOpened(reason) => {
            assert!(reason.contains("could not be made or opened"), "{reason}");
            assert!(reason.contains("Permission denied"), "{reason}");
            true
        }
        other => panic!("{other:?}"),
    });
    drop(refused);

    allow(&folder, 0o600);
    let mut again = Running::start(&mut as_somebody(&folder.file()));
    again.until(20, Told::is_accepted);
    known.extend(again.kill());
    folder.must_hold(&known);
}

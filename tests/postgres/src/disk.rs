//! A small disk that tests fill.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::programs::server_user;

/// A file system of a few megabytes, in memory. Dropping it removes it.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    _keeper: Child,
}

/// Why there is no small disk.
#[derive(Debug, thiserror::Error)]
#[error("this process may not mount a file system: run it as root, outside a restricted container")]
pub struct MountRefused;

impl Disk {
    /// Mounts a disk of this many megabytes, for a server of this crate.
    ///
    /// # Errors
    ///
    /// If this process may not mount file systems.
    pub fn mount(megabytes: u32) -> Result<Self, MountRefused> {
        static MOUNTED: AtomicU32 = AtomicU32::new(0);
        let number = MOUNTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("sms-test-disk-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("the temporary folder can be made");
        let (user, group) = server_user().ok_or(MountRefused)?;
        let options = format!("size={megabytes}m,mode=0700,uid={user},gid={group}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&folder);
        let is_mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !is_mounted {
            let _ = fs::remove_dir(&folder);
            return Err(MountRefused);
        }
        let keeper = keeper(&folder);
        Ok(Self { folder, _keeper: keeper })
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Fills what is left of it.
    pub fn fill(&self) {
        let mut filler = File::create(self.filler()).expect("the file can be made");
        let zeros = vec![0; 1 << 16];
        let mut portion = zeros.as_slice();
        while !portion.is_empty() {
            match filler.write(portion) {
                Ok(0) | Err(_) => portion = &portion[..portion.len() / 2],
                Ok(_) => {}
            }
        }
    }

    /// Frees what [`Disk::fill`] took.
    pub fn free(&self) {
        fs::remove_file(self.filler()).expect("the file is there");
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }
}

/// Starts the process that unmounts the disk when this process is gone, however it ends.
fn keeper(folder: &Path) -> Child {
    let mut keeper = Command::new("/bin/sh");
    keeper.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let folder = folder.display();
    let script = format!("cat >/dev/null; umount -l '{folder}'; rmdir '{folder}'");
    keeper.arg("-c").arg(script).spawn().expect("sh starts")
}

//! Where PostgreSQL's server programs are, and which user may run them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The message of a test that needs them when they are missing.
pub(crate) const NOT_FOUND: &str = "no PostgreSQL server programs (initdb, postgres) found. \
    Install them: Debian/Ubuntu `apt-get install postgresql`; macOS `brew install postgresql`; \
    or name a running server in TEST_DATABASE_URL";

/// Where `initdb`, `pg_ctl` and `postgres` are.
pub(crate) fn find_programs() -> Option<PathBuf> {
    let is_here =
        |folder: &Path| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file();
    let from_variable = std::env::var_os("SMS_TEST_PG_BIN").map(PathBuf::from);
    let from_config = Command::new("pg_config").arg("--bindir").output().ok();
    let from_config = from_config
        .map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim().to_owned()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    // Newest version first.
    debian.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let homebrew = ["/opt/homebrew/bin", "/usr/local/bin"].map(PathBuf::from);
    from_variable
        .into_iter()
        .chain(debian)
        .chain(from_config)
        .chain(std::env::split_paths(&path))
        .chain(homebrew)
        .find(|folder| is_here(folder))
}

/// The number in `/usr/lib/postgresql/15/bin`.
fn version(folder: &Path) -> u32 {
    let number = folder.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The user to run the server as. PostgreSQL refuses root, so root becomes `postgres`, or else
/// `nobody`; `None` for any other user, who needs no change.
pub(crate) fn server_user() -> Option<(u32, u32)> {
    let me = Command::new("id").arg("-u").output().ok()?;
    if String::from_utf8_lossy(&me.stdout).trim() != "0" {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

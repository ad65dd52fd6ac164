//! The public API of each crate that is published, as a listing that a reviewer reads.
//!
//! `scripts/check-api` compares the listings in `docs/api` with the code, and
//! `scripts/check-api --update` writes them again.

mod listing;
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use listing::{ListingError, public_api};
use workspace::{Workspace, WorkspaceError};

/// What to do with a listing that differs from the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Check,
    Update,
}

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("usage: scripts/check-api [--update]")]
    Usage,
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("the API of {krate} cannot be listed")]
    Listing { krate: String, source: ListingError },
    #[error("{path} cannot be written")]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{0} listings differ from the code. If you mean the change, run scripts/check-api --update"
    )]
    Differ(usize),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{failed}");
            let mut cause = std::error::Error::source(&failed);
            while let Some(error) = cause {
                eprintln!("  because: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failed> {
    let mut arguments = env::args().skip(1);
    let task = match (arguments.next().as_deref(), arguments.next()) {
        (None, None) => Task::Check,
        (Some("--update"), None) => Task::Update,
        _ => return Err(Failed::Usage),
    };
    let workspace = Workspace::read()?;
    let published = workspace.published()?;
    Workspace::write_rustdoc_json()?;
    let mut differing = 0;
    for krate in &published {
        let listed = public_api(&workspace.rustdoc_json(krate));
        let listed = listed.map_err(|source| Failed::Listing { krate: krate.clone(), source })?;
        let path = workspace.root.join("docs/api").join(format!("{krate}.txt"));
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if listed == kept {
            continue;
        }
        print_difference(&path, &kept, &listed);
        match task {
            Task::Check => differing += 1,
            Task::Update => write(&path, &listed)?,
        }
    }
    match differing {
        0 => Ok(()),
        _ => Err(Failed::Differ(differing)),
    }
}

fn write(path: &Path, listed: &str) -> Result<(), Failed> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, listed));
    written.map_err(|source| Failed::Write { path: path.to_owned(), source })
}

/// Prints the lines that only one of the two has. A listing is sorted, and no line is there twice.
fn print_difference(path: &Path, kept: &str, listed: &str) {
    println!("{}:", path.display());
    let before: BTreeSet<&str> = kept.lines().collect();
    let after: BTreeSet<&str> = listed.lines().collect();
    for line in before.symmetric_difference(&after) {
        let sign = if after.contains(line) { '+' } else { '-' };
        println!("{sign} {line}");
    }
}

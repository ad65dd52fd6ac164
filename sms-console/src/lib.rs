#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! [`Assets`] are the files: those in the program, or those of a folder while somebody works on
//! them. [`Assets::page`] is the page, which every path of the console shows, and
//! [`Assets::file`] finds what the page loads. The page names the folder of these files, which has
//! the hash of their contents in its name. So a browser may keep them for ever, and never mixes
//! the files of two versions.

#![deny(missing_docs)]

mod embedded;
mod file;
mod folder;
mod kind;

use std::path::PathBuf;

pub use file::{File, Kept};

/// The files of the console.
#[derive(Debug, Clone)]
pub struct Assets(Source);

#[derive(Debug, Clone)]
enum Source {
    Program,
    Folder(PathBuf),
}

impl Assets {
    /// The files in the program.
    pub fn embedded() -> Self {
        Self(Source::Program)
    }

    /// The files of a folder, read anew for each request, for those who work on them.
    pub fn of_folder(folder: PathBuf) -> Self {
        Self(Source::Folder(folder))
    }

    /// The page; `None` if the folder has none.
    pub fn page(&self) -> Option<File> {
        match &self.0 {
            Source::Program => embedded::page(),
            Source::Folder(folder) => folder::page(folder),
        }
    }

    /// The file at this path below `/console/`, such as `v-0123456789abcdef/main.js`.
    pub fn file(&self, path: &str) -> Wanted {
        let Some((version, name)) = path.strip_prefix("v-").and_then(|path| path.split_once('/'))
        else {
            return Wanted::Page;
        };
        let found = match &self.0 {
            Source::Program if version == embedded::VERSION => embedded::file(name),
            Source::Program => None,
            Source::Folder(folder) => folder::file(folder, name),
        };
        found.map_or(Wanted::Missing, Wanted::File)
    }
}

/// What a path below `/console/` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A file.
    File(File),
    /// A file that is not there, such as one of another version.
    Missing,
    /// A place of the console, which the page shows.
    Page,
}

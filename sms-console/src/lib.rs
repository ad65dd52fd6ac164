#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! A server mounts the [`places()`]: each has a method, a pattern of paths and who may see it, and
//! makes the answer to a [`Visit`]. The server finds out who is signed in, and where a change comes
//! from, before it lets anybody in. Handlers call the same service as the APIs do.
//!
//! [`part`] has the components, and [`mod@format`] says how numbers and times are written.
//! Every page is rendered by functions from data to [`maud::Markup`], which escapes all text.
//!
//! # Files
//!
//! [`Assets`] are the files that pages load: those in the program, or those of a folder during
//! development. Pages name the folder of these files, which has the hash of their contents in its
//! name. So a browser may keep them for ever, and never mixes the files of two versions.

#![deny(missing_docs)]

mod account;
mod answer;
mod design;
mod embedded;
mod file;
mod folder;
pub mod form;
pub mod format;
pub mod frame;
mod key;
mod kind;
mod meanwhile;
mod multipart;
pub mod navigation;
mod operator;
pub mod part;
pub mod place;
pub mod places;
pub mod query;
pub mod refusal;
pub mod reply;
pub mod said;
pub mod sign_in;
pub mod visit;
pub mod way_back;

use std::path::PathBuf;

pub use file::{File, Kept};
pub use place::Place;
pub use places::places;
pub use visit::Visit;

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

    /// The path of the folder that the files are in, as pages name it.
    pub fn base(&self) -> String {
        match &self.0 {
            Source::Program => embedded::base(),
            Source::Folder(_) => folder::FOLDER.to_owned(),
        }
    }

    /// The file at this path below `/console/v-`, such as `0123456789abcdef/console.css`. `None` if
    /// it is not there, as one of another version.
    pub fn file(&self, path: &str) -> Option<File> {
        let (version, name) = path.split_once('/')?;
        match &self.0 {
            Source::Program if version == embedded::VERSION => embedded::file(name),
            Source::Program => None,
            Source::Folder(folder) => folder::file(folder, name),
        }
    }
}

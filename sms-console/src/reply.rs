//! What handlers answer.

use bytes::Bytes;
use maud::Markup;
use sms_core::Error;

use crate::said::Said;

/// The answer of a handler, or why there is none.
pub type Outcome = Result<Reply, Trouble>;

/// What a handler answers.
#[derive(Debug)]
pub enum Reply {
    /// A page, in the frame.
    Page(Page),
    /// The form again, with what is wrong with it (422).
    Again(Page),
    /// The browser goes to this path (303).
    Moved(String),
    /// A part of a page, for a module that asked for it.
    Fragment(Markup),
    /// A file to keep.
    File(Download),
}

/// A page without its frame.
#[derive(Debug)]
pub struct Page {
    pub(crate) title: String,
    pub(crate) content: Markup,
    pub(crate) width: Width,
    pub(crate) modules: Vec<&'static str>,
}

/// How much of the window a page takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// As much as lines of text want.
    Column,
    /// All of it, for tables and for pages of several parts.
    Whole,
}

/// A file to keep.
pub struct Download {
    /// The name under which the browser saves it.
    pub name: String,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// Its content, made piece by piece as the browser takes it.
    pub pieces: Pieces,
}

/// The content of a file in pieces. One that breaks off ends with an error.
pub type Pieces = Box<dyn Iterator<Item = std::io::Result<Bytes>> + Send>;

/// Why a handler has no answer. It becomes a page that says so.
#[derive(Debug)]
pub enum Trouble {
    /// There is no session, or it is over.
    SignedOut,
    /// The page is for the operator, or for an account, and the session is another one.
    OtherSession,
    /// There is no such page, or no such thing in this account.
    NotFound,
    /// The form was made for another session, and nothing was done.
    WrongCsrf,
    /// The form lacks something that the page sends. Carries what.
    BadForm(&'static str),
    /// The service did not execute the request.
    Core(Error),
}

/// Shows nothing of its content.
impl std::fmt::Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, content_type, pieces: _ } = self;
        let mut shown = f.debug_struct("Download");
        shown.field("name", name).field("content_type", content_type).finish_non_exhaustive()
    }
}

impl Page {
    /// A page with this title and this content.
    pub fn new(title: impl Into<String>, content: Markup) -> Self {
        Self { title: title.into(), content, width: Width::Column, modules: Vec::new() }
    }

    /// The page takes the whole width.
    #[must_use]
    pub fn wide(mut self) -> Self {
        self.width = Width::Whole;
        self
    }

    /// The page runs this module, such as `import.js`, besides those of all pages.
    #[must_use]
    pub fn with_module(mut self, name: &'static str) -> Self {
        self.modules.push(name);
        self
    }
}

impl From<Page> for Reply {
    fn from(page: Page) -> Self {
        Self::Page(page)
    }
}

impl Reply {
    /// Leads to another page.
    pub fn moved(path: impl Into<String>) -> Self {
        Self::Moved(path.into())
    }

    /// Says this on the page that the answer leads to. Other answers show it themselves.
    #[must_use]
    pub fn saying(self, said: Said) -> Self {
        match self {
            Self::Moved(path) => {
                let joint = if path.contains('?') { '&' } else { '?' };
                Self::Moved(format!("{path}{joint}said={}", said.key()))
            }
            other => other,
        }
    }

    /// Leads to `path` after a deletion, and says that it was done. What is gone was deleted
    /// `already`: by another tab, or by the same form, which is sent again.
    pub(crate) fn deleted(
        outcome: Result<(), Error>,
        path: &str,
        done: Said,
        already: Said,
    ) -> Outcome {
        let said = match outcome {
            Ok(()) => done,
            Err(Error::NotFound(_)) => already,
            Err(error) => return Err(error.into()),
        };
        Ok(Self::moved(path).saying(said))
    }

    /// Gives the focus to the element with this id, on the page that the answer leads to.
    #[must_use]
    pub fn focusing(self, id: &str) -> Self {
        match self {
            Self::Moved(path) => Self::Moved(format!("{path}#{id}")),
            other => other,
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound(_) => Self::NotFound,
            other => Self::Core(other),
        }
    }
}

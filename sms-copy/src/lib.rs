#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod catalogue;
mod digest;
mod error;
mod lists;
mod portable;
mod progress;
mod run;
mod value;

pub use catalogue::{Column, TABLES, Table};
pub use error::{CopyFailed, Side};
pub use portable::{Journal, Place, Portable, Portion};
pub use progress::{Phase, Progress, Watch};
pub use run::{Copied, copy};
pub use value::{Kind, Row, Value};

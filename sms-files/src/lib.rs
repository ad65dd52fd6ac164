#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod bad_file;
mod cell;
mod column;
mod columns;
mod delimited;
mod delimiter;
mod encoding;
pub mod failures;
mod letters;
mod maker;
mod package;
mod person;
mod row;
mod sheet;
mod tape;
mod weight;
mod workbook;

pub use bad_file::BadFile;
pub use column::{BadColumns, Column, NoNumberColumn, NotAColumn};
pub use columns::Columns;
pub use delimiter::{Delimiter, NotADelimiter};
pub use encoding::{Encoding, NotAnEncoding};
pub use person::{Person, Problem};
pub use row::{Fault, Row};
pub use sheet::{Format, Options, Sheet};

/// The most columns of a file. A contact has at most 50 custom fields; the others are left out.
pub const MOST_COLUMNS: usize = 200;
/// The most bytes of a cell that are kept. The longest value that a contact may have is shorter.
pub const MOST_CELL_BYTES: usize = 64 * 1_024;
/// The most bytes of a workbook once it is unpacked, unless [`Options`] say otherwise.
pub const MOST_UNPACKED: u64 = 32 << 20;

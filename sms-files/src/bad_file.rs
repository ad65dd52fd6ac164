//! Why a file cannot be read.

use std::io;

use crate::MOST_COLUMNS;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadFile {
    /// There is no row with a word in it.
    #[error("This file is empty.")]
    Empty,
    /// The first row names too many columns.
    #[error(
        "The first row of this file names more than {MOST_COLUMNS} columns. Remove those that you \
         do not need, and choose it again."
    )]
    TooWide,
    /// A quote opens in the row that names the columns, and is never closed.
    #[error(
        "A quote opens in line {0}, which names the columns, and is never closed. Remove it, and \
         choose the file again."
    )]
    UnclosedName(u64),
    /// The workbook has no sheet of the name that was asked for, or does not show it.
    #[error("This file has no such sheet. Choose it again.")]
    NoSuchSheet,
    /// It is a zip file without a workbook in it.
    #[error("This is no workbook and no CSV file. Choose an .xlsx, .ods or CSV file.")]
    NotAWorkbook,
    /// It is a workbook of Excel before 2007, or one with a password.
    #[error(
        "This is an old Excel file, or one with a password. Save it as .xlsx without a password, \
         and choose it again."
    )]
    OldWorkbook,
    /// The workbook takes too much memory.
    #[error(
        "This file is too large once it is unpacked. Remove the sheets, columns and pictures that \
         you do not need, or save it as CSV."
    )]
    TooLarge,
    /// A part of the workbook cannot be read.
    #[error("This file is damaged. Save it again, or save it as CSV.")]
    Broken,
    /// The file could not be read to its end.
    #[error("The file cannot be read.")]
    Io(#[from] io::Error),
}

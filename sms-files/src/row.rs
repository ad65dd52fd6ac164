//! A row of a file.

/// A row of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    /// The line of the file that it begins on, or the row of the sheet, counted from 1.
    pub line: u64,
    /// Its cells. Those with words beyond the last column come after those of the columns, at most
    /// 200 in all; then there is a fault. Quotes and the signs by which
    /// spreadsheets keep a number as text are taken off.
    pub cells: Vec<String>,
    /// Why it is no person, whatever its columns mean.
    pub fault: Option<Fault>,
}

/// Shows no personal data.
impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row").field("line", &self.line).finish_non_exhaustive()
    }
}

/// What is wrong with a row as a whole.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// There are words in a cell that no column names. They may belong to the cell before, so that
    /// all cells from there on are in a wrong column.
    #[error("it has {cells} columns instead of {columns}")]
    TooManyCells {
        /// How many cells the row has.
        cells: usize,
        /// How many columns the file has.
        columns: usize,
        /// The beginning of the first cell without a column.
        first: String,
    },
    /// A quote opens in this row and is never closed.
    #[error("a quote opens in this row and is never closed")]
    Unclosed,
}

/// Shows no personal data.
impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooManyCells { .. } => "TooManyCells",
            Self::Unclosed => "Unclosed",
        })
    }
}

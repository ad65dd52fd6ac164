//! The programs that write workbooks.

/// Whose workbook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// Excel's `.xlsx`, which is Office Open XML.
    Excel,
    /// OpenDocument's `.ods`, which LibreOffice writes.
    OpenDocument,
}

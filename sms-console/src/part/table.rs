//! Tables of things. On a narrow screen each row becomes a small card.

use maud::{Markup, html};

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    label: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    /// Only a screen reader says the label.
    Unlabelled,
}

/// A column of texts.
pub const fn column(label: &'static str) -> Column {
    Column { label, kind: Kind::Text }
}

/// A column of numbers, which stand on the right.
pub const fn right(label: &'static str) -> Column {
    Column { label, kind: Kind::Number }
}

/// A column whose label only a screen reader says, such as that of buttons.
pub const fn unlabelled(label: &'static str) -> Column {
    Column { label, kind: Kind::Unlabelled }
}

/// A table with a row for each item.
pub fn table<T, const N: usize>(
    caption: &str,
    columns: [Column; N],
    items: impl IntoIterator<Item = T>,
    cells: impl Fn(T) -> [Markup; N],
) -> Markup {
    html! {
        div.table-box {
            table.table role="table" {
                caption.unseen { (caption) }
                thead role="rowgroup" {
                    tr role="row" {
                        @for column in columns {
                            th scope="col" role="columnheader" class=[column.class()] {
                                @if column.kind == Kind::Unlabelled {
                                    span.unseen { (column.label) }
                                } @else {
                                    (column.label)
                                }
                            }
                        }
                    }
                }
                tbody role="rowgroup" {
                    @for item in items {
                        tr role="row" {
                            @let cells = columns.iter().zip(cells(item));
                            @for (at, (column, cell)) in cells.enumerate() {
                                td role="cell" class=[column.class()]
                                    data-label=[column.beside(at)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Column {
    fn class(&self) -> Option<&'static str> {
        (self.kind == Kind::Number).then_some("right")
    }

    /// What stands beside a cell on a narrow screen.
    fn beside(&self, at: usize) -> Option<&'static str> {
        (at > 0 && self.kind != Kind::Unlabelled).then_some(self.label)
    }
}

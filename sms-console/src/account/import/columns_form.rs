//! The choice of what the columns of a file mean.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use sms_files::{BadColumns, Column, Columns, Encoding, NoNumberColumn};

use super::number_column::may_hold;
use super::opened::{Kind, SAMPLE};
use crate::format::counted;
use crate::part::button::{Kind as Look, link, submit};
use crate::part::field::Field;
use crate::part::notice::{Notice, notice};

/// What a module reports of a file: enough to say what its columns are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    #[serde(flatten)]
    pub kind: Kind,
    pub rows: usize,
    /// The first rows of the file, by which a person recognises its columns.
    pub sample: Vec<Vec<String>>,
}

/// What is said of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// They are guessed, and the person checks them.
    Asked,
    /// They cannot be imported.
    Wrong(String),
    /// They can be imported.
    Ready,
}

impl From<Result<(), BadColumns>> for Answer {
    fn from(checked: Result<(), BadColumns>) -> Self {
        checked.map_or_else(|bad| Self::Wrong(bad.to_string()), |()| Self::Ready)
    }
}

/// What the form shows besides the columns.
#[derive(Debug)]
pub(super) struct Shell<'a> {
    /// Where it is sent.
    pub to: &'a str,
    /// Where another file is chosen.
    pub back: &'a str,
    pub csrf: &'a str,
    /// The key of the import.
    pub key: &'a str,
    /// The choice of a list.
    pub list: Markup,
}

/// The form that asks what each column means.
pub(super) fn view(told: &Told, columns: &Columns, answer: &Answer, shell: &Shell<'_>) -> Markup {
    let Told { kind, rows, sample: _ } = told;
    let kept = serde_json::to_string(told).unwrap_or_default();
    let named = kind.header.iter().zip(columns.as_slice()).enumerate();
    html! {
        form.stack method="post" action=(shell.to) data-ready[*answer == Answer::Ready] {
            input type="hidden" name="csrf" value=(shell.csrf);
            input type="hidden" name="key" value=(shell.key);
            input type="hidden" name="sheet" value=(kept);
            section.card.stack {
                h2 tabindex="-1" { "What is in “" (kind.file) "”?" }
                @if let Some(question) = question(&kind.header, columns, answer) {
                    (notice(Notice::Warn, &html! { p { (question) } }))
                }
                div.form-row {
                    @for (place, (name, column)) in named {
                        (column_field(told, place, name, column))
                    }
                }
            }
            section.stack-tight {
                h2 { "The first rows" }
                (sample_view(told))
            }
            div.form {
                @if let Some(encoding) = &kind.encoding { (encoding_field(encoding)) }
                @if let Some(worksheet) = &kind.worksheet {
                    @let names = kind.worksheets.iter().map(|name| (name.as_str(), name.as_str()));
                    (Field::select("worksheet", "Sheet", names).value(worksheet))
                }
                (shell.list)
            }
            @if let Answer::Wrong(problem) = answer {
                (notice(Notice::Bad, &html! { p { (problem) } }))
            }
            div.actions {
                (submit(format!("Import {}", counted(*rows as u64, "row"))).kind(Look::Main))
                (link("Choose another file", shell.back))
            }
        }
    }
}

/// The columns of a file that was read in another way before, with what the person `chose` for
/// those that it had then: for the column of the same name, or else at the same place.
pub(super) fn kept(before: &[String], chosen: &Columns, header: &[String]) -> Columns {
    let guessed_before = Columns::guessed(before);
    let guessed = Columns::guessed(header);
    let is_same_width = before.len() == header.len();
    let place_before = |place: usize, name: &String| {
        let is_here = before.get(place) == Some(name);
        let place = if is_here { Some(place) } else { before.iter().position(|it| it == name) }
            .or(is_same_width.then_some(place))?;
        let chosen = chosen.as_slice().get(place)?;
        // A column that the person did not choose is guessed from its present name.
        (guessed_before.as_slice().get(place) != Some(chosen)).then(|| chosen.clone())
    };
    let places: Vec<Option<Column>> =
        header.iter().enumerate().map(|(place, name)| place_before(place, name)).collect();
    let mut taken: Vec<Column> = Vec::new();
    let mut columns = vec![Column::LeftOut; header.len()];
    for (place, column) in places.iter().enumerate() {
        if let Some(column) = column.clone().filter(|column| !taken.contains(column)) {
            taken.push(column.clone());
            columns[place] = column;
        }
    }
    for (place, column) in guessed.as_slice().iter().enumerate() {
        if places[place].is_some() {
            continue;
        }
        let free = [column.clone(), Column::custom_of(&header[place])];
        let free = free.into_iter().find(|column| !taken.contains(column));
        let free = free.unwrap_or(Column::LeftOut);
        if free != Column::LeftOut {
            taken.push(free.clone());
        }
        columns[place] = free;
    }
    Columns::new(columns)
}

/// What is asked where the names of several columns speak of a number.
fn question(header: &[String], columns: &Columns, answer: &Answer) -> Option<String> {
    let is_open = *answer == Answer::Asked && columns.place_of("phone").is_none();
    match Columns::number_place(header, None) {
        Err(NoNumberColumn::Several(places)) if is_open => {
            Some(format!("{} Choose one.", may_hold(header, &places)))
        }
        _ => None,
    }
}

/// The choice of an encoding; `found` is the one that the file was read with.
pub(super) fn encoding_field(found: &str) -> Field<'_> {
    let options = Encoding::ALL.map(|one| (one.as_str(), one.words()));
    Field::select("encoding", "Encoding", options)
        .value(found)
        .hint("Choose another one if letters look wrong.")
}

fn column_field(told: &Told, place: usize, name: &str, column: &Column) -> Markup {
    let label =
        if name.trim().is_empty() { format!("Column {}", place + 1) } else { name.to_owned() };
    let custom = match column {
        Column::Custom(_) => column.clone(),
        _ => Column::custom_of(name),
    };
    let known = Column::KNOWN.map(|(column, words)| (column.to_string(), words.to_owned()));
    let own =
        (custom.to_string(), format!("Custom: {}", custom.to_string().replacen("custom.", "", 1)));
    let cells = told.sample.iter().take(SAMPLE).filter_map(|row| row.get(place));
    let cells: Vec<&str> = cells.map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect();
    let hint: String = cells.join(", ").chars().take(60).collect();
    let options = known.into_iter().chain([own]);
    let id = format!("column-{place}");
    html! {
        (Field::select("column", label, options).id(id).value(column.to_string()).hint(&hint))
    }
}

fn sample_view(told: &Told) -> Markup {
    let header = &told.kind.header;
    html! {
        div.table-box tabindex="0" role="group" aria-label="The first rows" {
            table.table {
                caption.unseen { "The first rows" }
                thead { tr { @for name in header { th scope="col" { (name) } } } }
                tbody {
                    @for row in told.sample.iter().take(SAMPLE) {
                        tr {
                            @for (name, cell) in header.iter().zip(row) {
                                td data-label=(name) { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_columns_that_may_hold_the_number_are_a_question() {
        for (names, asked) in [
            (
                &["Phone", "Mobile"][..],
                Some("“Phone” (column 1), “Mobile” (column 2). Choose one."),
            ),
            (&["Phone", "Mobile consent"], None),
            (&["Name"], None),
        ] {
            let header: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let columns = Columns::guessed(&header);
            let found = question(&header, &columns, &Answer::Asked);
            assert_eq!(found.is_some(), asked.is_some(), "{names:?}");
            assert!(found.unwrap_or_default().ends_with(asked.unwrap_or_default()));
            assert_eq!(question(&header, &columns, &Answer::Ready), None);
        }
    }

    #[test]
    fn what_was_chosen_is_kept_when_the_file_is_read_in_another_way() {
        for (before, chosen, header, expected) in [
            // Another encoding: the names differ, the places do not.
            (
                &["Mobile", "Pr\u{c3}\u{a9}nom", "Ort"][..],
                &["phone", "first_name", "left_out"][..],
                &["Mobile", "Prénom", "Ort"][..],
                &["phone", "first_name", "left_out"][..],
            ),
            // Nothing was chosen, so the new names decide.
            (&["Mobile", "X"], &["phone", "custom.x"], &["Mobile", "E-Mail"], &["phone", "email"]),
            // Another sheet: columns are known by their names.
            (
                &["Phone", "Mobile", "Name"],
                &["custom.phone", "phone", "last_name"],
                &["Name", "Table", "Mobile", "Phone"],
                &["last_name", "custom.table", "phone", "custom.phone"],
            ),
            // What is chosen goes before what is guessed.
            (
                &["Home", "Phone"],
                &["phone", "left_out"],
                &["Home", "Mobile"],
                &["phone", "left_out"],
            ),
            (&["A"], &["phone"], &["Mobile", "A", "B"], &["custom.mobile", "phone", "custom.b"]),
            (&["A"], &[], &["Mobile"], &["phone"]),
        ] {
            let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
            let (before, header): (Vec<String>, Vec<String>) = (owned(before), owned(header));
            let chosen = Columns::new(chosen.iter().map(|it| it.parse().unwrap()).collect());
            let found = kept(&before, &chosen, &header);
            let found: Vec<String> = found.as_slice().iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{header:?}");
        }
    }
}

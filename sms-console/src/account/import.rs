//! Importing contacts from a CSV file.
//!
//! With script, `import.js` reads the file, asks [`choose_columns`] what its columns are, posts the
//! rows in portions to the API, and shows the [`Report`] that it has put together. Without script,
//! the whole file comes in one form, and its columns are what their names say.

mod column;
mod packed;
mod report;
mod sheet;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use sms_core::contact::ContactInput;
use sms_core::ids::ListId;
use sms_core::list::ContactList;

use self::column::{BadColumns, Column};
use self::packed::unpacked;
use self::report::Report;
use self::sheet::{SAMPLE, Sheet};
use super::list_choice::every_list_and;
use crate::form::{Form, sentence};
use crate::format::counted;
use crate::key::{key_of, new_key};
use crate::part::button::{Kind, link, submit};
use crate::part::field::Field;
use crate::part::head::head;
use crate::part::notice::{Notice, in_words, notice};
use crate::place::{Place, account};
use crate::reply::{Download, Outcome, Page, Reply, Trouble};
use crate::visit::AccountVisit;

const PATH: &str = "/console/contacts/import";
const COLUMNS: &str = "/console/contacts/import/columns";
const REPORT: &str = "/console/contacts/import/report";
const LEFT_OUT: &str = "/console/contacts/import/left-out";
/// As many bytes as an import of the API.
const MOST_BYTES: usize = 8 * 1_048_576;

/// What is said where nobody can choose columns. Those that are guessed never mean the same.
const NO_NUMBER: &str = "No column of this file is called mobile, phone or number. Name one so in \
                         its first row.";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, account(ask)),
        Place::post(PATH, account(import)).most_bytes(MOST_BYTES),
        Place::post(COLUMNS, account(choose_columns)),
        Place::post(REPORT, account(show_report)).most_bytes(MOST_BYTES),
        Place::post(LEFT_OUT, account(download)).most_bytes(MOST_BYTES),
    ]
}

async fn ask(visit: AccountVisit) -> Outcome {
    let list = visit.query("list").unwrap_or_default();
    Ok(page(&visit, list, html! {}).await?.into())
}

/// The whole file at once.
async fn import(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let key = key_of(&form)?;
    let list = list_of(&form)?;
    let file = form.file("file").ok_or(Trouble::BadForm("a file"))?;
    let sheet = match Sheet::read(&file.bytes) {
        Ok(sheet) => sheet,
        Err(error) => return refused(&visit, &form, &error.to_string()).await,
    };
    let columns = Column::guessed(&sheet.header);
    if column::check(&columns).is_err() {
        return refused(&visit, &form, NO_NUMBER).await;
    }
    let rows = sheet.rows.iter().map(|row| column::contact_of(&row.cells, &columns));
    let rows: Vec<ContactInput> = rows.collect();
    match visit.handle().keyed(Some(key)).contacts_import(rows, list).await {
        Ok(made) => {
            let report = Report::of(&file.name, sheet, made.value);
            let content = html! {
                (import_head())
                div.stack { (report.view(visit.csrf(), LEFT_OUT)) }
            };
            Ok(Page::new("Import contacts", content).into())
        }
        Err(error) => refused(&visit, &form, &sentence(&in_words(&error))).await,
    }
}

/// The form again, with the list that was chosen in it. Browsers do not keep the file.
async fn refused(visit: &AccountVisit, form: &Form, words: &str) -> Outcome {
    let problems = notice(Notice::Bad, &html! { p { (words) } });
    Ok(Reply::Again(page(visit, form.text("list"), problems).await?))
}

fn list_of(form: &Form) -> Result<Option<ListId>, Trouble> {
    let list = form.optional("list").map(str::parse);
    list.transpose().map_err(|_| Trouble::BadForm("a list"))
}

fn import_head() -> Markup {
    let lead = "A number that is a contact already is updated; empty cells leave it as it is.";
    html! { (head("Import contacts").back("Contacts", "/console/contacts").lead(lead)) }
}

/// The form. `list` is the id of the list that is chosen, or empty.
async fn page(visit: &AccountVisit, list: &str, problems: Markup) -> Result<Page, Trouble> {
    let chosen: Option<ListId> = list.parse().ok();
    let lists = every_list_and(visit.handle(), chosen.as_slice()).await?;
    let owner = format!("{} {}", visit.person.account.id, visit.person.mode);
    let content = html! {
        (import_head())
        div #import .stack data-owner=(owner) data-list=(list)
            data-offline="The server does not answer."
            data-failed="The server could not do this just now. Try again in a moment." {
            (problems)
            form.card.form method="post" action=(PATH) enctype="multipart/form-data"
                aria-label="Import contacts" {
                input type="hidden" name="csrf" value=(visit.csrf());
                input type="hidden" name="key" value=(new_key());
                (Field::input("file", "CSV file", "file").required()
                    .hint("The first row names the columns. At most 20,000 rows."))
                div.stack data-without-script {
                    (list_field(&lists, list))
                    p.small.faint {
                        "The columns are known by their names: mobile, first name, last name, "
                        "email and notes. Others become custom fields."
                    }
                    div.actions { (submit("Import the file").kind(Kind::Main)) }
                }
            }
        }
        (templates())
    };
    Ok(Page::new("Import contacts", content).with_module("import.js").with_module("csv.js"))
}

fn list_field<'a>(lists: &'a [ContactList], chosen: &'a str) -> Field<'a> {
    let none = (String::new(), "No list");
    let lists = lists.iter().map(|list| (list.id.to_string(), list.name.as_str()));
    let options = std::iter::once(none).chain(lists);
    Field::select("list", "Add everyone to a list", options).value(chosen)
}

/// What the module shows by itself. It fills in what `data-fill` names.
fn templates() -> Markup {
    html! {
        template #import-progress {
            div.card role="status" {
                div.progress {
                    progress max="1" value="0" aria-label="Rows imported" {}
                    div.small.faint {
                        "Rows imported: " span data-fill="done" {} " of " span data-fill="total" {}
                    }
                }
            }
        }
        template #import-refused {
            (notice(Notice::Bad, &html! { p data-fill="why" {} }))
        }
        template #import-stopped {
            (notice(Notice::Bad, &html! { p data-fill="why" {} }))
            div.actions {
                button.button.button-main type="button" {
                    "Go on from row " span data-fill="row" {}
                }
            }
        }
        template #import-interrupted {
            (notice(Notice::Warn, &html! {
                p {
                    "The import of “" span data-fill="file" {} "” was interrupted after "
                    span data-fill="done" {} " rows. Choose the same file to go on from there."
                }
                div { button.button.button-plain.button-small type="button" { "Forget it" } }
            }))
        }
    }
}

/// What the module tells of a file: enough to say what its columns are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    file: String,
    header: Vec<String>,
    rows: usize,
    /// The first rows.
    sample: Vec<Vec<String>>,
}

async fn choose_columns(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let told: Told = read(&form, "sheet")?;
    if let Err(error) = sheet::fits(told.rows) {
        return Ok(Reply::Fragment(notice(Notice::Bad, &html! { p { (error) } })));
    }
    let sent: Result<Vec<Column>, _> = form.all("column").into_iter().map(str::parse).collect();
    let sent = sent.map_err(|_| Trouble::BadForm("what its columns are"))?;
    let list = form.text("list");
    let chosen: Option<ListId> = list.parse().ok();
    let lists = every_list_and(visit.handle(), chosen.as_slice()).await?;
    let list = list_field(&lists, list);
    let (columns, answer) = if sent.len() == told.header.len() {
        let answer = column::check(&sent).map_or_else(Answer::Wrong, |()| Answer::Ready);
        (sent, answer)
    } else {
        (Column::guessed(&told.header), Answer::Asked)
    };
    Ok(Reply::Fragment(columns_view(&told, &columns, answer, &list, visit.csrf())))
}

fn read<T: for<'a> Deserialize<'a>>(form: &Form, name: &'static str) -> Result<T, Trouble> {
    serde_json::from_str(form.raw(name)).map_err(|_| Trouble::BadForm(name))
}

/// What is said of columns.
#[derive(Debug, Clone, Copy)]
enum Answer {
    /// They are guessed, and somebody looks at them.
    Asked,
    /// They cannot be imported.
    Wrong(BadColumns),
    /// They can be imported.
    Ready,
}

fn columns_view(
    told: &Told,
    columns: &[Column],
    answer: Answer,
    list: &Field<'_>,
    csrf: &str,
) -> Markup {
    let Told { file, header, rows, sample: _ } = told;
    let kept = serde_json::to_string(told).unwrap_or_default();
    html! {
        form.stack method="post" action=(COLUMNS)
            data-ready[matches!(answer, Answer::Ready)] {
            input type="hidden" name="csrf" value=(csrf);
            input type="hidden" name="sheet" value=(kept);
            section.card.stack {
                h2 tabindex="-1" { "What is in “" (file) "”?" }
                div.form-row {
                    @for (place, (name, column)) in header.iter().zip(columns).enumerate() {
                        (column_field(told, place, name, column))
                    }
                }
            }
            section.stack-tight {
                h2 { "The first rows" }
                (sample_view(told))
            }
            div.form { (list) }
            @if let Answer::Wrong(problem) = answer {
                (notice(Notice::Bad, &html! { p { (problem) } }))
            }
            div.actions {
                (submit(format!("Import {}", counted(*rows as u64, "row"))).kind(Kind::Main))
                (link("Choose another file", PATH))
            }
        }
    }
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
    let cells = told.sample.iter().filter_map(|row| row.get(place));
    let cells: Vec<&str> = cells.map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect();
    let hint: String = cells.join(", ").chars().take(60).collect();
    let options = known.into_iter().chain([own]);
    let id = format!("column-{place}");
    html! {
        (Field::select("column", label, options).id(id).value(column.to_string()).hint(&hint))
    }
}

fn sample_view(told: &Told) -> Markup {
    html! {
        div.table-box tabindex="0" role="group" aria-label="The first rows" {
            table.table {
                caption.unseen { "The first rows" }
                thead { tr { @for name in &told.header { th scope="col" { (name) } } } }
                tbody {
                    @for row in told.sample.iter().take(SAMPLE) {
                        tr {
                            @for (name, cell) in told.header.iter().zip(row) {
                                td data-label=(name) { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

async fn show_report(visit: AccountVisit) -> Outcome {
    let report: Report = read(&visit.form().await?, "report")?;
    Ok(Reply::Fragment(report.view(visit.csrf(), LEFT_OUT)))
}

/// Gives back as a file what the report has of the rows left out: nothing is kept of an import.
async fn download(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let bytes = unpacked(form.raw("packed")).ok_or(Trouble::BadForm("the rows"))?;
    Ok(Reply::File(Download {
        name: "failed-rows.csv".to_owned(),
        content_type: "text/csv; charset=utf-8",
        bytes: bytes.into(),
    }))
}

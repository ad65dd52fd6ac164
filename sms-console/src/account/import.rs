//! Importing contacts from a file.
//!
//! With script, `import.js` has the server [read] the file, asks [`choose_columns`] what its
//! columns are, sends the rows back [in portions](import_rows), and shows the [`Report`] that it
//! has put together. Without script, the whole file comes in one form, and its columns are what
//! their names say. `sms-files` reads the files and makes contacts of their rows.

mod chosen_list;
mod columns_form;
mod number_column;
mod opened;
mod opt_outs;
mod packed;
mod report;
mod rows;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sms_files::{Column, Columns, Options};

use self::chosen_list::{ChosenList, Made, in_words_of_list};
use self::columns_form::{Answer, Shell, Told};
use self::opened::{Kind, NotAFile, Opened};
use self::packed::Unpacking;
use self::report::Report;
use self::rows::{Asked, Portion};
use crate::form::{FieldTroubles, Form, sentence};
use crate::key::{key_of, new_key};
use crate::part::button::{Kind as Look, submit};
use crate::part::field::Field;
use crate::part::head::head;
use crate::part::notice::{Notice, in_words, notice};
use crate::place::{Place, account};
use crate::reply::{Download, Outcome, Page, Reply, Trouble};
use crate::visit::AccountVisit;

const PATH: &str = "/console/contacts/import";
const READ: &str = "/console/contacts/import/read";
const COLUMNS: &str = "/console/contacts/import/columns";
const ROWS: &str = "/console/contacts/import/rows";
const REPORT: &str = "/console/contacts/import/report";
const LEFT_OUT: &str = "/console/contacts/import/left-out";
/// As many bytes as an import of the API.
const MOST_BYTES: usize = 8 * 1_048_576;

pub(crate) fn places() -> Vec<Place> {
    let mut places = vec![
        Place::get(PATH, account(ask)),
        Place::post(PATH, account(import)).most_bytes(MOST_BYTES),
        Place::post(READ, account(read)).most_bytes(MOST_BYTES),
        Place::post(COLUMNS, account(choose_columns)),
        Place::post(ROWS, account(import_rows)).most_bytes(MOST_BYTES),
        Place::post(REPORT, account(show_report)).most_bytes(MOST_BYTES),
        Place::post(LEFT_OUT, account(download)).most_bytes(MOST_BYTES),
    ];
    places.extend(opt_outs::places());
    places
}

async fn ask(visit: AccountVisit) -> Outcome {
    let list = ChosenList::named(visit.query("list").unwrap_or_default());
    Ok(page(&visit, &list, &Refusal::default()).await?.into())
}

/// The whole file at once.
async fn import(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let key = key_of(&form)?;
    let list = ChosenList::of(&form)?;
    let opened = match opened(&form)? {
        Ok(opened) => opened,
        Err(error) => return refused(&visit, &list, error.to_string().into()).await,
    };
    let Opened { kind: Kind { file, delimiter, header, .. }, rows } = opened;
    let number = match number_column::place(&header, form.optional(number_column::NAME)) {
        Ok(place) => place,
        Err(words) => {
            let column = number_column::field(&header);
            return refused(&visit, &list, Refusal { column, ..words.into() }).await;
        }
    };
    let columns = Columns::with_number_at(&header, Some(number));
    let list = match list.clone().made(&visit, &form).await {
        Ok(made) => made,
        Err(Made::Trouble(trouble)) => return Err(trouble),
        Err(Made::Refused(error)) => {
            let (words, troubles) = (in_words_of_list(&error), FieldTroubles::of(&error));
            return refused(&visit, &list, Refusal { troubles, ..words.into() }).await;
        }
    };
    let mut report = Report::new(file, header, delimiter);
    report.has_list = list.id().is_some();
    let asked = Asked { key, columns, list: list.id() };
    if let Err(error) = rows::import(&visit, asked, rows, &mut report).await {
        return refused(&visit, &list, sentence(&in_words(&error)).into()).await;
    }
    let content = html! {
        (import_head())
        div.stack { (report.view(visit.csrf(), LEFT_OUT)) }
    };
    Ok(Page::new("Import contacts", content).into())
}

/// The file that a form brought, in the encoding or the sheet that it names.
fn opened(form: &Form) -> Result<Result<Opened, NotAFile>, Trouble> {
    let file = form.file("file").ok_or(Trouble::BadForm("a file"))?;
    let encoding = form.optional("encoding").map(str::parse).transpose();
    let encoding = encoding.map_err(|_| Trouble::BadForm("an encoding"))?;
    let sheet = form.optional("worksheet").map(str::to_owned);
    Ok(Opened::read(file, &Options { encoding, sheet, ..Options::default() }))
}

/// Why a file was not imported.
#[derive(Debug, Default)]
struct Refusal {
    words: Option<String>,
    troubles: FieldTroubles,
    /// The choice of the column with the numbers, if that is the question.
    column: Markup,
}

impl From<String> for Refusal {
    fn from(words: String) -> Self {
        Self { words: Some(words), ..Self::default() }
    }
}

/// The form again, with the list that was chosen in it. Browsers do not keep the file.
async fn refused(visit: &AccountVisit, list: &ChosenList, refusal: Refusal) -> Outcome {
    Ok(Reply::Again(page(visit, list, &refusal).await?))
}

fn import_head() -> Markup {
    let lead = "A number that is a contact already is updated; empty cells leave it as it is.";
    html! { (head("Import contacts").back("Contacts", "/console/contacts").lead(lead)) }
}

async fn page(visit: &AccountVisit, list: &ChosenList, refusal: &Refusal) -> Result<Page, Trouble> {
    let Refusal { words, troubles, column } = refusal;
    let owner = format!("{} {}", visit.person.account.id, visit.person.mode);
    let content = html! {
        (import_head())
        div #import .stack data-owner=(owner) data-list=(list.value())
            data-most=(MOST_BYTES - 4_096)
            data-offline="The server does not answer."
            data-failed="The server could not do this just now. Try again in a moment."
            data-large="This file has more than 8 MB. Split it." {
            @if let Some(words) = words { (notice(Notice::Bad, &html! { p { (words) } })) }
            form.card.form method="post" action=(PATH) enctype="multipart/form-data"
                aria-label="Import contacts" {
                input type="hidden" name="csrf" value=(visit.csrf());
                input type="hidden" name="key" value=(new_key());
                (Field::input("file", "Excel or CSV file", "file").required()
                    .hint(&format!("The first row names the columns. {}", opened::accepted())))
                div.stack data-without-script {
                    (column)
                    (list.fields(visit, troubles).await?)
                    p.small.faint {
                        "The columns are known by their names: mobile, first name, last name, "
                        "email and notes. Others become custom fields."
                    }
                    div.actions { (submit("Import the file").kind(Look::Main)) }
                }
            }
        }
        (templates())
    };
    Ok(Page::new("Import contacts", content).with_module("import.js"))
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

/// Reads a file for the module, or says why it cannot be imported.
async fn read(visit: AccountVisit) -> Outcome {
    match opened(&visit.form().await?)? {
        Ok(opened) => Ok(json(&opened)),
        Err(error) => Ok(json(&json!({ "refused": error.to_string() }))),
    }
}

/// An answer for the module.
fn json(answer: &impl Serialize) -> Reply {
    // Texts and counts, which JSON can always represent.
    let bytes = serde_json::to_vec(answer).unwrap_or_default();
    Reply::File(Download {
        name: "answer.json".to_owned(),
        content_type: "application/json",
        pieces: Box::new(std::iter::once(Ok(bytes.into()))),
    })
}

async fn choose_columns(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let told: Told = read_json(&form, "sheet")?;
    let header = &told.kind.header;
    if let Err(error) = opened::fits(told.rows).and(opened::has_room_for(header.len())) {
        return Ok(Reply::Fragment(notice(Notice::Bad, &html! { p { (error) } })));
    }
    let sent = columns_of(&form, "column")?;
    let mut list = ChosenList::of(&form)?;
    let mut troubles = FieldTroubles::none();
    let before: Option<Told> =
        form.optional("sheet_before").map(|_| read_json(&form, "sheet_before")).transpose()?;
    let before = before.filter(|before| opened::has_room_for(before.kind.header.len()).is_ok());
    let (columns, mut answer) = if let Some(before) = before {
        let chosen = columns_of(&form, "column_before")?;
        (columns_form::kept(&before.kind.header, &chosen, header), Answer::Asked)
    } else if sent.as_slice().len() == header.len() {
        let answer = Answer::from(sent.check());
        (sent, answer)
    } else {
        (Columns::guessed(header), Answer::Asked)
    };
    if answer == Answer::Ready {
        match list.clone().made(&visit, &form).await {
            Ok(made) => list = made,
            Err(Made::Trouble(trouble)) => return Err(trouble),
            Err(Made::Refused(error)) => {
                troubles = FieldTroubles::of(&error);
                answer = Answer::Wrong(in_words_of_list(&error));
            }
        }
    }
    let fresh = new_key();
    let key = form.optional("key").unwrap_or(&fresh);
    let list = list.fields(&visit, &troubles).await?;
    let shell = Shell { to: COLUMNS, back: PATH, csrf: visit.csrf(), key, list };
    Ok(Reply::Fragment(columns_form::view(&told, &columns, &answer, &shell)))
}

fn columns_of(form: &Form, name: &str) -> Result<Columns, Trouble> {
    let sent: Result<Vec<Column>, _> = form.all(name).into_iter().map(str::parse).collect();
    sent.map(Columns::new).map_err(|_| Trouble::BadForm("what its columns are"))
}

fn read_json<T: for<'a> Deserialize<'a>>(form: &Form, name: &'static str) -> Result<T, Trouble> {
    serde_json::from_str(form.raw(name)).map_err(|_| Trouble::BadForm(name))
}

/// Imports some rows for the module, and reports on these alone.
async fn import_rows(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let Portion { rows } = read_json(&form, "portion")?;
    let columns = columns_of(&form, "column")?;
    let list = ChosenList::of(&form)?.id();
    let asked = Asked { key: key_of(&form)?, columns, list };
    let mut report = Report::new(String::new(), Vec::new(), String::new());
    match rows::import(&visit, asked, rows, &mut report).await {
        Ok(()) => Ok(json(&report)),
        Err(error) => Ok(json(&json!({ "refused": sentence(&in_words(&error)) }))),
    }
}

async fn show_report(visit: AccountVisit) -> Outcome {
    let report: Report = read_json(&visit.form().await?, "report")?;
    if !report.is_of_an_import() {
        return Err(Trouble::BadForm("the report of an import"));
    }
    Ok(Reply::Fragment(report.view(visit.csrf(), LEFT_OUT)))
}

/// Gives back as a file what the report has of the rows left out: nothing is kept of an import.
async fn download(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let unpacking = Unpacking::of(form.raw("packed")).ok_or(Trouble::BadForm("the rows"))?;
    Ok(Reply::File(Download {
        name: "failed-rows.csv".to_owned(),
        content_type: "text/csv; charset=utf-8",
        pieces: Box::new(unpacking),
    }))
}

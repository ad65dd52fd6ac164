//! Importing opt-outs from a file: the whole file comes in one form, and its columns are what their
//! names say.

use maud::{Markup, html};
use sms_core::opt_out::Via;
use sms_core::opt_out::import::{OptOutOutcome, OptOutRow};
use sms_files::{Column, Columns, Options, Problem, Row};

use super::number_column;
use super::opened::{Kind, Opened, accepted};
use super::report::Report;
use crate::form::sentence;
use crate::format::whole;
use crate::part::button::{Kind as Look, link, submit};
use crate::part::field::Field;
use crate::part::head::head;
use crate::part::notice::{Notice, in_words, notice};
use crate::part::stat::{stat, stats};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::visit::AccountVisit;

const TITLE: &str = "Import opt-outs";
const OPT_OUTS: &str = "/console/opt-outs";
const PATH: &str = "/console/opt-outs/import";
/// As many bytes as an import of contacts.
const MOST_BYTES: usize = 8 * 1_048_576;

pub(super) fn places() -> Vec<Place> {
    vec![Place::get(PATH, account(ask)), Place::post(PATH, account(import)).most_bytes(MOST_BYTES)]
}

async fn ask(visit: AccountVisit) -> Outcome {
    Ok(page(visit.csrf(), None, &html! {}).into())
}

/// The form, with what is wrong with a file and the choice of its column of numbers.
fn page(csrf: &str, wrong: Option<&str>, column: &Markup) -> Page {
    let hint = format!(
        "The first row names the columns: mobile and notes. A file that begins with a number \
         needs no names. {}",
        accepted()
    );
    let file = Field::input("file", "Excel or CSV file", "file").required().hint(&hint);
    let content = html! {
        (head(TITLE).back("Opt-outs", OPT_OUTS)
            .lead("Bring those who must not be texted, such as from another provider."))
        div.stack {
            @if let Some(words) = wrong { (notice(Notice::Bad, &html! { p { (words) } })) }
            form.card.form method="post" action=(PATH) enctype="multipart/form-data"
                aria-label=(TITLE) {
                input type="hidden" name="csrf" value=(csrf);
                (file)
                (column)
                div.actions {
                    (link("Go back", OPT_OUTS))
                    (submit("Never text these numbers").kind(Look::Main))
                }
            }
        }
    };
    Page::new(TITLE, content)
}

async fn import(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let file = form.file("file").ok_or(Trouble::BadForm("a file"))?;
    let refused = |words: &str| Ok(Reply::Again(page(visit.csrf(), Some(words), &html! {})));
    let opened = match Opened::read(file, &Options::default()) {
        Ok(opened) => opened,
        Err(error) => return refused(&error.to_string()),
    };
    let Opened { kind: Kind { file, delimiter, header, .. }, rows } = opened;
    let number = match number_column::place(&header, form.optional(number_column::NAME)) {
        Ok(place) => place,
        Err(words) => {
            let column = number_column::field(&header);
            return Ok(Reply::Again(page(visit.csrf(), Some(&words), &column)));
        }
    };
    let columns = Columns::with_number_at(&header, Some(number));
    let columns = columns.only(&[Column::Phone, Column::Notes]);
    let mut report = Report::new(file, header, delimiter);
    let (mut asked, mut read, mut bytes) = (Vec::new(), Vec::new(), 0);
    for row in rows {
        let (row, person) = row.person(&columns);
        match person.contact {
            Ok(contact) => {
                asked.push(OptOutRow { phone: contact.phone, note: contact.notes });
                read.push((row, person.left_out));
            }
            Err(problem) => report.leave_out(row, problem, &mut bytes),
        }
    }
    let imported = match visit.handle().opt_outs_import(asked, Via::Dashboard).await {
        Ok(imported) => imported,
        Err(error) => return refused(&sentence(&in_words(&error))),
    };
    for ((row, mut left_out), result) in read.into_iter().zip(imported) {
        if result.outcome != OptOutOutcome::Invalid
            && let Some(cause) = &result.error
        {
            let place = columns.place_of("notes");
            left_out.push(Problem::of_cell(&row, place, cause));
        }
        match result.outcome {
            OptOutOutcome::Created => report.created += 1,
            OptOutOutcome::Existing => report.unchanged += 1,
            OptOutOutcome::Invalid => {
                let problem = not_a_number(&row, &columns, result.error.unwrap_or_default());
                report.leave_out(row, problem, &mut bytes);
                continue;
            }
        }
        report.lack(row, left_out, &mut bytes);
    }
    Ok(Page::new(TITLE, done(&report, visit.csrf())).into())
}

fn not_a_number(row: &Row, columns: &Columns, cause: String) -> Problem {
    Problem::of_cell(row, columns.place_of("phone"), cause)
}

fn done(report: &Report, csrf: &str) -> Markup {
    let mut figures = vec![
        stat("New", &whole(report.created as u64), None),
        stat("Opted out already", &whole(report.unchanged as u64), None),
        stat("Failed", &whole(report.invalid as u64), None),
    ];
    if report.values > 0 {
        figures.push(stat("Notes left out", &whole(report.values as u64), None));
    }
    html! {
        (head(TITLE).back("Opt-outs", OPT_OUTS))
        div.stack {
            section.stack role="status" {
                h2 tabindex="-1" { "“" (report.file) "” was imported" }
                (stats(&figures))
            }
            @if !report.left_out.is_empty() {
                (report.left_out_view(csrf, "/console/contacts/import/left-out"))
            }
            div.actions {
                (link("Show the opt-outs", OPT_OUTS).kind(Look::Main))
                (link("Import another file", PATH))
            }
        }
    }
}

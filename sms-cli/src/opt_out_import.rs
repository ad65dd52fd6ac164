//! `sms opt-outs import`: numbers that must not get messages, such as those that an account brings
//! from another provider. To do it twice changes nothing, so an interrupted import is repeated.

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;
use sms_client::Client;
use sms_client::opt_out::{OptOutImport, OptOutImportOutcome, OptOutImportRow, OptOutInput};

use crate::context::Context;
use crate::failure::Failure;
use crate::file_args::FileArgs;
use crate::import::journal::Report;
use crate::import::people::{People, Survey};
use crate::import::portion::{Bounds, Done, Said, Stop, Target, send_all};
use crate::import::{encoding_of, not_all};
use crate::output::{Form, counted, grouped, say, say_json};
use crate::progress::Progress;

/// What a request may have: 1 MB.
const BOUNDS: Bounds = Bounds { rows: 1_000, bytes: 900_000, values: Bounds::VALUES };
/// What the report says of a row that was not done.
const NOT_DONE: &str = "not opted out: the import stopped before this row was done";

/// Opt out the numbers of a file: CSV, .xlsx or .ods.
#[derive(Debug, Args)]
#[command(
    after_help = "The first row names the columns: phone (or number, mobile) and notes. Others
are ignored. A file that begins with a number needs no names.

Rows without a UK mobile number and notes that are left out are written to another file with the
reason. If the import stops, so are the rows that are not done: import that file. Numbers that have
opted out already stay as they are.

Example:
  sms opt-outs import stopped.csv"
)]
pub(crate) struct Import {
    #[command(flatten)]
    of: FileArgs,
}

/// What became of the rows.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
struct Totals {
    rows: u64,
    created: u64,
    existing: u64,
    invalid: u64,
    /// Notes that were left out.
    left_out: u64,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = context.client()?;
        let Self { of } = self;
        let report_file = of.report()?;
        let mut people = People::of_numbers(&of)?;
        let total = Survey::of(&of.file, &of.options())?.rows;
        let delimiter = people.format().delimiter();
        let mut report = Report::open(&report_file, people.header(), delimiter, 0)?;
        if context.form == Form::Text {
            of.say_format(people.format());
        }
        let progress = Progress::of(total, context.form);
        let mut list = List { client, totals: Totals::default() };
        let sent = send_all(&mut people, BOUNDS, &mut list, &mut report, &progress).await;
        drop(progress);
        let totals = list.totals;
        let mut reported = totals.invalid + totals.left_out;
        let stopped = match sent {
            Ok(()) => None,
            Err(stop) => {
                let rows = stop.rows.iter().map(|sent| &sent.row);
                for row in rows {
                    report.add(row, NOT_DONE)?;
                }
                reported += stop.rows.len() as u64 + the_rest(&mut people, &mut report)?;
                Some(stop)
            }
        };
        let report_file = report.finish(reported)?;
        match context.form {
            Form::Json => {
                let encoding = encoding_of(people.format());
                let said = json!({ "totals": totals, "report": report_file, "encoding": encoding });
                say_json(&said)?;
            }
            Form::Text => say(&words(&totals))?,
        }
        let file = report_file.map(|file| file.display().to_string()).unwrap_or_default();
        if let Some(Stop { cause, rows: _ }) = stopped {
            let next = format!("what was not done is in {file}: import it, or run this again");
            let cause = Box::new(cause);
            return Err(Failure::Stopped { done: totals.rows, total, cause, next });
        }
        if reported == 0 {
            return Ok(());
        }
        let words = not_all(totals.invalid, totals.left_out);
        Err(Failure::InPart(format!("{words}: see {file}")))
    }
}

/// Reports the rows that were not read before an import stopped. Says how many they are.
fn the_rest(people: &mut People<OptOutInput>, report: &mut Report) -> Result<u64, Failure> {
    let mut count = 0;
    let mut next = people.take_back();
    // A file that cannot be read any more is why it stopped.
    while let Some(row) = next.or_else(|| people.next_row().ok().flatten()) {
        report.add(&row, NOT_DONE)?;
        count += 1;
        next = None;
    }
    Ok(count)
}

/// The account's opt-outs, as an import fills them.
struct List {
    client: Client,
    totals: Totals,
}

impl Target<OptOutInput> for List {
    async fn send(&mut self, rows: Vec<OptOutInput>) -> Result<Vec<Said>, Failure> {
        let result = self.client.opt_out_import(&OptOutImport { rows }).await?;
        self.totals.created += result.created;
        self.totals.existing += result.existing;
        self.totals.invalid += result.invalid;
        let said = |row: OptOutImportRow| match (row.outcome, row.error) {
            (OptOutImportOutcome::Invalid, reason) => Said::Refused(reason.unwrap_or_default()),
            (_, Some(reason)) => Said::LeftOut(reason),
            (_, None) => Said::Taken,
        };
        Ok(result.rows.into_iter().map(said).collect())
    }

    fn note(&mut self, done: Done, _: &mut Report) -> Result<(), Failure> {
        self.totals.rows += done.rows;
        self.totals.invalid += done.unsent;
        self.totals.left_out += done.left_out;
        Ok(())
    }

    fn done(&self) -> u64 {
        self.totals.rows
    }
}

fn words(totals: &Totals) -> String {
    let mut words = format!("opted out {}", counted(totals.created, "number"));
    for (count, what) in [(totals.existing, "had opted out already"), (totals.invalid, "refused")] {
        if count > 0 {
            // Writing to a string cannot fail.
            let _ = write!(words, ", {} {what}", grouped(count));
        }
    }
    if totals.left_out > 0 {
        let _ = write!(words, ", {} left out", counted(totals.left_out, "note"));
    }
    words
}

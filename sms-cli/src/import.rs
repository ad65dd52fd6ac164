//! `sms contacts import`: a CSV file of any size, in portions that the API takes. An interrupted
//! import goes on where it stopped, and what was sent twice counts once.

mod journal;
mod sheet;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use sms_client::contact::{ContactImport, ContactInput, ImportOutcome};
use sms_client::ids::ListId;
use sms_client::{Client, Error};

use self::journal::{Journal, Report, Start, Totals};
use self::sheet::{Row, Sheet, Survey};
use crate::context::{Access, Context};
use crate::failure::Failure;
use crate::output::{Form, GREEN, YELLOW, counted, grouped, paint, say, say_json};
use crate::progress::Progress;

/// The most rows of a portion.
const PORTION_ROWS: usize = 20_000;
/// The most bytes of a portion's rows as JSON; a request may have 8 MB.
const PORTION_BYTES: usize = 7_500_000;

/// Create and update contacts from a CSV file.
#[derive(Debug, Args)]
#[command(after_help = "The first line names the columns: phone (or number, mobile), first_name,
last_name, email and notes. Other columns become custom fields.

Rows that are refused are written to another file with the reason, to be corrected and imported.
An interrupted import goes on where it stopped when the same command is run again.

Examples:
  sms contacts import people.csv
  sms contacts import people.csv --list lst_… --phone-column 'Mobile 1'")]
pub(crate) struct Import {
    /// The file
    file: PathBuf,
    /// A list to add the contacts to
    #[arg(long, value_name = "ID")]
    list: Option<ListId>,
    /// The column with the phone numbers, if it has another name
    #[arg(long, value_name = "NAME")]
    phone_column: Option<String>,
    /// The character between columns
    #[arg(long, value_name = "CHARACTER", default_value_t = ',')]
    delimiter: char,
    /// Where to write refused rows; FILE.rejected.csv by default
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Start at the first row, even after an interrupted import
    #[arg(long)]
    restart: bool,
}

/// Rows that go into one request.
#[derive(Default)]
struct Portion {
    rows: Vec<Row>,
    inputs: Vec<ContactInput>,
    bytes: usize,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Access { url, key } = context.access()?;
        let client = Client::new(&url, &key)?;
        let delimiter = u8::try_from(self.delimiter)
            .map_err(|_| Failure::Usage("--delimiter is a single ASCII character".to_owned()))?;
        let phone_column = self.phone_column.as_deref();
        let mut sheet = Sheet::open(&self.file, delimiter, phone_column)?;
        let Survey { rows: total, digest } = Survey::of(&self.file, delimiter)?;
        let report_file = self.report.clone().unwrap_or_else(|| rejected_name(&self.file));
        if is_same_file(&report_file, &self.file) {
            let usage = "--report names the file to import, which it would overwrite";
            return Err(Failure::Usage(usage.to_owned()));
        }
        let list = self.list.as_ref().map_or("", ListId::as_str);
        let (numbers, between) = (phone_column.unwrap_or_default(), self.delimiter.to_string());
        let target = [url.as_str(), key.as_str(), list, numbers, between.as_str()];
        let start = if self.restart { Start::Afresh } else { Start::WhereItStopped };
        let mut journal = Journal::open(&target, &digest, start)?;
        let mut report = Report::open(&report_file, sheet.headings(), journal.report_bytes())?;
        let done = journal.totals().rows;
        if done > 0 && context.form == Form::Text {
            anstream::eprintln!("continuing after row {}", grouped(done));
        }
        sheet.skip(done)?;
        let progress = Progress::of(total, context.form);
        progress.show(done);
        loop {
            let portion = Portion::next(&mut sheet)?;
            if portion.rows.is_empty() {
                break;
            }
            let step = self.send(&client, &mut journal, &mut report, portion).await;
            let done = journal.totals().rows;
            step.map_err(|cause| Failure::Stopped { done, total, cause: Box::new(cause) })?;
            progress.show(done);
        }
        drop(progress);
        let totals = journal.finish()?;
        let report_file = report.finish(totals.invalid)?;
        match context.form {
            Form::Json => say_json(&json!({ "totals": totals, "report": report_file }))?,
            Form::Text => say(&told(&totals))?,
        }
        match report_file {
            None => Ok(()),
            Some(file) => {
                let rows = counted(totals.invalid, "row");
                Err(Failure::InPart(format!("{rows} refused: see {}", file.display())))
            }
        }
    }

    /// Sends a portion, and notes what became of it.
    async fn send(
        &self,
        client: &Client,
        journal: &mut Journal,
        report: &mut Report,
        portion: Portion,
    ) -> Result<(), Failure> {
        let Portion { rows, inputs, bytes: _ } = portion;
        let result = if inputs.is_empty() {
            None
        } else {
            let import = ContactImport { rows: inputs, list_id: self.list.clone() };
            // The key comes from the journal: however often a portion is sent, it counts once.
            Some(client.contact_import(&import).idempotency_key(journal.key()).await?)
        };
        let mut totals = journal.totals().plus(rows.len() as u64, result.as_ref());
        let mut outcomes = result.iter().flat_map(|result| &result.rows);
        for row in &rows {
            let refused = match &row.contact {
                Err(problem) => Some(problem.clone()),
                Ok(()) => outcomes.next().and_then(|told| {
                    let is_invalid = told.outcome == ImportOutcome::Invalid;
                    is_invalid.then(|| told.error.clone().unwrap_or_default())
                }),
            };
            if let Some(reason) = refused {
                if row.contact.is_err() {
                    totals.invalid += 1;
                }
                report.add(row, &reason)?;
            }
        }
        let bytes = report.sync()?;
        journal.note(totals, bytes)
    }
}

impl Portion {
    /// The next rows that fit into a request. It leaves the row that no longer does in `sheet`.
    fn next(sheet: &mut Sheet) -> Result<Self, Failure> {
        let mut portion = Self::default();
        while portion.rows.len() < PORTION_ROWS {
            let Some((mut row, input)) = sheet.next()? else { break };
            let json = input.as_ref().map(serde_json::to_vec).transpose().map_err(Error::from)?;
            let bytes = json.map_or(0, |json| json.len() + 1);
            if bytes > PORTION_BYTES {
                let problem = format!("it takes {bytes} bytes instead of at most {PORTION_BYTES}");
                row.contact = Err(problem);
            } else if portion.bytes + bytes > PORTION_BYTES {
                sheet.put_back((row, input));
                break;
            } else {
                portion.bytes += bytes;
                portion.inputs.extend(input);
            }
            portion.rows.push(row);
        }
        Ok(portion)
    }
}

/// `people.csv` has `people.rejected.csv` beside it.
fn rejected_name(file: &Path) -> PathBuf {
    file.with_extension("rejected.csv")
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        // One of them is not there.
        _ => false,
    }
}

fn told(totals: &Totals) -> String {
    let Totals { rows, created, updated, unchanged, duplicate, invalid, added_to_list } = totals;
    let mut line = format!("{} {}", paint(GREEN, "imported"), counted(*rows, "row"));
    let counts = [
        (created, "created"),
        (updated, "updated"),
        (unchanged, "unchanged"),
        (duplicate, "superseded by a later row"),
        (added_to_list, "added to the list"),
    ];
    for (count, name) in counts {
        if *count > 0 {
            let _ = write!(line, ", {} {name}", grouped(*count));
        }
    }
    if *invalid > 0 {
        let refused = format!("{} refused", grouped(*invalid));
        let _ = write!(line, ", {}", paint(YELLOW, &refused));
    }
    line
}

//! `sms contacts import`: a file of any size, in portions that the API takes. An interrupted import
//! continues where it stopped, and what was sent twice counts once.

pub(crate) mod journal;
pub(crate) mod people;
pub(crate) mod portion;

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;
use sms_client::Client;
use sms_client::contact::{ContactImport, ContactInput, ImportOutcome, ImportResult, ImportRow};
use sms_client::ids::ListId;
use sms_core::contact::import::MAX_ROWS;
use sms_files::Format;

use self::journal::{Journal, Report, Start, Totals};
use self::people::{People, Survey};
use self::portion::{Bounds, Done, Said, Stop, Target, send_all};
use crate::context::{Access, Context};
use crate::failure::Failure;
use crate::file_args::FileArgs;
use crate::output::{Form, GREEN, YELLOW, counted, grouped, paint, say, say_json};
use crate::progress::Progress;
use crate::style::tell;

/// The most of a request. It may have 8 MB.
const BOUNDS: Bounds = Bounds { rows: MAX_ROWS, bytes: 7_500_000, values: Bounds::VALUES };

/// Create and update contacts from a file: CSV, .xlsx or .ods.
#[derive(Debug, Args)]
#[command(after_help = "The first row names the columns: phone (or number, mobile), first_name,
last_name, email and notes. Other columns become custom fields. The encoding and the character
between columns are found out.

Rows that are refused and values that are left out are written to another file with the reason, to
be corrected and imported. A bad email or custom field does not cost its row the number.
An interrupted import goes on where it stopped when the same command is run again.

Examples:
  sms contacts import people.csv
  sms contacts import people.csv --list lst_… --phone-column 'Mobile 1'")]
pub(crate) struct Import {
    #[command(flatten)]
    of: FileArgs,
    /// A list to add the contacts to
    #[arg(long, value_name = "ID")]
    list: Option<ListId>,
    /// Start at the first row, even after an interrupted import
    #[arg(long)]
    restart: bool,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Access { url, key } = context.access()?;
        let client = Client::new(&url, &key)?;
        let (of, options) = (&self.of, self.of.options());
        let mut people = People::open(of)?;
        let Survey { rows: total, digest } = Survey::of(&of.file, &options)?;
        let report_file = of.report()?;
        let target = self.target(url.as_str(), key.as_str());
        let target: Vec<&str> = target.iter().map(String::as_str).collect();
        let start = if self.restart { Start::Afresh } else { Start::WhereItStopped };
        let journal = Journal::open(&target, &digest, start)?;
        let (delimiter, bytes) = (people.format().delimiter(), journal.report_bytes());
        let mut report = Report::open(&report_file, people.header(), delimiter, bytes)?;
        let done = journal.totals().rows;
        if context.form == Form::Text {
            of.say_format(people.format());
            if done > 0 {
                tell(&format!("continuing after row {}", grouped(done)));
            }
        }
        people.skip(done)?;
        let progress = Progress::of(total, context.form);
        let (list_id, result) = (self.list.clone(), None);
        let mut book = Book { client, journal, list_id, result };
        let sent = send_all(&mut people, BOUNDS, &mut book, &mut report, &progress).await;
        drop(progress);
        let journal = book.journal;
        let totals = journal.totals();
        sent.map_err(|Stop { cause, rows: _ }| Failure::Stopped {
            done: totals.rows,
            total,
            cause: Box::new(cause),
            next: "run the same command again to continue".to_owned(),
        })?;
        let report_file = report.finish(totals.invalid + totals.left_out)?;
        journal.finish()?;
        match context.form {
            Form::Json => {
                let encoding = encoding_of(people.format());
                let said = json!({ "totals": totals, "report": report_file, "encoding": encoding });
                say_json(&said)?;
            }
            Form::Text => say(&told(&totals))?,
        }
        match report_file {
            None => Ok(()),
            Some(file) => {
                let words = not_all(totals.invalid, totals.left_out);
                Err(Failure::InPart(format!("{words}: see {}", file.display())))
            }
        }
    }

    /// What distinguishes this import from others of the same file.
    fn target(&self, url: &str, key: &str) -> [String; 7] {
        let of = &self.of;
        let said = |said: Option<String>| said.unwrap_or_default();
        [
            url.to_owned(),
            key.to_owned(),
            said(self.list.as_ref().map(|list| list.as_str().to_owned())),
            said(of.phone_column.clone()),
            said(of.delimiter.map(|delimiter| delimiter.to_string())),
            said(of.encoding.map(|encoding| encoding.to_string())),
            said(of.sheet.clone()),
        ]
    }
}

/// The address book, as an import fills it.
struct Book {
    client: Client,
    journal: Journal,
    list_id: Option<ListId>,
    /// What the server said of the portion that is not noted yet.
    result: Option<ImportResult>,
}

impl Target<ContactInput> for Book {
    async fn send(&mut self, rows: Vec<ContactInput>) -> Result<Vec<Said>, Failure> {
        let import = ContactImport { rows, list_id: self.list_id.clone() };
        // The key comes from the journal: however often a portion is sent, it counts once.
        let call = self.client.contact_import(&import).idempotency_key(self.journal.key());
        let result = self.result.insert(call.await?);
        let said = |row: &ImportRow| match row.outcome {
            ImportOutcome::Invalid => Said::Refused(row.error.clone().unwrap_or_default()),
            _ => Said::Taken,
        };
        Ok(result.rows.iter().map(said).collect())
    }

    fn note(&mut self, done: Done, report: &mut Report) -> Result<(), Failure> {
        let mut totals = self.journal.totals().plus(done.rows, self.result.take().as_ref());
        totals.invalid += done.unsent;
        totals.left_out += done.left_out;
        let bytes = report.sync()?;
        self.journal.note(totals, bytes)
    }

    fn done(&self) -> u64 {
        self.journal.totals().rows
    }
}

/// The name of the encoding that a text is read with.
pub(crate) fn encoding_of(format: &Format) -> Option<String> {
    match format {
        Format::Text { encoding, .. } => Some(encoding.to_string()),
        _ => None,
    }
}

fn told(totals: &Totals) -> String {
    let Totals { rows, created, updated, unchanged, duplicate, added_to_list, .. } = totals;
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
    let refused = format!("{} refused", grouped(totals.invalid));
    let values = format!("{} left out", counted(totals.left_out, "value"));
    for (count, words) in [(totals.invalid, refused), (totals.left_out, values)] {
        if count > 0 {
            let _ = write!(line, ", {}", paint(YELLOW, &words));
        }
    }
    line
}

/// What was not imported.
pub(crate) fn not_all(rows: u64, values: u64) -> String {
    let refused = format!("{} refused", counted(rows, "row"));
    let left_out = format!("{} left out", counted(values, "value"));
    match (rows, values) {
        (_, 0) => refused,
        (0, _) => left_out,
        _ => format!("{refused} and {left_out}"),
    }
}

//! `sms opt-outs`.

use clap::Subcommand;
use serde_json::json;
use sms_client::Phone;
use sms_client::opt_out::{OptOut, OptOutFilter, OptOutInput};

use crate::context::Context;
use crate::failure::Failure;
use crate::lists::Most;
use crate::opt_out_import::Import;
use crate::output::{Form, local, say, say_json, say_table};

/// Numbers that must not get messages.
#[derive(Debug, Subcommand)]
pub(crate) enum OptOuts {
    /// Show who has opted out
    List {
        /// A number in any form, or text to find in the note
        #[arg(long, short, value_name = "TEXT")]
        query: Option<String>,
        #[command(flatten)]
        most: Most,
    },
    /// Opt a number out
    #[command(after_help = "Example:\n  sms opt-outs add 07700900123 --note 'asked by phone'")]
    Add {
        /// A UK mobile number in any common format
        number: String,
        /// A note for the account, shown with the opt-out
        #[arg(long)]
        note: Option<String>,
    },
    /// Opt out the numbers of a file: CSV, .xlsx or .ods
    Import(Import),
    /// Let a number get messages again; only if the person asked for it
    Remove {
        /// The number, in any common format
        number: String,
    },
}

impl OptOuts {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = context.client()?;
        match self {
            Self::Import(import) => import.run(context).await,
            Self::List { query, most } => {
                let filter = OptOutFilter { q: query.map(Into::into) };
                let opt_outs = most.of(client.opt_out_list(&filter)).await?;
                match context.form {
                    Form::Json => say_json(&opt_outs),
                    Form::Text => say_opt_outs(&opt_outs),
                }
            }
            Self::Add { number, note } => {
                let input = OptOutInput { phone: number.into(), note: note.map(Into::into) };
                let opt_out = client.opt_out_create(&input).await?;
                match context.form {
                    Form::Json => say_json(&opt_out),
                    Form::Text => say(&format!("{} gets no messages", opt_out.phone.as_str())),
                }
            }
            Self::Remove { number } => {
                let number = Phone::from(number);
                client.opt_out_delete(&number).await?;
                match context.form {
                    Form::Json => say_json(&json!({ "removed": number })),
                    Form::Text => say(&format!("{} may get messages", number.as_str())),
                }
            }
        }
    }
}

fn say_opt_outs(opt_outs: &[OptOut]) -> Result<(), Failure> {
    let row = |opt_out: &OptOut| {
        let note = opt_out.note.as_ref().map_or("", |note| note.as_str());
        vec![
            opt_out.phone.as_str().into(),
            local(opt_out.created_at).into(),
            opt_out.source.as_str().into(),
            note.into(),
        ]
    };
    let rows: Vec<_> = opt_outs.iter().map(row).collect();
    say_table(&["NUMBER", "SINCE", "SOURCE", "NOTE"], &rows)
}

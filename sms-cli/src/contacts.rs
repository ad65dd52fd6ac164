//! `sms contacts`.

use clap::Subcommand;
use sms_client::Words;
use sms_client::contact::{Contact, ContactFilter};
use sms_client::ids::ListId;
use sms_core::text::full_name;

use crate::context::Context;
use crate::failure::Failure;
use crate::import::Import;
use crate::lists::Most;
use crate::output::{Cell, Form, PLAIN, RED, say, say_json, say_table};

/// Read and import contacts.
#[derive(Debug, Subcommand)]
pub(crate) enum Contacts {
    /// Show contacts, newest first
    #[command(after_help = "Examples:
  sms contacts list --query smith
  sms contacts list --list lst_… --all --json")]
    List {
        /// A number or part of one, or text to find in names and email addresses
        #[arg(long, short, value_name = "TEXT")]
        query: Option<String>,
        /// Only contacts on this list
        #[arg(long, value_name = "ID")]
        list: Option<ListId>,
        #[command(flatten)]
        most: Most,
    },
    /// Create and update contacts from a file: CSV, .xlsx or .ods
    Import(Import),
}

impl Contacts {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List { query, list, most } => {
                let filter = ContactFilter { q: query.map(Into::into), list_id: list };
                let contacts = most.of(context.client()?.contact_list(&filter)).await?;
                match context.form {
                    Form::Json => say_json(&contacts),
                    Form::Text => say_contacts(&contacts),
                }
            }
            Self::Import(import) => import.run(context).await,
        }
    }
}

fn say_contacts(contacts: &[Contact]) -> Result<(), Failure> {
    let row = |contact: &Contact| {
        let [first, last] =
            [&contact.first_name, &contact.last_name].map(|name| name.as_ref().map(Words::as_str));
        let (state, style) = if contact.opted_out { ("opted out", RED) } else { ("", PLAIN) };
        vec![
            contact.id.as_str().into(),
            contact.phone.as_str().into(),
            full_name(first, last).unwrap_or_default().into(),
            Cell::styled(state, style),
        ]
    };
    let rows: Vec<_> = contacts.iter().map(row).collect();
    if rows.is_empty() {
        return say("no contacts");
    }
    say_table(&["ID", "NUMBER", "NAME", ""], &rows)
}

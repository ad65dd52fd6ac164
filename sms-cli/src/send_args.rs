//! What a send consists of, on the command line.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use sms_client::ids::{ContactId, ListId, TemplateId};
use sms_client::send::Priority;
use sms_client::{SendRequest, Timestamp};

use crate::failure::Failure;

/// What to send, and to whom.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Numbers, in any common form
    #[arg(value_name = "NUMBER")]
    to: Vec<String>,
    /// The text, with merge fields such as {first_name}
    #[arg(long, short, value_name = "TEXT", conflicts_with_all = ["body_file", "template"])]
    body: Option<String>,
    /// A file with the text; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "template")]
    body_file: Option<PathBuf>,
    /// The id of a saved template, tpl_…
    #[arg(long, value_name = "ID")]
    template: Option<TemplateId>,
    /// A contact; may be repeated
    #[arg(long = "contact", value_name = "ID")]
    contacts: Vec<ContactId>,
    /// The id of a list: all of its contacts
    #[arg(long, value_name = "ID")]
    list: Option<ListId>,
    /// An approved sender name; without one, people can reply
    #[arg(long, value_name = "NAME")]
    sender: Option<String>,
    /// When to send, such as 2026-12-24T18:00:00Z; now by default
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Your own reference, echoed in events
    #[arg(long = "ref", value_name = "TEXT")]
    client_ref: Option<String>,
    /// Add the account's opt-out line
    #[arg(long)]
    append_opt_out: bool,
    /// Shorten and track links
    #[arg(long)]
    track_links: bool,
    /// The lane that the messages wait in: normal or bulk
    #[arg(long, value_name = "NAME")]
    priority: Option<Priority>,
}

impl SendArgs {
    pub(crate) fn request(self) -> Result<SendRequest, Failure> {
        let body = match (self.body, self.body_file) {
            (Some(body), _) => Some(body),
            (None, Some(file)) => Some(read_text(&file)?),
            (None, None) => None,
        };
        if body.is_none() && self.template.is_none() {
            let usage = "no message: give --body, --body-file or --template";
            return Err(Failure::Usage(usage.to_owned()));
        }
        if self.to.is_empty() && self.contacts.is_empty() && self.list.is_none() {
            let usage = "no recipient: give a number, --contact or --list";
            return Err(Failure::Usage(usage.to_owned()));
        }
        Ok(SendRequest {
            to: self.to.into_iter().map(Into::into).collect(),
            contact_ids: self.contacts,
            list_id: self.list,
            body: body.map(Into::into),
            template_id: self.template,
            sender: self.sender,
            schedule_at: self.at,
            client_ref: self.client_ref,
            append_opt_out: self.append_opt_out.then_some(true),
            track_links: self.track_links.then_some(true),
            priority: self.priority,
        })
    }
}

/// A file's text without the line break at its end; `-` is standard input.
pub(crate) fn read_text(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = std::fs::read_to_string(file).map_err(Failure::file(file))?;
    }
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

//! `sms lists`, and how much of a list commands show.

use clap::{Args, Subcommand};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;
use sms_client::ids::ListId;
use sms_client::list::{ContactList, ListContactsInput, ListInput};
use sms_client::{LARGEST_PAGE, Listing, NextPage};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Form, counted, grouped, say, say_json, say_table, shown};

/// How much of a list to show.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Most {
    /// How many to show
    #[arg(long, value_name = "NUMBER", default_value_t = 25)]
    limit: usize,
    /// Show all, however many there are
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

impl Most {
    pub(crate) async fn of<T, M>(self, list: Listing<T, M>) -> Result<Vec<T>, Failure>
    where
        T: DeserializeOwned + Send + 'static,
        M: NextPage + DeserializeOwned + Send + 'static,
    {
        let most = if self.all { usize::MAX } else { self.limit };
        let page = u16::try_from(most).unwrap_or(LARGEST_PAGE).clamp(1, LARGEST_PAGE);
        Ok(list.limit(page).stream().take(most).try_collect().await?)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Lists {
    /// Show the lists, newest first
    List {
        #[command(flatten)]
        most: Most,
    },
    /// Create a list without contacts
    #[command(
        after_help = "Example:\n  sms lists create Newsletter --description 'Signed up online'"
    )]
    Create {
        /// Its name; several lists may have the same
        name: String,
        /// What it is for
        #[arg(long)]
        description: Option<String>,
    },
    /// Add numbers to a list; new ones become contacts
    #[command(after_help = "Example:\n  sms lists add lst_… 07700900123 07700900124")]
    Add {
        /// The id of the list, lst_…
        id: ListId,
        /// UK mobile numbers in any common format
        #[arg(required = true, value_name = "NUMBER")]
        numbers: Vec<String>,
    },
    /// Delete a list; its contacts stay
    Delete {
        /// The id of the list, lst_…
        id: ListId,
    },
}

impl Lists {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = context.client()?;
        match self {
            Self::List { most } => {
                let lists = most.of(client.list_list()).await?;
                match context.form {
                    Form::Json => say_json(&lists),
                    Form::Text => say_lists(&lists),
                }
            }
            Self::Create { name, description } => {
                let list = client.list_create(&ListInput { name, description }).await?;
                match context.form {
                    Form::Json => say_json(&list),
                    Form::Text => say(list.id.as_str()),
                }
            }
            Self::Add { id, numbers } => {
                let phones = numbers.into_iter().map(Into::into).collect();
                let input = ListContactsInput { phones, ..ListContactsInput::default() };
                let added = client.list_add(&id, &input).await?;
                match context.form {
                    Form::Json => say_json(&added)?,
                    Form::Text => {
                        say(&format!("added {}", counted(added.added, "contact")))?;
                        for number in &added.invalid {
                            say(&format!("not a number: {}", shown(number.as_str())))?;
                        }
                    }
                }
                if added.invalid.is_empty() {
                    return Ok(());
                }
                let count = counted(added.invalid.len() as u64, "number");
                Err(Failure::InPart(format!("{count} could not be added")))
            }
            Self::Delete { id } => {
                client.list_delete(&id).await?;
                match context.form {
                    Form::Json => say_json(&json!({ "deleted": id })),
                    Form::Text => say(&format!("deleted {id}")),
                }
            }
        }
    }
}

fn say_lists(lists: &[ContactList]) -> Result<(), Failure> {
    let row = |list: &ContactList| {
        let description = list.description.as_deref().unwrap_or_default();
        let contacts = grouped(list.contact_count);
        vec![list.id.as_str().into(), contacts.into(), (&list.name).into(), description.into()]
    };
    let rows: Vec<_> = lists.iter().map(row).collect();
    say_table(&["ID", "CONTACTS", "NAME", "DESCRIPTION"], &rows)
}

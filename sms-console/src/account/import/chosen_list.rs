//! The list that the people of a file are added to: one that there is, or a new one.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::ids::ListId;
use sms_core::list::{ContactList, ListInput, MAX_NAME};

use super::super::list_choice::every_list_and;
use crate::form::{FieldTroubles, Form, sentence};
use crate::key::key_of;
use crate::part::field::Field;
use crate::part::notice::in_words;
use crate::reply::Trouble;
use crate::visit::AccountVisit;

/// The value of the choice that makes a list.
const NEW: &str = "new";

/// Which list the person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChosenList {
    None,
    Existing(ListId),
    /// A new one with this name.
    New(String),
}

impl ChosenList {
    /// What a form says.
    pub(super) fn of(form: &Form) -> Result<Self, Trouble> {
        match form.text("list") {
            "" => Ok(Self::None),
            NEW => Ok(Self::New(form.text("list_name").to_owned())),
            id => id.parse().map(Self::Existing).map_err(|_| Trouble::BadForm("a list")),
        }
    }

    /// What the address of the page says; nothing if it is no list.
    pub(super) fn named(id: &str) -> Self {
        id.parse().map_or(Self::None, Self::Existing)
    }

    /// The list, which is made once for the key of the form.
    pub(super) async fn made(self, visit: &AccountVisit, form: &Form) -> Result<Self, Made> {
        let Self::New(name) = self else { return Ok(self) };
        let key = key_of(form).map_err(Made::Trouble)?;
        let key = format!("{}-list", key.as_str()).parse();
        let key = key.map_err(|_| Made::Trouble(Trouble::BadForm("its key")))?;
        let list = visit.handle().keyed(Some(key)).list_create(ListInput::new(name)).await;
        list.map(|made| Self::Existing(made.value.id)).map_err(Made::Refused)
    }

    pub(super) fn id(&self) -> Option<ListId> {
        match self {
            Self::Existing(id) => Some(*id),
            Self::None | Self::New(_) => None,
        }
    }

    /// The id, or what the choice of a new list or of none sends.
    pub(super) fn value(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Existing(id) => id.to_string(),
            Self::New(_) => NEW.to_owned(),
        }
    }

    /// The choice, and the name of a new list.
    pub(super) async fn fields(
        &self,
        visit: &AccountVisit,
        troubles: &FieldTroubles,
    ) -> Result<Markup, Error> {
        let lists = every_list_and(visit.handle(), self.id().as_slice()).await?;
        Ok(self.fields_of(&lists, troubles))
    }

    fn fields_of(&self, lists: &[ContactList], troubles: &FieldTroubles) -> Markup {
        let first = [(String::new(), "No list"), (NEW.to_owned(), "New list …")];
        let lists = lists.iter().map(|list| (list.id.to_string(), list.name.as_str()));
        let options = first.into_iter().chain(lists);
        let choice = Field::select("list", "Add everyone to a list", options).value(self.value());
        let name = match self {
            Self::New(name) => name.as_str(),
            Self::None | Self::Existing(_) => "",
        };
        let name = Field::text("list_name", "Name of the new list")
            .longest(MAX_NAME)
            .value(name)
            .trouble(troubles.get("name"));
        html! {
            div.stack.list-choice {
                (choice)
                div.list-name { (name) }
            }
        }
    }
}

/// What is wrong with a new list, for people.
pub(super) fn in_words_of_list(error: &Error) -> String {
    match FieldTroubles::of(error).get("name") {
        Some(words) => format!("The new list needs a name. {words}"),
        None => sentence(&in_words(error)),
    }
}

/// Why a list was not made.
#[derive(Debug)]
pub(super) enum Made {
    Trouble(Trouble),
    Refused(Error),
}

//! A message that is being written, as the form sends it.

use sms_core::Error;
use sms_core::ids::{ContactId, ListId, TemplateId};
use sms_core::phone::E164;
use sms_core::sending::SendRequest;
use sms_core::sending::idempotency::IdempotencyKey;
use sms_core::time::Timestamp;

use crate::form::{Choice, FieldTroubles, Form};
use crate::format::from_field;

/// The message, as far as it is written.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// Numbers as typed, in any format and with any separators.
    pub to: String,
    /// The chosen contacts, in the order of their choice.
    pub contacts: Vec<ContactId>,
    /// The chosen list; `None` for no list.
    pub list: Option<ListId>,
    /// The text, as typed.
    pub body: String,
    /// The sender name; empty for a number.
    pub sender: String,
    /// Whether the opt-out line is added.
    pub append_opt_out: Choice,
    /// Whether links are tracked.
    pub track_links: Choice,
    /// When to send, as clocks in London show it; empty for now.
    pub when: String,
    /// The idempotency key. It was made when the form was shown.
    pub key: String,
}

/// What the person does with the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// They want to send it, and are asked.
    Check,
    /// They were asked, and send it.
    Send,
    /// They put the text of a template in the place of what is written.
    UseTemplate(Option<TemplateId>),
    /// They replace characters outside the GSM alphabet by plain ones.
    UsePlain,
    /// They add a contact.
    Add(ContactId),
    /// They take a contact away.
    Remove(ContactId),
    /// They write on, look for contacts, or look at the price.
    Look,
}

impl Step {
    /// What the button says that was pressed.
    pub(super) fn of(form: &Form) -> Self {
        if let Ok(contact) = form.text("add").parse() {
            return Self::Add(contact);
        }
        if let Ok(contact) = form.text("remove").parse() {
            return Self::Remove(contact);
        }
        match form.text("action") {
            "check" => Self::Check,
            "send" => Self::Send,
            "template" => Self::UseTemplate(form.text("template_id").parse().ok()),
            "plain" => Self::UsePlain,
            _ => Self::Look,
        }
    }
}

impl Draft {
    /// An empty message, whose send will have this idempotency key.
    pub(super) fn empty(key: String) -> Self {
        Self {
            to: String::new(),
            contacts: Vec::new(),
            list: None,
            body: String::new(),
            sender: String::new(),
            append_opt_out: Choice::No,
            track_links: Choice::No,
            when: String::new(),
            key,
        }
    }

    /// What a form sends.
    pub(super) fn of(form: &Form) -> Self {
        Self {
            to: form.body("to"),
            contacts: form.all("contact_ids").iter().filter_map(|id| id.parse().ok()).collect(),
            list: form.text("list_id").parse().ok(),
            body: form.body("body"),
            sender: form.text("sender").to_owned(),
            append_opt_out: form.checked("append_opt_out"),
            track_links: form.checked("track_links"),
            when: form.text("schedule_at").to_owned(),
            key: form.text("key").to_owned(),
        }
    }

    /// Adds a contact, unless it is there.
    pub(super) fn add(&mut self, contact: ContactId) {
        if !self.contacts.contains(&contact) {
            self.contacts.push(contact);
        }
    }

    /// Whether it has no recipient.
    fn is_to_nobody(&self) -> bool {
        self.to.trim().is_empty() && self.contacts.is_empty() && self.list.is_none()
    }

    /// Whether it can be priced.
    pub(super) fn is_ready(&self) -> bool {
        !self.is_to_nobody() && !self.body.trim().is_empty()
    }

    /// What is missing, said at its field.
    pub(super) fn missing(&self) -> FieldTroubles {
        let mut troubles = FieldTroubles::none();
        if self.is_to_nobody() {
            troubles = troubles.with("to", "Choose who gets it: a number, a contact or a list.");
        }
        if self.body.trim().is_empty() {
            troubles = troubles.with("body", "Write a message.");
        }
        troubles
    }

    /// The moment for which it is scheduled; `None` for now.
    pub(super) fn moment(&self) -> Result<Option<Timestamp>, Error> {
        if self.when.is_empty() {
            return Ok(None);
        }
        let no_time =
            || Error::invalid("schedule_at", "invalid_format", "this is not a date and time");
        from_field(&self.when).map(Some).ok_or_else(no_time)
    }

    /// The request to send it, without its key.
    pub(super) fn request(&self) -> Result<SendRequest, Error> {
        let mut request = self.words().to_contacts(self.contacts.iter().copied());
        if !self.to.trim().is_empty() {
            request = request.to(self.to.clone());
        }
        request.list_id = self.list;
        request.schedule_at = self.moment()?;
        Ok(request)
    }

    /// The request to send it once.
    pub(super) fn keyed_request(&self) -> Result<SendRequest, Error> {
        let key: IdempotencyKey = self.key.parse().map_err(|_| {
            Error::invalid("key", "required", "the form lacks its key: open this page again")
        })?;
        Ok(self.request()?.idempotency_key(key))
    }

    /// The request to send it to one reader only, whose text a preview shows.
    pub(super) fn for_reader(&self, reader: E164) -> SendRequest {
        self.words().to(reader.to_string())
    }

    /// The text and how it goes, without recipients and time.
    fn words(&self) -> SendRequest {
        let mut request = SendRequest::new(self.body.clone());
        if !self.sender.is_empty() {
            request = request.sender(self.sender.clone());
        }
        if self.append_opt_out.is_yes() {
            request = request.append_opt_out();
        }
        if self.track_links.is_yes() {
            request = request.track_links();
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "list_id=lst_00000000000000000000000001";

    fn draft(form: &str) -> Draft {
        Draft::of(&Form::read(form.as_bytes()).unwrap())
    }

    #[test]
    fn a_missing_value_is_reported_at_its_field() {
        for (form, to, body) in [
            ("", true, true),
            ("to=+%0D%0A&body=+", true, true),
            ("to=07700900123", false, true),
            ("contact_ids=con_00000000000000000000000001&body=x", false, false),
            ("list_id=nothing&body=x", true, false),
        ] {
            let draft = draft(form);
            let missing = draft.missing();
            assert_eq!((missing.get("to").is_some(), missing.get("body").is_some()), (to, body));
            assert_eq!(draft.is_ready(), !to && !body, "{form}");
        }
        assert!(draft(&format!("{LIST}&body=x")).is_ready());
    }

    #[test]
    fn a_schedule_is_what_clocks_in_london_show() {
        for (when, moment) in [
            ("", None),
            ("2026-11-26T08:00", Some("2026-11-26T08:00:00.000Z")),
            ("2026-07-01T08:00", Some("2026-07-01T07:00:00.000Z")),
        ] {
            let draft = Draft { when: when.to_owned(), ..Draft::empty(String::new()) };
            let read = draft.moment().unwrap().map(|at| at.to_string());
            assert_eq!(read.as_deref(), moment);
        }
        let draft = Draft { when: "tomorrow".to_owned(), ..Draft::empty(String::new()) };
        assert!(draft.request().is_err());
    }

    #[test]
    fn a_message_is_not_sent_without_the_key_of_its_form() {
        assert!(draft("to=07700900123&body=x").keyed_request().is_err());
        let request = draft("to=07700900123&body=x&key=abc").keyed_request().unwrap();
        assert_eq!(request.idempotency_key.unwrap().as_str(), "abc");
    }

    #[test]
    fn a_reader_gets_the_same_words_and_nobody_else_does() {
        let form = format!("to=07700900123&{LIST}&body=a%0D%0Ab&sender=Bistro&append_opt_out=on");
        let request = draft(&form).for_reader("+447700900100".parse().unwrap());
        assert_eq!(request.numbers().collect::<Vec<_>>(), ["+447700900100"]);
        assert_eq!((request.list_id, request.sender.as_deref()), (None, Some("Bistro")));
        assert_eq!((&*request.body, request.append_opt_out), ("a\nb", true));
    }
}

//! The settings of an account, and its name.

use maud::{Markup, html};
use sms_core::account::settings::{LINE_CHARACTERS, SettingsChange};
use sms_core::account::{Account, AccountChange, LocalTime, Settings};
use sms_core::service::operator::MAX_NAME;
use sms_core::version::Versioned;

use super::account_address::{account_id, address};
use crate::form::{FieldTroubles, Form};
use crate::meanwhile::{Edited, Shown, Values, joined};
use crate::part::button::{Kind, link, submit};
use crate::part::field::Field;
use crate::part::form::{FormShell, form, problems, problems_of};
use crate::part::head::head;
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::OperatorVisit;

const SETTINGS: &str = "/console/operator/accounts/{id}/settings";
const TITLE: &str = "Settings of the account";
const START: &str = "settings.quiet_hours_start";
const END: &str = "settings.quiet_hours_end";
const TRACK: &str = "settings.track_links_default";
const LINE: &str = "settings.opt_out_line";
const LINE_SENDER: &str = "settings.opt_out_line_sender";
const SHOWN: [&str; 5] = ["name", START, END, LINE, LINE_SENDER];

pub(super) fn places() -> Vec<Place> {
    vec![Place::get(SETTINGS, operator(edit)), Place::post(SETTINGS, operator(update))]
}

/// What the form holds.
struct Typed {
    name: String,
    start: String,
    end: String,
    tracks: bool,
    line: String,
    line_sender: String,
}

impl Typed {
    fn of(account: Account) -> Self {
        let Settings { quiet_hours, track_links_default, opt_out_line, opt_out_line_sender } =
            account.settings;
        Self {
            name: account.name,
            start: quiet_hours.start.to_string(),
            end: quiet_hours.end.to_string(),
            tracks: track_links_default,
            line: opt_out_line,
            line_sender: opt_out_line_sender,
        }
    }

    /// The change, or which fields are no times of day.
    fn change(&self) -> Result<AccountChange, FieldTroubles> {
        let (start, end) = (self.start.parse::<LocalTime>(), self.end.parse::<LocalTime>());
        let (start, end) = match (start, end) {
            (Ok(start), Ok(end)) => (start, end),
            (start, end) => {
                let fields = [(START, start.is_err()), (END, end.is_err())];
                let bad = fields.into_iter().filter(|(_, is_bad)| *is_bad);
                let words = "Give a time of day, such as 21:00.";
                let none = FieldTroubles::none();
                return Err(bad.fold(none, |troubles, (field, _)| troubles.with(field, words)));
            }
        };
        let settings = SettingsChange {
            quiet_hours_start: Some(start),
            quiet_hours_end: Some(end),
            track_links_default: Some(self.tracks),
            opt_out_line: Some(self.line.clone()),
            opt_out_line_sender: Some(self.line_sender.clone()),
        };
        Ok(AccountChange::default().name(&*self.name).settings(settings))
    }

    fn fields(&self, troubles: &FieldTroubles) -> Markup {
        let name = Field::text("name", "Name").required().longest(MAX_NAME).value(&*self.name);
        let time = |name, label, value| Field::input(name, label, "time").required().value(value);
        let start = time(START, "Quiet hours begin", &*self.start);
        let end = time(END, "Quiet hours end", &*self.end);
        let tracks = Field::check(TRACK, "Track links unless a campaign says otherwise");
        let most = *LINE_CHARACTERS.end();
        let line = Field::text(LINE, "Opt-out line").required().longest(most);
        let line_sender = Field::text(LINE_SENDER, "Opt-out line with a sender name").required();
        let line_sender = line_sender.hint("{number} is the number to text.").longest(most);
        html! {
            (name.trouble(troubles.get("name")))
            (start.trouble(troubles.get(START)))
            (end.trouble(troubles.get(END)))
            (tracks.ticked_if(self.tracks))
            (line.value(&*self.line).trouble(troubles.get(LINE)))
            (line_sender.value(&*self.line_sender).trouble(troubles.get(LINE_SENDER)))
        }
    }
}

impl Edited for Typed {
    fn values(&self) -> Values {
        let Self { name, start, end, tracks, line, line_sender } = self;
        Values::default()
            .with("name", &**name)
            .with(START, &**start)
            .with(END, &**end)
            .ticked(TRACK, *tracks)
            .with(LINE, &**line)
            .with(LINE_SENDER, &**line_sender)
    }

    fn sent(form: &Form) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            name: text("name"),
            start: text(START),
            end: text(END),
            tracks: form.checked(TRACK).is_yes(),
            line: text(LINE),
            line_sender: text(LINE_SENDER),
        }
    }
}

fn page(visit: &OperatorVisit, shown: Shown<Typed>) -> Page {
    let (to, csrf) = (visit.uri.path(), visit.csrf());
    let path = to.strip_suffix("/settings").unwrap_or(to);
    let fields = html! { (shown.hidden()) (shown.form.fields(&shown.troubles)) };
    let buttons = [link("Go back", path), submit("Save").kind(Kind::Main)];
    let problems = shown.problems;
    let shell = FormShell { label: TITLE, to, csrf, problems, fields, buttons: &buttons };
    let content = html! { (head(TITLE).back("The account", path)) (form(&shell)) };
    Page::new(TITLE, content)
}

async fn edit(visit: OperatorVisit) -> Outcome {
    let account = visit.operator().account_get(account_id(&visit)?).await?;
    Ok(page(&visit, Shown::first(Typed::of(account))).into())
}

async fn update(visit: OperatorVisit) -> Outcome {
    let (id, form) = (account_id(&visit)?, visit.form().await?);
    let account = visit.operator().account_get(id).await?;
    let (saved_at, version) = (account.updated_at, account.version());
    let now = Typed::of(account);
    let typed = match joined(&form, &now) {
        Ok(joined) => joined,
        Err(clashing) => {
            let shown = Shown::clashing(clashing, &now, saved_at, None).await?;
            return Ok(Reply::Again(page(&visit, shown)));
        }
    };
    let again =
        |problems| Reply::Again(page(&visit, Shown::again(Typed::sent(&form), &form, problems)));
    let change = match typed.change() {
        Ok(change) => change.if_version(version),
        Err(troubles) => {
            let said = problems("Some fields need another value.", &troubles, &SHOWN);
            return Ok(again((said, troubles)));
        }
    };
    match visit.operator().account_update(id, change).await {
        Ok(_) => Ok(Reply::moved(address(id)).saying(Said::SettingsSaved)),
        Err(sms_core::Error::NotFound(_)) => Err(Trouble::NotFound),
        Err(error) => Ok(again(problems_of(&error, &SHOWN))),
    }
}

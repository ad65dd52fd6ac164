//! The design: every token, and every component in every state, made by the components themselves.

use chrono::NaiveDate;
use maud::{Markup, html};
use sms_core::message::MessageStatus;

use self::message::messages;
use self::section::section;
use crate::form::FieldTroubles;
use crate::part::badge::{Tone, badge, status_badge};
use crate::part::button::{Kind, closes, link, opens, submit};
use crate::part::chart::{Colour, Series, chart};
use crate::part::code::code;
use crate::part::dialog::dialog;
use crate::part::field::Field;
use crate::part::head::{Open, head, tabs};
use crate::part::notice::{Notice, notice};
use crate::part::progress::progress;
use crate::part::stat::{stat, stats};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::part::theme::theme_form;
use crate::place::{Place, anybody};
use crate::reply::{Outcome, Page};
use crate::visit::{Session, Visit};

mod message;
mod section;

const PATH: &str = "/console/design";
const DIALOG: &str = "example-dialog";
const COLOURS: [&str; 11] = [
    "paper",
    "surface",
    "sunken",
    "line",
    "ink",
    "ink-soft",
    "accent",
    "accent-soft",
    "good",
    "warn",
    "bad",
];

pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(PATH, anybody(show))]
}

async fn show(visit: Visit) -> Outcome {
    Ok(Page::new("Design", view(&visit)).into())
}

fn view(visit: &Visit) -> Markup {
    let first = link("To the console", "/console");
    // The frame has the choice of colours for who is signed in.
    let colours = matches!(visit.session, Session::Nobody).then(|| theme_form(visit, PATH));
    html! {
        (head("Design")
            .lead("The tokens and the components of this console, each in every state.")
            .actions(html! { (first) }))
        div.stack.stack-loose {
            (section("Colour", "Eleven colours, in light and in dark. A colour never says anything \
                alone: a word stands beside it.", &html! {
                @if let Some(colours) = colours { (colours) }
                div.swatches {
                    @for name in COLOURS { div class={ "swatch swatch-" (name) } { (name) } }
                }
            }))
            (section("Type", "One family, the system’s own, in four sizes.", &html! {
                p.big-price { "Figure: 1,204 credits" }
                div.design-title { "Title" }
                p { "Body: most words." }
                p.small.faint { "Small and faint: what is read second." }
            }))
            (buttons())
            (fields())
            (words())
            (states())
            (figures())
            (lists())
            (messages())
        }
    }
}

fn buttons() -> Markup {
    let asked = html! {
        p { "It says the price, and what cannot be undone." }
        div.actions {
            (closes("Go back", DIALOG))
            (closes("Send for 3 credits", DIALOG).kind(Kind::Main))
        }
    };
    let about = "One main button on a page. What destroys is red, and asks first.";
    section(
        "Button",
        about,
        &html! {
            form.actions method="get" action=(PATH) {
                (submit("Main").kind(Kind::Main))
                (submit("Plain"))
                (submit("Destroys").kind(Kind::Danger))
                (submit("Quiet").kind(Kind::Quiet))
                (submit("Small").small())
                (submit("Not now").disabled())
                (link("A link", PATH))
            }
            div.actions { (opens("Open a dialog", DIALOG)) }
            (dialog(DIALOG, "Send 3 messages?", &asked))
        },
    )
}

fn fields() -> Markup {
    let troubles = FieldTroubles::none().with("wrong", "This is no UK mobile number.");
    let about = "A label above, a hint between, what is wrong below.";
    section(
        "Field",
        about,
        &html! {
            div.form {
                (Field::text("plain", "Name").hint("As it stands on the door."))
                (Field::text("optional", "Note").optional())
                (Field::tel("wrong", "Mobile number").value("0123").trouble(troubles.get("wrong")))
                (Field::text("off", "Not now").value("Cannot be changed").disabled())
                (Field::select("choice", "Choice", [("a", "One"), ("b", "The other")]))
                (Field::text_area("words", "Words", 3))
                (Field::check("check", "Yes, do").ticked_if(true))
            }
        },
    )
}

fn words() -> Markup {
    let said = |words: &str| html! { p { (words) } };
    let pages = [("This one", PATH.to_owned(), Open::Yes), ("Another", PATH.to_owned(), Open::No)];
    let about = "A badge is a state in a word; a notice is a sentence that stays.";
    section(
        "Badge and notice",
        about,
        &html! {
            div.actions {
                @for state in MessageStatus::ALL { (status_badge(state.as_str())) }
                (badge("3", Tone::Accent))
            }
            (notice(Notice::Info, &said("Info: something to know.")))
            (notice(Notice::Good, &said("Good: it was done.")))
            (notice(Notice::Warn, &said("Warning: look at this.")))
            // Without the role of an alert: nothing is wrong here.
            div.notice.notice-bad { p { "Bad: it was not done, and why." } }
            (code("A request", "curl -s https://example.com/api/v1/balance"))
            (tabs("Tabs", &pages))
            div.toast { "A toast: it was done." }
        },
    )
}

fn states() -> Markup {
    let text = html! { "What it is for, and what to do." };
    let add = html! { (link("Add one", PATH)) };
    let missing = html! { "It does not exist, or it belongs to another account." };
    let again = html! { (link("Open the page again", PATH)) };
    section(
        "State",
        "Empty, missing, failed, offline, at work.",
        &html! {
            (empty("No contacts yet", &text, Some(&add)))
            (empty("Not found", &missing, None))
            (empty("This did not work", &html! { "The server answered 500." }, Some(&again)))
            div.offline-strip {
                "Offline: the server does not answer. This page goes on by itself when it does."
            }
            div.actions {
                button.button.button-main type="button" aria-busy="true" aria-disabled="true" {
                    "Sending"
                }
            }
        },
    )
}

fn figures() -> Markup {
    let days: Vec<NaiveDate> = NaiveDate::from_ymd_opt(2026, 11, 1)
        .map(|day| day.iter_days().take(30).collect())
        .unwrap_or_default();
    let series = |name, colour, count: fn(u64) -> u64| Series {
        name,
        colour,
        counts: (0..30).map(count).collect(),
    };
    let bars = [
        series("Sent", Colour::Main, |day| 40 + (day * day) % 37),
        series("Received", Colour::Other, |day| (day * 7) % 23),
        series("Failed", Colour::Bad, |day| day % 4),
    ];
    let about = "Figures are tabular. A chart is a table as well.";
    section(
        "Figure, chart, progress",
        about,
        &html! {
            (stats(&[
                stat("Balance", "1,204", Some(html! { "Credits" })),
                stat("Sent", "318", Some(html! { "12% more" })),
            ]))
            (chart("An example by day", &days, &bars))
            (progress("Rows imported", 620, 1_000))
        },
    )
}

fn lists() -> Markup {
    let rows = [("Front desk", "delivered", "1"), ("Supplier", "failed", "2")];
    let columns = [column("Name"), column("State"), right("Credits")];
    section(
        "Table",
        "On a narrow screen a row becomes a card.",
        &html! {
            (table("An example", columns, rows, |(name, state, credits)| [
                html! { strong { (name) } },
                status_badge(state),
                html! { (credits) },
            ]))
        },
    )
}

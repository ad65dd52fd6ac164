//! The whole document: the head, the navigation, and the page in it.

use maud::{DOCTYPE, Markup, html};
use sms_core::account::Mode;
use sms_core::event::EventType;

use crate::navigation::{ACCOUNT, Group, OPERATOR};
use crate::part::badge::{Tone, badge};
use crate::part::button::submit;
use crate::part::field::Field;
use crate::part::icon::Icon;
use crate::reply::{Page, Width};
use crate::said::Said;
use crate::visit::{Session, Theme, Visit};

/// What all pages run.
const MODULES: &[&str] = &[
    "dialog.js",
    "filters.js",
    "live.js",
    "menu.js",
    "once.js",
    "preview.js",
    "said.js",
    "theme.js",
];

/// The document of a page. Whoever is signed in sees the navigation beside it.
pub(crate) fn document(visit: &Visit, page: &Page) -> Markup {
    let folder = &*visit.desk.folder;
    let theme = Some(visit.theme).filter(|theme| *theme != Theme::System).map(Theme::as_str);
    html! {
        (DOCTYPE)
        html lang="en-GB" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · SMS console" }
                link rel="icon" href={ (folder) "/icon.svg" } type="image/svg+xml";
                @for sheet in ["console", "components", "pages"] {
                    link rel="stylesheet" href={ (folder) "/" (sheet) ".css" };
                }
                @for module in MODULES.iter().chain(&page.modules) {
                    script type="module" src={ (folder) "/module/" (module) } {}
                }
            }
            body data-events=[events(&visit.session)] data-events-of=[owner(&visit.session)] {
                @match &visit.session {
                    Session::Nobody => {
                        main #main tabindex="-1" { (page.content) }
                    }
                    Session::Account(_) | Session::Operator(_) => (framed(visit, page)),
                }
                (toasts(visit))
            }
        }
    }
}

/// The events that the server tells a page as they happen; the operator has none.
fn events(session: &Session) -> Option<String> {
    let Session::Account(_) = session else { return None };
    Some(EventType::SUBSCRIBABLE.map(EventType::as_str).join(" "))
}

/// Whose they are: tabs of other people keep apart.
fn owner(session: &Session) -> Option<String> {
    let Session::Account(person) = session else { return None };
    Some(format!("{} {}", person.account.id, person.mode.as_str()))
}

fn framed(visit: &Visit, page: &Page) -> Markup {
    let class = match page.width {
        Width::Column => "page",
        Width::Whole => "page page-wide",
    };
    html! {
        div.frame {
            a.skip href="#main" { "Skip to the page" }
            (side(visit))
            div.main {
                @if is_test(&visit.session) {
                    div.mode-strip role="note" {
                        "Test mode: nothing is really sent, and nothing is charged."
                    }
                }
                div #offline .offline role="alert" {}
                main #main class=(class) tabindex="-1" { (page.content) }
            }
        }
    }
}

fn is_test(session: &Session) -> bool {
    matches!(session, Session::Account(person) if person.mode.is_test())
}

fn side(visit: &Visit) -> Markup {
    let (name, groups) = match &visit.session {
        Session::Account(person) => (&*person.account.name, ACCOUNT),
        Session::Operator(_) | Session::Nobody => ("Console", OPERATOR),
    };
    html! {
        header.side {
            div.side-head {
                img src={ (visit.desk.folder) "/icon.svg" } alt="" width="28" height="28";
                span.side-name { (name) }
                (whose(&visit.session))
                button.button.button-plain.button-small.side-menu type="button"
                    aria-controls="side-body" aria-expanded="false" { (Icon::Menu) "Menu" }
            }
            div.side-body #side-body {
                (navigation(groups, visit.uri.path(), &unread(visit.unread)))
                div.side-foot {
                    (theme_form(visit))
                    form method="post" action="/console/sign-out" {
                        input type="hidden" name="csrf" value=(visit.csrf());
                        (submit("Sign out").small())
                    }
                }
            }
        }
    }
}

fn whose(session: &Session) -> Markup {
    match session {
        Session::Account(person) => match person.mode {
            Mode::Test => badge("Test", Tone::Warn),
            Mode::Live => badge("Live", Tone::Good),
        },
        Session::Operator(_) => badge("Operator", Tone::Accent),
        Session::Nobody => html! {},
    }
}

fn navigation(groups: &[Group], path: &str, unread: &Markup) -> Markup {
    html! {
        nav aria-label="Pages" {
            @for group in groups {
                @if !group.title.is_empty() {
                    div.nav-title { (group.title) }
                }
                ul.nav-group aria-label=[Some(group.title).filter(|title| !title.is_empty())] {
                    @for item in group.items {
                        li {
                            a.nav-link href=(item.href)
                                aria-current=[item.is_current(path).then_some("page")] {
                                (item.icon) (item.text)
                                @if item.href == INBOX { (unread) }
                            }
                        }
                    }
                }
            }
        }
    }
}

const INBOX: &str = "/console/inbox";

/// How many messages nobody has read, beside the name of the inbox.
fn unread(count: u64) -> Markup {
    let shown = if count > 99 { "99+".to_owned() } else { count.to_string() };
    html! {
        span.nav-count #nav-unread data-live="60" data-on="message.received" {
            @if count > 0 {
                (badge(&shown, Tone::Accent))
                span.unseen { " unread" }
            }
        }
    }
}

/// Light or dark. A module does it at once; without script a button does.
pub(crate) fn theme_form(visit: &Visit) -> Markup {
    let options = [("system", "As the system"), ("light", "Light"), ("dark", "Dark")];
    html! {
        form method="post" action="/console/theme" data-theme-form {
            input type="hidden" name="csrf" value=(visit.csrf());
            input type="hidden" name="next" value=(visit.uri.path());
            (Field::select("theme", "Colours", options).value(visit.theme.as_str()))
            noscript { (submit("Change").small()) }
        }
    }
}

fn toasts(visit: &Visit) -> Markup {
    html! {
        div.toasts #toasts role="status" {
            @if let Some(said) = visit.query("said").and_then(Said::of) {
                div.toast { (said.words()) }
            }
        }
    }
}

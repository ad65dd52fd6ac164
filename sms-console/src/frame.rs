//! The whole document: the head, the navigation, and the page in it.

use maud::{DOCTYPE, Markup, html};
use sms_core::account::Mode;
use sms_core::event::EventType;

use crate::navigation::{ACCOUNT, Group, Item, OPERATOR, Server};
use crate::part::badge::{Tone, badge};
use crate::part::button::submit;
use crate::part::icon::Icon;
use crate::part::theme::theme_form;
use crate::places::page_at;
use crate::reply::{Page, Width};
use crate::said::Said;
use crate::visit::{Session, Theme, Visit};

/// The modules of every page, with everything they import, so that the browser requests all of them
/// at once.
const MODULES: &[&str] = &[
    "copy.js",
    "dialog.js",
    "events.js",
    "filters.js",
    "live.js",
    "menu.js",
    "once.js",
    "preview.js",
    "said.js",
    "session.js",
    "swap.js",
    "theme.js",
    "typed.js",
];

/// The document of a page. A page for a signed-in person has the navigation beside it.
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
                title { (unread_before(visit.unread)) (page.title) " · SMS console" }
                link rel="icon" href={ (folder) "/icon.svg" } type="image/svg+xml";
                @for sheet in ["console", "components", "pages"] {
                    link rel="stylesheet" href={ (folder) "/" (sheet) ".css" };
                }
                @for module in MODULES.iter().chain(&page.modules) {
                    script type="module" src={ (folder) "/module/" (module) } {}
                }
            }
            body data-owner=[owner(&visit.session)] data-events=[events(&visit.session)]
                data-address=[visit.address.as_deref()] {
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

/// The events that the server streams to a page as they happen; the operator has none.
fn events(session: &Session) -> Option<String> {
    let Session::Account(_) = session else { return None };
    Some(EventType::SUBSCRIBABLE.map(EventType::as_str).join(" "))
}

/// Identifies who the page belongs to. Only tabs of the same owner share a stream of events; a page
/// reloads when another person signs in.
fn owner(session: &Session) -> Option<String> {
    match session {
        Session::Account(person) => Some(format!("{}/{}", person.account.id, person.mode.as_str())),
        Session::Operator(_) => Some("operator".to_owned()),
        Session::Nobody => None,
    }
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
                    aside.mode-strip aria-label="Mode" {
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
                (navigation(groups, visit))
                div.side-foot {
                    (theme_form(visit, page_at(visit.uri.path())))
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

fn navigation(groups: &[Group], visit: &Visit) -> Markup {
    let (path, unread) = (visit.uri.path(), visit.unread);
    let is_here = |item: &&Item| match item.on {
        Server::Any => true,
        Server::Sandbox => visit.desk.sandbox.is_some(),
    };
    html! {
        nav aria-label="Pages" {
            @for group in groups {
                @if !group.title.is_empty() {
                    div.nav-title { (group.title) }
                }
                ul.nav-group aria-label=[Some(group.title).filter(|title| !title.is_empty())] {
                    @for item in group.items.iter().filter(is_here) {
                        li {
                            a.nav-link href=(item.href)
                                aria-current=[item.is_current(path).then_some("page")] {
                                (item.icon) (item.text)
                                @if item.href == "/console/inbox" { (unread_count(unread)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The number of unread messages, before the name of a page in its tab.
fn unread_before(unread: u64) -> String {
    if unread > 0 { format!("({}) ", shown_count(unread)) } else { String::new() }
}

fn shown_count(unread: u64) -> String {
    if unread > 99 { "99+".to_owned() } else { unread.to_string() }
}

/// The number of unread messages, beside the name of the inbox.
fn unread_count(unread: u64) -> Markup {
    let shown = shown_count(unread);
    html! {
        span.nav-count #nav-unread data-live="60" data-on="message.received"
            data-title=(unread_before(unread)) {
            @if unread > 0 {
                (badge(&shown, Tone::Accent))
                span.unseen { " unread" }
            }
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

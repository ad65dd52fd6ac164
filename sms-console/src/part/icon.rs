//! Icons: 20 by 20, drawn with lines of the text's colour. They say nothing to a screen reader: the
//! words beside them do.

use maud::{Markup, Render, html};

/// An icon, by what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// A building: the operator's page of accounts.
    Accounts,
    /// An angle that points left.
    Back,
    /// A megaphone: the page of campaigns.
    Campaigns,
    /// A pencil on paper: the page to write a message.
    Compose,
    /// A person: the page of contacts.
    Contacts,
    /// A star of lines.
    Design,
    /// Two angle brackets: the page for developers.
    Developers,
    /// A house: the first page.
    Home,
    /// A tray: the page of conversations.
    Inbox,
    /// A hash sign: the page of keywords.
    Keywords,
    /// Two links of a chain: the page of tracked links.
    Links,
    /// Lines with dots before them: the page of lists.
    Lists,
    /// Three lines: opens the navigation on narrow screens.
    Menu,
    /// A speech bubble: the page of messages.
    Messages,
    /// A phone: the operator's page of numbers.
    Numbers,
    /// A circle with a stroke through it: the page of opt-outs.
    OptOuts,
    /// Two points and the way between them: the operator's page of routes.
    Routes,
    /// A clock: the operator's page of the sandbox, where time can be moved.
    Sandbox,
    /// A magnifying glass: a field to search with.
    Search,
    /// A person with a tick: the pages of sender names.
    Senders,
    /// A page with lines: the page of templates.
    Templates,
    /// An arrow to an exclamation mark: the operator's page of unrouted messages.
    Unrouted,
}

impl Icon {
    fn path(self) -> &'static str {
        match self {
            Self::Accounts => {
                "M4 17V5.5L10 3l6 2.5V17M3 17h14M8 8h.01M12 8h.01M8 11h.01M12 11h.01M9 17v-3h2v3"
            }
            Self::Back => "M12 4.5 6.5 10l5.5 5.5",
            Self::Campaigns => {
                "M3 8.5v3l2.5.5L14 16V4L5.5 8zM14 8.5a1.5 1.5 0 0 1 0 3M6.5 12.5V16h2v-2.5"
            }
            Self::Compose => {
                "M11 4H4.5A1.5 1.5 0 0 0 3 5.5v10A1.5 1.5 0 0 0 4.5 17h10a1.5 1.5 0 0 0 \
                 1.5-1.5V9M8 12l.5-2.5 7-7 2 2-7 7z"
            }
            Self::Contacts => {
                "M10 10a3.25 3.25 0 1 0 0-6.5 3.25 3.25 0 0 0 0 6.5zM3.5 17c.5-3 3-4.5 6.5-4.5s6 \
                 1.5 6.5 4.5"
            }
            Self::Design => "M10 3v14M3 10h14M5.5 5.5l9 9M14.5 5.5l-9 9",
            Self::Developers => "M7 6 3 10l4 4M13 6l4 4-4 4",
            Self::Home => "M3 9.5 10 3.5l7 6V16a1 1 0 0 1-1 1h-3.5v-4.5h-5V17H4a1 1 0 0 1-1-1z",
            Self::Inbox => "M3 11h3.5l1.5 2.5h4l1.5-2.5H17M3 11l2.5-6.5h9L17 11v4.5H3z",
            Self::Keywords => "M7.5 3 6 17M14 3l-1.5 14M3.5 7.5h13.5M3 12.5h13.5",
            Self::Links => {
                "M8.5 11.5a3 3 0 0 0 4.25 0l3-3a3 3 0 0 0-4.25-4.25l-1 1M11.5 8.5a3 3 0 0 0-4.25 \
                 0l-3 3a3 3 0 0 0 4.25 4.25l1-1"
            }
            Self::Lists => "M4 5.5h.01M4 10h.01M4 14.5h.01M7.5 5.5H17M7.5 10H17M7.5 14.5H17",
            Self::Menu => "M3.5 6h13M3.5 10h13M3.5 14h13",
            Self::Messages => {
                "M3 5a1 1 0 0 1 1-1h12a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H9l-4 3v-3H4a1 1 0 0 1-1-1z"
            }
            Self::Numbers => {
                "M6.5 2.5h7a1 1 0 0 1 1 1v13a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-13a1 1 0 0 1 1-1zM9 \
                 14.5h2"
            }
            Self::OptOuts => "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM5 5l10 10",
            Self::Routes => {
                "M5 15.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM15 7.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 \
                 0 0 0 3zM6.5 14H12a3 3 0 0 0 3-3V7.5"
            }
            Self::Sandbox => "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l2.5 2",
            Self::Search => "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4",
            Self::Senders => {
                "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16c.5-2.5 2.5-4 6-4M12 15.5l1.5 1.5 \
                 3.5-3.5"
            }
            Self::Templates => "M5 3h7l3 3v11H5zM7.5 9h5M7.5 12h5",
            Self::Unrouted => "M3 10h8M8 6.5 11.5 10 8 13.5M15 4v5M15 12.5v.01",
        }
    }
}

impl Render for Icon {
    fn render(&self) -> Markup {
        html! {
            svg viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor"
                stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"
                aria-hidden="true" focusable="false" {
                path d=(self.path()) {}
            }
        }
    }
}

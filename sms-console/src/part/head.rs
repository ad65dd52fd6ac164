//! The head of a page: its title, what it is for, and what can be done.

use maud::{Markup, Render, html};

/// The head of a page.
#[derive(Debug, Clone, Default)]
pub struct Head<'a> {
    title: &'a str,
    lead: Option<Markup>,
    actions: Option<Markup>,
    back: Option<(&'a str, &'a str)>,
    beside: Option<Markup>,
}

/// The head of the page with this title.
pub fn head(title: &str) -> Head<'_> {
    Head { title, ..Head::default() }
}

impl<'a> Head<'a> {
    /// What the page is for.
    #[must_use]
    pub fn lead(mut self, lead: impl Render) -> Self {
        self.lead = Some(lead.render());
        self
    }

    /// What can be done: buttons.
    #[must_use]
    pub fn actions(mut self, actions: Markup) -> Self {
        self.actions = Some(actions);
        self
    }

    /// The page above it: its name and its address.
    #[must_use]
    pub fn back(mut self, name: &'a str, href: &'a str) -> Self {
        self.back = Some((name, href));
        self
    }

    /// What stands beside the title, such as a badge.
    #[must_use]
    pub fn beside(mut self, beside: Markup) -> Self {
        self.beside = Some(beside);
        self
    }
}

impl Render for Head<'_> {
    fn render(&self) -> Markup {
        let Self { title, lead, actions, back, beside } = self;
        html! {
            div.page-head {
                div {
                    @if let Some((name, href)) = back {
                        p.crumb { a href=(href) { (name) } }
                    }
                    div.actions {
                        h1 tabindex="-1" { (title) }
                        @if let Some(beside) = beside { (beside) }
                    }
                    @if let Some(lead) = lead { p.lead { (lead) } }
                }
                @if let Some(actions) = actions { div.actions { (actions) } }
            }
        }
    }
}

/// Pages that stand beside each other: text, address, and whether it is the one that is open.
pub fn tabs(label: &str, items: &[(&str, String, Open)]) -> Markup {
    html! {
        nav.tabs aria-label=(label) {
            @for (text, href, open) in items {
                a.tab href=(href) aria-current=[(*open == Open::Yes).then_some("page")] { (text) }
            }
        }
    }
}

/// Whether a tab is the one that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// It is the page that is shown.
    Yes,
    /// It is another page.
    No,
}

//! Buttons, and links that look like them.

use std::borrow::Cow;

use maud::{Markup, Render, html};

/// What a button looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The one thing to do.
    Main,
    /// It destroys or costs something.
    Danger,
    /// It stands back behind other buttons.
    Quiet,
    /// Any other, which is the default.
    Plain,
}

/// What a button does.
#[derive(Debug, Clone)]
enum Act<'a> {
    /// Sends its form, with this name and value if it has one.
    Submit(Option<(&'a str, Cow<'a, str>)>),
    /// Opens the dialog with this id.
    Opens(Cow<'a, str>),
    /// Closes the dialog with this id.
    Closes(Cow<'a, str>),
    /// Leads to this address, or offers what is there as a file.
    Link(Cow<'a, str>, Follow),
}

/// How a link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    Open,
    Download,
}

/// A button, or a link that looks like one.
#[derive(Debug, Clone)]
pub struct Button<'a> {
    text: Cow<'a, str>,
    act: Act<'a>,
    kind: Kind,
    size: Size,
    label: Option<Cow<'a, str>>,
    state: State,
    check: Check,
}

/// Whether the browser looks at the fields of the form before it sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    Fields,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Normal,
    Small,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Enabled,
    Disabled,
}

/// Sends the form that it is in.
pub fn submit<'a>(text: impl Into<Cow<'a, str>>) -> Button<'a> {
    Button::new(text.into(), Act::Submit(None))
}

/// Opens the dialog with this id.
pub fn opens<'a>(text: impl Into<Cow<'a, str>>, dialog: impl Into<Cow<'a, str>>) -> Button<'a> {
    Button::new(text.into(), Act::Opens(dialog.into()))
}

/// Closes the dialog with this id.
pub fn closes<'a>(text: impl Into<Cow<'a, str>>, dialog: impl Into<Cow<'a, str>>) -> Button<'a> {
    Button::new(text.into(), Act::Closes(dialog.into()))
}

/// A link that looks like a button.
pub fn link<'a>(text: impl Into<Cow<'a, str>>, href: impl Into<Cow<'a, str>>) -> Button<'a> {
    Button::new(text.into(), Act::Link(href.into(), Follow::Open))
}

/// A link to a file.
pub fn download<'a>(text: impl Into<Cow<'a, str>>, href: impl Into<Cow<'a, str>>) -> Button<'a> {
    Button::new(text.into(), Act::Link(href.into(), Follow::Download))
}

impl<'a> Button<'a> {
    fn new(text: Cow<'a, str>, act: Act<'a>) -> Self {
        Self {
            text,
            act,
            kind: Kind::Plain,
            size: Size::Normal,
            label: None,
            state: State::Enabled,
            check: Check::Fields,
        }
    }

    /// Gives the button this look instead of the plain one.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Makes it smaller, for the rows of a table.
    #[must_use]
    pub fn small(mut self) -> Self {
        self.size = Size::Small;
        self
    }

    /// What a screen reader says in the place of the text.
    #[must_use]
    pub fn label(mut self, label: impl Into<Cow<'a, str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Shows it, but it cannot be pressed.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.state = State::Disabled;
        self
    }

    /// Sends its form even if a field is missing or wrong.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.check = Check::Nothing;
        self
    }

    /// Sends this with its form, which may have several buttons.
    #[must_use]
    pub fn sending(mut self, name: &'a str, value: impl Into<Cow<'a, str>>) -> Self {
        self.act = Act::Submit(Some((name, value.into())));
        self
    }

    fn class(&self) -> String {
        let kind = match self.kind {
            Kind::Main => "main",
            Kind::Danger => "danger",
            Kind::Quiet => "quiet",
            Kind::Plain => "plain",
        };
        let size = match self.size {
            Size::Normal => "",
            Size::Small => " button-small",
        };
        format!("button button-{kind}{size}")
    }
}

impl Render for Button<'_> {
    fn render(&self) -> Markup {
        let Self { text, act, label, state, check, .. } = self;
        let (class, label, disabled) = (self.class(), label, *state == State::Disabled);
        match act {
            Act::Submit(sent) => {
                let (name, value) = sent.as_ref().map(|(name, value)| (*name, value)).unzip();
                html! {
                    button type="submit" class=(class) name=[name] value=[value]
                        aria-label=[label] disabled[disabled]
                        formnovalidate[*check == Check::Nothing] { (text) }
                }
            }
            Act::Opens(dialog) => html! {
                button type="button" class=(class) commandfor=(dialog) command="show-modal"
                    aria-haspopup="dialog" aria-label=[label] disabled[disabled] { (text) }
            },
            Act::Closes(dialog) => html! {
                button type="button" class=(class) commandfor=(dialog) command="close"
                    aria-label=[label] disabled[disabled] { (text) }
            },
            Act::Link(href, follow) => html! {
                a class=(class) href=(href) aria-label=[label]
                    download[*follow == Follow::Download] { (text) }
            },
        }
    }
}

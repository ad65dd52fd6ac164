//! Dialogs: what must be answered before the work continues. The browser's own `<dialog>` keeps the
//! focus inside and gives it back. A button of `part::button::opens` opens it.

use maud::{Markup, html};

use crate::part::button::{Kind, closes, submit};

/// Whether a dialog is open when its page comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// A button opens it.
    Closed,
    /// It is open, such as with a form that came back with what is wrong in it.
    Open,
}

/// A dialog with a title and any content, which a button opens.
pub fn dialog(id: &str, title: &str, content: &Markup) -> Markup {
    dialog_begins(Begins::Closed, id, title, content)
}

/// A dialog with a title and any content.
pub fn dialog_begins(begins: Begins, id: &str, title: &str, content: &Markup) -> Markup {
    let is_open = begins == Begins::Open;
    html! {
        dialog.dialog id=(id) aria-labelledby={ (id) "-title" } open[is_open]
            data-open[is_open] {
            div.dialog-body {
                h2 id={ (id) "-title" } { (title) }
                (content)
            }
        }
    }
}

/// A question before something that costs or destroys.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The id by which a button opens it.
    pub id: &'a str,
    /// The question itself, which is the title of the dialog.
    pub title: &'a str,
    /// What follows from it: the price, or what is lost.
    pub text: Markup,
    /// The words of the button that does it.
    pub action: &'a str,
    /// What that button looks like.
    pub kind: Kind,
    /// Where the form goes.
    pub to: &'a str,
    /// The token of the session.
    pub csrf: &'a str,
    /// What else the form sends.
    pub sent: &'a [(&'a str, &'a str)],
}

/// Asks before something that costs or destroys.
pub fn confirm(question: &Question<'_>) -> Markup {
    let Question { id, title, text, action, kind, to, csrf, sent } = question;
    let content = html! {
        form method="post" action=(to) {
            input type="hidden" name="csrf" value=(csrf);
            @for (name, value) in *sent {
                input type="hidden" name=(name) value=(value);
            }
            (text)
            div.actions {
                (closes("Go back", *id))
                (submit(*action).kind(*kind))
            }
        }
    };
    dialog(id, title, &content)
}

//! The signing secret of an endpoint, shown once.

use maud::{Markup, html};
use sms_core::webhook::secret::Secret;

use crate::part::button::{Kind, submit};
use crate::part::code::code;
use crate::part::dialog::{Begins, dialog_begins};
use crate::part::notice::{Notice, notice};

/// A dialog with the secret. Its button leads to `next`.
pub(super) fn secret_dialog(secret: &Secret, next: &str) -> Markup {
    let once = html! { p { "Copy it now: it is shown only once." } };
    let content = html! {
        (notice(Notice::Warn, &once))
        (code("Signing secret", secret.reveal()))
        p.small.faint { "Your program uses it to verify that a delivery comes from us." }
        form method="get" action=(next) {
            div.actions { (submit("I have copied it").kind(Kind::Main)) }
        }
    };
    dialog_begins(Begins::Open, "secret", "The signing secret", &content)
}

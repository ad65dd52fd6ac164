//! Recipients that a message does not go to, each with its reason.

use maud::{Markup, html};
use sms_core::sending::Rejection;

use super::badge::reason;
use crate::format::{counted, phone};

/// How many are shown.
const MOST: usize = 200;

/// The recipients that are left out; nothing if there are none.
pub fn rejections(rejected: &[Rejection]) -> Markup {
    if rejected.is_empty() {
        return html! {};
    }
    html! {
        div.stack-tight {
            p { strong { (counted(rejected.len() as u64, "recipient")) " left out" } }
            ul.rejected.small tabindex="0" aria-label="Recipients left out" {
                @for one in rejected.iter().take(MOST) {
                    li { strong { (phone(&one.to)) } " " (reason(one.reason.as_str())) }
                }
            }
            @if rejected.len() > MOST {
                p.small.faint { "The first " (MOST) " are shown." }
            }
        }
    }
}

//! When nobody gets a text: there is nothing to read in it, or more than ten parts hold.

use sms_core::sending::recipients::RejectionReason;
use sms_core::text;

use crate::width::widths;

/// Why a text, as it would be read, is not sent, if it is not. `rendered` is what it is without
/// anything added to it.
pub(crate) fn of(rendered: &str, whole: &str) -> Option<RejectionReason> {
    let (_, widths, alone, _) = widths(whole);
    if !rendered.contains(text::has_ink) {
        Some(RejectionReason::EmptyBody)
    } else if widths.iter().sum::<usize>() > 10 * alone {
        Some(RejectionReason::TooLong)
    } else {
        None
    }
}

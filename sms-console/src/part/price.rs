//! What something costs, said before it is done.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::sending::Quote;

use crate::format::credits;

/// What is known of a message's price.
#[derive(Debug, Clone, Copy)]
pub enum Price<'a> {
    /// There is no recipient or no text.
    NotYet,
    /// What the service says that it costs.
    Quoted(&'a Quote),
    /// A test key pays nothing, whatever the quote says.
    Free(&'a Quote),
    /// Why the service gives no price.
    Refused(&'a Error),
}

impl<'a> Price<'a> {
    /// The price shown to a session of this mode; `None` means that no quote was requested.
    pub fn of(quote: Option<&'a Result<Quote, Error>>, mode: Mode) -> Self {
        match quote {
            None => Self::NotYet,
            Some(Ok(quote)) if mode.is_test() => Self::Free(quote),
            Some(Ok(quote)) => Self::Quoted(quote),
            Some(Err(error)) => Self::Refused(error),
        }
    }

    /// The quote, if there is one.
    pub fn quote(self) -> Option<&'a Quote> {
        match self {
            Self::Quoted(quote) | Self::Free(quote) => Some(quote),
            Self::NotYet | Self::Refused(_) => None,
        }
    }
}

/// The price on a separate card.
pub fn big_price(price: Credits, mode: Mode) -> Markup {
    html! {
        p.big-price { @if mode.is_test() { "Free: test mode" } @else { (credits(price)) } }
    }
}

//! Below a message that is being written: its length, segments and encoding, the characters that
//! make it cost more, its price, and the merge fields that cannot be filled in.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::sending::Quote;
use sms_core::text::{Encoding, MAX_CHARACTERS, measure, split};

use super::dear::{are_replaceable, dear_characters, named};
use super::gaps::gaps;
use super::notice::in_words;
use super::price::Price;
use super::region::region;
use crate::format::{counted, counted_as, credits, whole};

/// How many of the characters that make it cost more are named.
const MOST_NAMED: usize = 4;

/// The counter under the field `body`.
pub fn counter(text: &str, price: Price<'_>) -> Markup {
    html! {
        div.counter {
            div #counter-length { (length(text)) }
            div #counter-price role="status" { (price_in_words(price)) }
            div #counter-gaps role="status" { (gaps_of(price)) }
        }
    }
}

/// What a preview puts into the counter.
pub fn counter_regions(text: &str, price: Price<'_>) -> Markup {
    html! {
        (region("counter-length", &length(text)))
        (region("counter-price", &price_in_words(price)))
        (region("counter-gaps", &gaps_of(price)))
    }
}

fn gaps_of(price: Price<'_>) -> Markup {
    price.quote().map_or_else(|| html! {}, |quote| gaps(&quote.gaps))
}

fn length(text: &str) -> Markup {
    let characters = text.chars().count();
    let dear = dear_characters(text);
    html! {
        div {
            span.over[characters > MAX_CHARACTERS] { (measured(text, characters)) }
            @if characters > MAX_CHARACTERS {
                " At most " (whole(MAX_CHARACTERS as u64)) " can be sent."
            }
        }
        @if !dear.is_empty() {
            div.actions {
                span.dear { (dear_in_words(&dear)) }
                @if are_replaceable(&dear) {
                    button.button.button-quiet.button-small type="submit" name="action"
                        value="plain" data-quiet data-focuses="body" { "Use plain characters" }
                }
            }
        }
    }
}

fn measured(text: &str, characters: usize) -> String {
    let measured = measure(text);
    let parts = if text.is_empty() { 0 } else { measured.segments.get() };
    let encoding = match measured.encoding {
        Encoding::Gsm7 => "GSM-7",
        Encoding::Ucs2 => "UCS-2",
    };
    let mut words = vec![counted(characters as u64, "character"), counted(parts.into(), "part")];
    words.push(encoding.to_owned());
    if parts > 0 {
        words.push(format!("{} left in this part", whole(left(text))));
    }
    words.join(" · ")
}

/// How many units of the encoding still fit in the last segment.
fn left(text: &str) -> u64 {
    let parts = split(text);
    let Some(last) = parts.last() else { return 0 };
    let encoding = last.encoding();
    let room = if parts.len() == 1 { encoding.single_units() } else { encoding.joined_units() };
    let used = match encoding {
        Encoding::Gsm7 => measure(last.text()).units.into(),
        Encoding::Ucs2 => last.text().encode_utf16().count() as u64,
    };
    u64::from(room).saturating_sub(used)
}

fn dear_in_words(dear: &[char]) -> String {
    let names: Vec<String> = dear.iter().take(MOST_NAMED).map(|one| named(*one)).collect();
    let rest = match dear.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let verb = if dear.len() == 1 { "makes" } else { "make" };
    let names = names.join(", ");
    format!("{names}{rest} {verb} this UCS-2: 70 characters a part, not 160.")
}

fn price_in_words(price: Price<'_>) -> Markup {
    match price {
        Price::NotYet => html! {},
        Price::Refused(error) => html! {
            span.over { "No price yet: " (why(error).trim_end_matches('.')) "." }
        },
        Price::Quoted(quote) | Price::Free(quote) if quote.recipients == 0 => {
            html! { span.over { "Nobody would get this." } }
        }
        Price::Free(quote) => html! {
            strong { "Test mode: free" } (for_people(quote)) "."
        },
        Price::Quoted(quote) => cost(quote),
    }
}

fn cost(quote: &Quote) -> Markup {
    let (price, balance) = (quote.credits.get(), quote.balance.get());
    html! {
        strong { "Costs " (credits(price)) }
        (for_people(quote))
        @if let Some(rest) = balance.checked_sub(price) {
            ". " (whole(rest)) " of " (whole(balance)) " credits would be left."
        } @else {
            span.over { ". The balance is " (credits(balance)) "." }
        }
    }
}

fn for_people(quote: &Quote) -> Markup {
    html! {
        @if quote.recipients != 1 {
            " for " (counted_as(quote.recipients as u64, "person", "people"))
        }
    }
}

fn why(error: &Error) -> String {
    match error {
        Error::Invalid(fields) => {
            fields.first().map_or_else(|| error.to_string(), |field| field.message.clone())
        }
        other => in_words(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_says_what_still_fits_in_the_last_segment() {
        for (text, words) in [
            (String::new(), "0 characters · 0 parts · GSM-7"),
            ("a".repeat(159), "159 characters · 1 part · GSM-7 · 1 left in this part"),
            ("€".repeat(80), "80 characters · 1 part · GSM-7 · 0 left in this part"),
            ("a".repeat(161), "161 characters · 2 parts · GSM-7 · 145 left in this part"),
            ("д".repeat(71), "71 characters · 2 parts · UCS-2 · 63 left in this part"),
            ("д👋".repeat(24), "48 characters · 2 parts · UCS-2 · 62 left in this part"),
        ] {
            assert_eq!(measured(&text, text.chars().count()), words);
        }
    }

    #[test]
    fn the_first_dear_characters_are_named_and_the_others_counted() {
        let words = dear_in_words(&dear_characters("привет"));
        assert_eq!(
            words,
            "“п”, “р”, “и”, “в” and 2 more make this UCS-2: 70 characters a part, not 160."
        );
    }
}

//! The first word of an inbound message, and the words that opt a sender out or in.
//!
//! Keywords are matched by [`first_word`] too, so that one rule says what a word is. Other modules
//! decide what an opt-out leads to.

use crate::invisible::is_invisible;

/// Words that an account cannot use as keywords, in the order of the specification.
pub const RESERVED_WORDS: [&str; 9] =
    ["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "OPTOUT", "START", "UNSTOP"];

/// What the first word of an inbound message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopWord {
    /// The sender wants no more messages.
    OptOut,
    /// The sender wants messages again.
    OptIn,
}

/// Whether an inbound message opts its sender out or in; `None` for any other message.
///
/// STOP, STOPALL, UNSUBSCRIBE, CANCEL, END, QUIT, OPTOUT and the two words `OPT OUT` opt out; START
/// and UNSTOP opt in. What follows them does not matter: `STOP 12345` stops everything, which is
/// the safe choice. REVOKE and REMOVE opt out unless `is_own_keyword` says that the account has the
/// word as a keyword. That function gets the word in upper case and is asked about no other word.
///
/// ```
/// use sms_core::text::{StopWord, stop_word};
///
/// assert_eq!(stop_word("Stop, please", |_| false), Some(StopWord::OptOut));
/// assert_eq!(stop_word("opt out", |_| false), Some(StopWord::OptOut));
/// assert_eq!(stop_word("remove", |word| word == "REMOVE"), None);
/// assert_eq!(stop_word("please stop", |_| false), None, "not the first word");
/// ```
pub fn stop_word(body: &str, is_own_keyword: impl Fn(&str) -> bool) -> Option<StopWord> {
    let mut words = Words::of(body);
    let first = words.next()?;
    match first.as_str() {
        "STOP" | "STOPALL" | "UNSUBSCRIBE" | "CANCEL" | "END" | "QUIT" | "OPTOUT" => {
            Some(StopWord::OptOut)
        }
        "START" | "UNSTOP" => Some(StopWord::OptIn),
        "OPT" if words.next().as_deref() == Some("OUT") => Some(StopWord::OptOut),
        "REVOKE" | "REMOVE" if !is_own_keyword(&first) => Some(StopWord::OptOut),
        _ => None,
    }
}

/// The first word of a text in upper case, without punctuation; empty if the text has none.
///
/// A word consists of letters and digits. Hyphens, apostrophes, underscores and invisible
/// characters inside it are skipped (`OPT-OUT` reads as OPTOUT), and so are the full stops of an
/// abbreviation (`S.T.O.P.` reads as STOP). White space and all other characters end it, so that
/// `STOP,please` and `Stop.Please` read as intended.
///
/// ```
/// use sms_core::text::first_word;
///
/// assert_eq!(first_word("  \"Pizza!\" for two"), "PIZZA");
/// assert_eq!(first_word("?!"), "");
/// ```
pub fn first_word(body: &str) -> String {
    Words::of(body).next().unwrap_or_default()
}

/// Whether a keyword is one of the [`RESERVED_WORDS`], regardless of case.
pub fn is_reserved(keyword: &str) -> bool {
    RESERVED_WORDS.iter().any(|word| word.eq_ignore_ascii_case(keyword))
}

/// The words of a text, by the rule of [`first_word`].
struct Words<'a> {
    rest: std::str::Chars<'a>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text.chars() }
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut word = String::new();
        // Letters since the last skipped character: one letter and a full stop abbreviate.
        let mut run = 0_usize;
        for c in self.rest.by_ref() {
            if c.is_alphanumeric() {
                word.extend(c.to_uppercase());
                run += 1;
            } else if word.is_empty() || is_invisible(c) {
                // No word has started, or the character does not show.
            } else if is_joining(c) || (c == '.' && run == 1) {
                run = 0;
            } else {
                break;
            }
        }
        (!word.is_empty()).then_some(word)
    }
}

/// Hyphens, apostrophes and the underscore, which occur inside words.
fn is_joining(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{2011}' | '\'' | '\u{2018}' | '\u{2019}' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn without_keywords(body: &str) -> Option<StopWord> {
        stop_word(body, |_| false)
    }

    #[test]
    fn every_way_of_saying_stop_opts_out() {
        for body in [
            "STOP",
            "stop",
            "Stop.",
            "STOP!",
            "stop please",
            "  \r\nStop",
            "\"STOP\"",
            "(stop)",
            "STOP,please",
            "Stop.Please remove me",
            "stop/end",
            "STOP\u{a0}now",
            "STOP—thanks",
            "🛑STOP",
            "STOP🙏",
            "S.T.O.P.",
            "s.t.o.p",
            "STOP 12345",
            "STOP ALL",
            "STOPALL",
            "...stop",
            "st\u{ad}op",
            "\u{feff}STOP",
            "- stop -",
            "'stop'",
            "STOP:",
            "Stop\tit",
            "unsubscribe",
            "Cancel",
            "END",
            "quit",
            "OPTOUT",
            "opt-out",
            "opt out",
            "Opt  Out!",
            "OPT, OUT",
            "opt‑out",
            "opt_out",
            "opt.out",
            "revoke",
            "Remove me",
            "STOP-",
        ] {
            assert_eq!(without_keywords(body), Some(StopWord::OptOut), "{body:?}");
        }
    }

    #[test]
    fn start_and_unstop_opt_in() {
        for body in ["START", "start!", "unstop", "Un-stop", "START STOP"] {
            assert_eq!(without_keywords(body), Some(StopWord::OptIn), "{body:?}");
        }
    }

    #[test]
    fn other_messages_do_neither() {
        for body in [
            "",
            " ",
            "!",
            "please stop",
            "stopping",
            "nonstop",
            "STOPP",
            "STOP1",
            "stop2go",
            "opt",
            "opt in",
            "opt the out",
            "out",
            "ending",
            "cancelled",
            "end-to-end",
            "restart",
            "yes",
            "12345 STOP",
            "0STOP",
            "don't stop",
            "removed",
            "unsubscribed",
        ] {
            assert_eq!(without_keywords(body), None, "{body:?}");
        }
    }

    #[test]
    fn an_account_can_claim_only_revoke_and_remove_as_keywords() {
        assert_eq!(stop_word("Remove", |word| word == "REMOVE"), None);
        assert_eq!(stop_word("revoke", |word| word == "REVOKE"), None);
        assert_eq!(stop_word("revoke", |word| word == "REMOVE"), Some(StopWord::OptOut));
        for word in RESERVED_WORDS {
            assert!(stop_word(word, |_| true).is_some(), "{word}");
        }
        assert_eq!(stop_word("opt out", |_| true), Some(StopWord::OptOut));
    }

    #[test]
    fn reserved_words_are_reserved_in_any_case() {
        for word in RESERVED_WORDS {
            assert!(is_reserved(word) && is_reserved(&word.to_lowercase()), "{word}");
            assert!(without_keywords(word).is_some(), "{word}");
        }
        for word in ["", "REVOKE", "REMOVE", "PIZZA", "STOPS", "OPT"] {
            assert!(!is_reserved(word), "{word}");
        }
    }

    #[test]
    fn first_words_are_upper_case_without_punctuation() {
        let table = [
            ("pizza", "PIZZA"),
            ("Pizza!!! now", "PIZZA"),
            ("#win100", "WIN100"),
            ("pi-zza", "PIZZA"),
            ("£5 off", "5"),
            ("p.i.z.z.a", "PIZZA"),
            ("pizza.hut", "PIZZA"),
            ("café", "CAFÉ"),
            ("… ?", ""),
            ("", ""),
        ];
        for (body, expected) in table {
            assert_eq!(first_word(body), expected, "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn first_words_hold_letters_and_digits_only(body in any::<String>()) {
            let word = first_word(&body);
            prop_assert!(!word.contains(char::is_whitespace));
            let _ = without_keywords(&body);
        }

        #[test]
        fn case_and_surrounding_punctuation_do_not_matter(
            word in "[A-Za-z0-9]{1,20}",
            before in "[ \t\r\n!\"#*(,.:;?-]{0,5}",
            after in "[ \t\r\n!\"#*(),:;?]{1,5}[a-z ]{0,9}",
        ) {
            let body = format!("{before}{word}{after}");
            prop_assert_eq!(first_word(&body), word.to_ascii_uppercase());
        }
    }
}

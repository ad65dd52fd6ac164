//! The inbound messages of people, what they ask for, and what keywords reply. All of this is
//! separate from the code under test.

use sms_core::inbound::segment::{InboundSegment, Place, SegmentText};
use sms_core::originator::Originator;
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

use super::dice::Dice;

/// Bodies of inbound messages.
const ANSWERS: [&str; 17] = [
    "STOP",
    "stop, please",
    "Opt out",
    "UNSUBSCRIBE",
    "START",
    "Unstop!",
    "Thank you",
    "please stop",
    "STOPPED by earlier",
    "Pizza",
    "\"pizza!\" for two",
    "MENU, please",
    "menu",
    "remove me",
    "REMOVE",
    "TABLE for four",
    "?!",
];

/// The words that keywords are made of. The last cannot be one.
pub const KEYWORDS: [&str; 5] = ["pizza", "Menu", "remove", "TABLE", "stop"];

/// The replies of keywords, and their number of segments; `None` if the reply is blank or too long.
/// The last one begins with a keyword, so that an echo of it matches again.
const REPLIES: [(&str, usize, Option<u32>); 6] = [
    ("Two for one tonight", 1, Some(1)),
    ("Dear {first_name}, see you soon", 1, Some(1)),
    ("x", 200, Some(2)),
    ("{last_name}", 1, None),
    ("\u{434}", 701, None),
    ("Pizza it is", 1, Some(1)),
];

/// The bodies of long messages, by segment.
const STORIES: [&[&str]; 5] = [
    &["Once upon a time ", "there was ", "a table"],
    &["Pizza for two, ", "please"],
    &["STOP sending ", "me messages"],
    &["One ", "and two ", "and three ", "and four"],
    &["Menu"],
];

/// Short codes and names that send messages.
const NAMES: [&str; 3] = ["ACME", "Acme", "60123"];

/// What an inbound message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// To opt out.
    Out,
    /// To opt in.
    In,
    /// Something else.
    Other,
}

impl Answer {
    /// The body of an inbound message.
    pub fn draw(dice: &mut Dice) -> &'static str {
        ANSWERS[dice.below(ANSWERS.len())]
    }

    /// What the words ask for. `is_own` says whether the first is a keyword of the account.
    pub fn of(text: &str, is_own: bool) -> Self {
        match first_word(text).as_str() {
            "STOP" | "STOPALL" | "UNSUBSCRIBE" | "CANCEL" | "END" | "QUIT" | "OPTOUT" => Self::Out,
            "OPT" if text.to_uppercase().starts_with("OPT OUT") => Self::Out,
            "REVOKE" | "REMOVE" if !is_own => Self::Out,
            "START" | "UNSTOP" => Self::In,
            _ => Self::Other,
        }
    }
}

/// The first word in upper case; empty when there is none. None of the words used here holds
/// punctuation.
pub fn first_word(text: &str) -> String {
    let start = text.find(char::is_alphanumeric).unwrap_or(text.len());
    let word: String = text[start..].chars().take_while(|c| c.is_alphanumeric()).collect();
    word.to_uppercase()
}

/// A reply for a keyword.
pub fn draw_reply(dice: &mut Dice) -> String {
    let (words, times, _) = REPLIES[dice.below(REPLIES.len())];
    words.repeat(times)
}

/// The reply to a person with this first name, and its number of segments; `None` if it cannot be
/// sent.
pub fn reply_to(words: &str, first_name: &str) -> Option<(String, u32)> {
    let known = REPLIES.iter().find(|(unit, times, _)| unit.repeat(*times) == words);
    let parts = known.and_then(|(_, _, parts)| *parts)?;
    Some((words.replace("{first_name}", first_name), parts))
}

/// A short code or a name that sends messages.
pub fn named(dice: &mut Dice) -> Option<Originator> {
    Originator::parse(NAMES[dice.below(NAMES.len())]).ok()
}

/// A long message: its segments in order.
pub fn draw_story(
    dice: &mut Dice,
    from: &Originator,
    to: E164,
    at: Timestamp,
) -> Vec<InboundSegment> {
    let words = STORIES[dice.below(STORIES.len())];
    let reference = u16::try_from(dice.below(3)).unwrap_or_default();
    let total = u8::try_from(words.len()).unwrap_or_default();
    let part = |(number, words): (u8, &&str)| {
        Some(InboundSegment {
            from: from.clone(),
            to,
            reference,
            place: Place::new(number, total)?,
            text: SegmentText::whole(words),
            route: RouteName::new("network"),
            received_at: at,
        })
    };
    (1..=total).zip(words).filter_map(part).collect()
}

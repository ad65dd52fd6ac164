//! Receipts (DLRs): what a network says became of a text, in the forms found in the wild.
//!
//! A receipt is a `deliver_sm` whose octets are a line of `name:value` pairs (appendix B), or one
//! with the values [`Tag::RECEIPTED_MESSAGE_ID`] and [`Tag::MESSAGE_STATE`], or both. Where both
//! say something the values win: they are less often cut short.

use sms_core::message::ErrorCode;
use sms_core::receipt::ReceiptStatus;

use crate::pdu::{ShortMessage, Tag};

/// What a receipt says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The peer's id of the text, as the receipt spells it.
    pub id: String,
    /// What became of it.
    pub state: State,
    /// The network's own error, as it writes it; empty or zeros when there is none.
    pub error: String,
}

/// What became of a text at the peer (5.2.28 and appendix B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It is still under way: an intermediate notice.
    EnRoute,
    /// The handset has it.
    Delivered,
    /// It could not be delivered while it was valid.
    Expired,
    /// It was deleted at the peer.
    Deleted,
    /// It cannot be delivered.
    Undeliverable,
    /// It is in a customer service's hands, which is as good as under way.
    Accepted,
    /// Nobody knows.
    Unknown,
    /// The network refused it.
    Rejected,
}

impl State {
    /// By its number (5.2.28).
    fn of_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::EnRoute,
            2 => Self::Delivered,
            3 => Self::Expired,
            4 => Self::Deleted,
            5 => Self::Undeliverable,
            6 => Self::Accepted,
            7 => Self::Unknown,
            8 => Self::Rejected,
            _ => return None,
        })
    }

    /// By its word (appendix B), whatever its case; some peers write it out.
    fn of_word(word: &str) -> Option<Self> {
        let word = word.to_ascii_uppercase();
        Some(match word.as_str() {
            "ENROUTE" | "BUFFERED" | "SCHEDULED" => Self::EnRoute,
            "DELIVRD" | "DELIVERED" => Self::Delivered,
            "EXPIRED" => Self::Expired,
            "DELETED" => Self::Deleted,
            "UNDELIV" | "UNDELIVERABLE" | "UNDELIVERED" | "FAILED" => Self::Undeliverable,
            "ACCEPTD" | "ACCEPTED" => Self::Accepted,
            "UNKNOWN" => Self::Unknown,
            "REJECTD" | "REJECTED" => Self::Rejected,
            _ => return None,
        })
    }
}

impl Report {
    /// Reads a receipt; `None` when the message is none.
    ///
    /// What marks itself as a receipt counts as one, and what has both values: some peers forget
    /// the mark. Words alone do not make a receipt, as anybody may text them.
    pub fn read(message: &ShortMessage) -> Option<Self> {
        let words = String::from_utf8_lossy(message.octets()).into_owned();
        let id = message.tlvs.text(Tag::RECEIPTED_MESSAGE_ID).map(|id| id.trim().to_owned());
        // One of which nothing is kept names no text.
        let names_one = |id: &String| !plain(id).is_empty();
        let id = id.filter(names_one);
        let number = message.tlvs.number(Tag::MESSAGE_STATE);
        if !(message.is_marked_as_receipt() || (id.is_some() && number.is_some())) {
            return None;
        }
        let written = Written::read(&words);
        let id = id.or(written.id).filter(names_one)?;
        let state = number.and_then(State::of_number);
        let state = state.or_else(|| State::of_word(&written.state?))?;
        let error = network_error(message).or(written.error).unwrap_or_default();
        Some(Self { id, state, error })
    }

    /// What it means for the text; `None` while it is under way.
    pub fn outcome(&self) -> Option<ReceiptStatus> {
        Some(match self.state {
            State::EnRoute | State::Accepted => return None,
            State::Delivered => ReceiptStatus::Delivered,
            State::Expired => ReceiptStatus::Undelivered(match self.error_number() {
                // Tried until its time was over, because the handset was away.
                Some(error) if error != 0 => self.error_code(),
                _ => ErrorCode::Expired,
            }),
            State::Rejected => ReceiptStatus::Undelivered(ErrorCode::RejectedByNetwork),
            State::Deleted | State::Undeliverable | State::Unknown => {
                ReceiptStatus::Undelivered(self.error_code())
            }
        })
    }

    fn error_number(&self) -> Option<u32> {
        self.error.trim().parse().ok()
    }

    /// The causes of MAP that networks commonly pass on (3GPP TS 29.002, 17.6.6).
    fn error_code(&self) -> ErrorCode {
        match self.error_number() {
            // Unknown, unidentified or illegal subscriber; number changed or withdrawn.
            Some(1 | 5 | 9 | 12) => ErrorCode::UnknownSubscriber,
            // Absent subscriber, in its several forms.
            Some(6 | 27 | 31) => ErrorCode::AbsentSubscriber,
            _ => ErrorCode::NetworkError,
        }
    }
}

/// The names of a receipt's line, those with a blank in them by their first word.
const NAMES: [&str; 8] = ["id:", "sub:", "dlvrd:", "submit", "done", "stat:", "err:", "text:"];

/// The pairs of a receipt's line.
#[derive(Debug, Default)]
struct Written {
    id: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

impl Written {
    /// Finds the pairs that matter. `text:` comes last and holds somebody's words, which may look
    /// like pairs: what follows it is not read.
    fn read(words: &str) -> Self {
        let lower = words.to_ascii_lowercase();
        let end = lower.find(" text:").unwrap_or(lower.len());
        let value = |name: &str| -> Option<String> {
            let head = lower.get(..end)?;
            let mut from = 0;
            while let Some(found) = head.get(from..)?.find(name) {
                let at = from + found;
                from = at + name.len();
                // `id:` also stands at the end of other names.
                if at == 0 || head.as_bytes()[at - 1] == b' ' {
                    let value = words.get(from..end)?;
                    let value = value.split_whitespace().next().unwrap_or_default();
                    // An empty value leaves the next name in its place.
                    let is_name =
                        NAMES.iter().any(|name| value.to_ascii_lowercase().starts_with(name));
                    return (!value.is_empty() && !is_name).then(|| value.to_owned());
                }
            }
            None
        };
        Self { id: value("id:"), state: value("stat:"), error: value("err:") }
    }
}

fn network_error(message: &ShortMessage) -> Option<String> {
    match message.tlvs.find(Tag::NETWORK_ERROR_CODE).map(|value| &value[..]) {
        Some([_, high, low]) => Some(u16::from_be_bytes([*high, *low]).to_string()),
        _ => None,
    }
}

/// How a peer's receipts spell the ids that its answers to `submit_sm` gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdForm {
    /// The same in both.
    #[default]
    Same,
    /// Hexadecimal in the answer, decimal in the receipt.
    HexThenDecimal,
    /// Decimal in the answer, hexadecimal in the receipt.
    DecimalThenHex,
}

impl IdForm {
    /// The one spelling under which the id of an answer is kept.
    pub fn of_answer(self, id: &str) -> String {
        match self {
            Self::Same => plain(id),
            Self::HexThenDecimal => number(id, 16).unwrap_or_else(|| plain(id)),
            Self::DecimalThenHex => number(id, 10).unwrap_or_else(|| plain(id)),
        }
    }

    /// The same for the id of a receipt.
    pub fn of_receipt(self, id: &str) -> String {
        match self {
            Self::Same => plain(id),
            Self::HexThenDecimal => number(id, 10).unwrap_or_else(|| plain(id)),
            Self::DecimalThenHex => number(id, 16).unwrap_or_else(|| plain(id)),
        }
    }
}

/// Without blanks, and in one case: peers are not consistent about hexadecimal letters. What no
/// store can keep, or no peer gives (5.2.23 allows 64 octets), is left out.
fn plain(id: &str) -> String {
    let kept = id.trim().chars().filter(|character| !character.is_control());
    kept.take(LONGEST_ID).collect::<String>().to_ascii_lowercase()
}

const LONGEST_ID: usize = 64;

/// A number in decimal, without zeros before it.
fn number(id: &str, radix: u32) -> Option<String> {
    let digits = id.trim();
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    u128::from_str_radix(digits, radix).ok().map(|number| number.to_string())
}

#[cfg(test)]
mod tests;

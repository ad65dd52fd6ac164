//! The words of a message: how many segments they take, what goes into them, and what a reply
//! means.
//!
//! - [`measure`] counts encoding and segments, [`split`] cuts a text into segments, and
//!   [`check_length`] applies the length limit. [`gsm7`] is the alphabet underneath.
//! - [`Template`] fills merge fields, [`ShortText`] replaces long URLs by short ones, and
//!   [`append_opt_out_line`] adds the opt-out line of marketing messages. [`full_name`] is what a
//!   person is called.
//! - [`stop_word`] and [`first_word`] read inbound messages; [`is_blank`] recognises an empty one.
//! - [`shown`] makes untrusted text safe for a terminal, [`cell`] for a spreadsheet.
//!
//! Everything here is a plain function of its arguments. Recipients, credits, the codes of links,
//! saved templates and the effects of an opt-out live elsewhere.

pub(crate) mod blank;
pub mod cell;
pub(crate) mod encoding;
pub(crate) mod full_name;
pub mod gsm7;
pub(crate) mod length;
pub(crate) mod links;
pub(crate) mod merge;
pub(crate) mod opt_out_line;
pub(crate) mod segments;
mod shown;
pub(crate) mod stop_words;

#[cfg(test)]
mod segments_tests;

pub use blank::{has_ink, is_blank};
pub use encoding::{Encoding, Segments, UnknownEncoding};
pub use full_name::full_name;
pub use length::{
    MAX_CHARACTERS, MAX_CHARACTERS_WITH_URLS, MAX_SINGLE_PARTS, TooLong, check_length,
    is_within_characters,
};
pub use links::{CODE_LENGTH, CODE_PLACEHOLDER, Destination, LONGEST_URL, ShortText, find_urls};
pub use merge::{
    LONGEST_CUSTOM, MergeFields, NumberOnly, Template, TooManyCharacters, custom_names,
    field_names, is_custom_name,
};
pub use opt_out_line::{
    DEFAULT_OPT_OUT_LINE, DEFAULT_OPT_OUT_LINE_SENDER, append_opt_out_line, opt_out_line_for,
};
pub use segments::{Measure, Part, UserData, concat_udh, measure, split};
pub use shown::{shown, shown_json};
pub use stop_words::{RESERVED_WORDS, StopWord, first_word, is_reserved, stop_word};

pub use crate::invisible::is_invisible;

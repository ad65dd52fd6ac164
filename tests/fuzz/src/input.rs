//! What a target reads of its input.

/// The text that an input begins with, as far as it is UTF-8.
pub(crate) fn text_of(input: &[u8]) -> &str {
    input.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

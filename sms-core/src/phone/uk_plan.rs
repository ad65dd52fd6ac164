//! The ranges of the UK numbering plan that an SMS service needs.
//!
//! The source is Ofcom's National Telephone Numbering Plan: which significant numbers (the digits
//! after +44) have a valid length, and which of those are mobiles. The answer is by range. Blocks
//! that Ofcom has not allocated, and its drama numbers such as 07700 900123, count like any other.

/// Whether a number with these significant digits can exist.
///
/// Ten digits: 01 and 02 (geographic), 03, 055, 056, 07, 08 and 09. Whole ranges are accepted, so
/// that a code opened later needs no change. 04, 06 and the rest of 05 are not in use (0500 was
/// withdrawn in 2017) and are refused.
///
/// Nine digits: 01 with an area code of four digits (01xxx and 016977), which some exchanges still
/// have, but never the areas 011x and 01x1; and the older half of 0800.
///
/// Seven digits: 0800 1111 and 0845 46 4x.
pub(super) fn has_room_for(significant: &[u8]) -> bool {
    match significant.len() {
        10 => matches!(significant, [1 | 2 | 3 | 7 | 8 | 9, ..] | [5, 5 | 6, ..]),
        9 => matches!(significant, [1, 0 | 2..=9, 0 | 2..=9, ..] | [8, 0, 0, ..]),
        7 => matches!(significant, [8, 0, 0, 1, 1, 1, 1] | [8, 4, 5, 4, 6, 4, _]),
        _ => false,
    }
}

/// Whether the number, country code included, is in a mobile range: 071 to 075, 077 to 079, and
/// 07624 of the Isle of Man. 070 is for personal numbers, and the rest of 076 is for pagers.
pub(super) const fn is_mobile(digits: u64) -> bool {
    let ten_digits = 10_u64.pow(10);
    if digits / ten_digits != 44 {
        return false;
    }
    let significant = digits % ten_digits;
    let leading_two = significant / 10_u64.pow(8);
    let leading_four = significant / 10_u64.pow(6);
    matches!(leading_two, 71..=75 | 77..=79) || leading_four == 7624
}

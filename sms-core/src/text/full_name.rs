//! The one rule for what a person is called.

use super::blank::is_blank;

/// A first and a last name in one, or the one that is set; `None` if neither is. A blank name
/// counts as missing.
///
/// ```
/// use sms_core::text::full_name;
///
/// assert_eq!(full_name(Some("First"), Some("Last")).as_deref(), Some("First Last"));
/// assert_eq!(full_name(None, Some(" Last ")).as_deref(), Some("Last"));
/// assert_eq!(full_name(Some(" "), None), None);
/// ```
pub fn full_name(first: Option<&str>, last: Option<&str>) -> Option<String> {
    let names = [first, last].into_iter().flatten().filter(|name| !is_blank(name));
    let names: Vec<&str> = names.map(str::trim).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

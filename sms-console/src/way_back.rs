//! The way to the page for signing in, and back to the page that was asked for.

use poem::http::Uri;

use crate::places::page_at;
use crate::query::Query;

/// Where people sign in.
pub const SIGN_IN: &str = "/console/sign-in";

/// The address of the page that leads back to `uri` afterwards.
pub fn address(uri: &Uri) -> String {
    Query::default().address(SIGN_IN, "next", back(uri).as_deref())
}

/// The same after a session: the page says that the session has ended.
pub fn address_of_expired(uri: &Uri) -> String {
    let expired = Query::of("expired=1");
    expired.address(SIGN_IN, "next", back(uri).as_deref())
}

/// Where to go back to; `None` for the first page.
fn back(uri: &Uri) -> Option<String> {
    let path = page_at(uri.path());
    let back = match uri.query() {
        Some(query) if path == uri.path() => format!("{path}?{query}"),
        _ => path.to_owned(),
    };
    (back != "/console").then_some(back)
}

/// Where to go after signing in: only to pages of the console. An address from elsewhere is not
/// followed.
pub fn next(wanted: Option<&str>) -> &str {
    let is_page = |path: &&str| {
        let rest = path.strip_prefix("/console");
        let is_own = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        is_own && !path.starts_with(SIGN_IN) && !path.contains(['\\', '\r', '\n'])
    };
    wanted.filter(is_page).unwrap_or("/console")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_redirects_only_to_pages_of_the_console() {
        for (wanted, then) in [
            (Some("/console/inbox?q=1"), "/console/inbox?q=1"),
            (Some("/console"), "/console"),
            (Some("/consolex"), "/console"),
            (Some("//example.com"), "/console"),
            (Some("https://example.com"), "/console"),
            (Some("/console/sign-in"), "/console"),
            (Some("/console/\\example.com"), "/console"),
            (None, "/console"),
        ] {
            assert_eq!(next(wanted), then);
        }
    }

    #[test]
    fn the_address_leads_back_with_its_filters() {
        let of = |text: &str| address(&text.parse().unwrap());
        assert_eq!(of("/console"), "/console/sign-in");
        assert_eq!(of("/console/links?a=b"), "/console/sign-in?next=%2Fconsole%2Flinks%3Fa%3Db");
        let of_expired = |text: &str| address_of_expired(&text.parse().unwrap());
        assert_eq!(of_expired("/console"), "/console/sign-in?expired=1");
        let later = of_expired("/console/links/lnk_1/forget");
        assert_eq!(later, "/console/sign-in?expired=1&next=%2Fconsole%2Flinks");
    }
}

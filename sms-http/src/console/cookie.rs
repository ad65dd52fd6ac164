//! The cookie that holds the token of a session.

use poem::http::header::COOKIE;
use poem::http::{HeaderMap, HeaderValue};
use sms_core::session::{LASTS, SessionToken};

use super::path::PREFIX;

const NAME: &str = "sms_console";

/// Whether the browser may send the cookie over plain HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Only over HTTPS.
    Https,
    /// Also over HTTP, because this is how the console is served.
    Http,
}

/// The token in the cookies of a request.
pub(super) fn token_in(headers: &HeaderMap) -> Option<SessionToken> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = values.flat_map(|value| value.split(';')).map(str::trim);
    cookies.find_map(|cookie| SessionToken::parse(cookie.strip_prefix(NAME)?.strip_prefix('=')?))
}

/// The value of `Set-Cookie` that gives a browser a token. Scripts cannot read it, and no other
/// site can make the browser send it.
pub(super) fn set(token: &SessionToken, over: Over) -> Option<HeaderValue> {
    let (token, seconds) = (token.reveal(), LASTS.as_secs());
    let secure = match over {
        Over::Https => "; Secure",
        Over::Http => "",
    };
    let cookie = format!(
        "{NAME}={token}; Path={PREFIX}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    let mut value = HeaderValue::from_str(&cookie).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The value that takes the cookie away.
pub(super) fn removed() -> Option<HeaderValue> {
    let cookie = format!("{NAME}=; Path={PREFIX}; Max-Age=0; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_found_among_other_cookies() {
        let token = "0123456789abcdef".repeat(4);
        let found = |cookies: &[&str]| {
            let mut headers = HeaderMap::new();
            for cookie in cookies {
                headers.append(COOKIE, HeaderValue::from_str(cookie).unwrap());
            }
            token_in(&headers).map(|token| token.reveal())
        };
        let own = format!("sms_console={token}");
        for cookies in [
            vec![own.as_str()],
            vec!["a=b; c", &own],
            vec![&format!("a=b;{own} ; c=d")],
            // One of another path with the same name, and without a token.
            vec![&format!("sms_console=x; {own}")],
        ] {
            assert_eq!(found(&cookies).as_ref(), Some(&token), "{cookies:?}");
        }
        for cookie in ["", "sms_console", "sms_console=", &format!("x{own}"), &format!("{own}0")] {
            assert_eq!(found(&[cookie]), None, "{cookie}");
        }
    }
}

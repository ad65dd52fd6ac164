//! The cookie that holds the token of a session.

use poem::http::header::COOKIE;
use poem::http::{HeaderMap, HeaderValue};
use sms_core::session::{LASTS, SessionToken};

use super::path::PREFIX;

/// What browsers hold back from everything but the host that set it, over HTTPS (RFC 6265bis,
/// 4.1.3.2). No other host of the same domain can put a cookie of such a name into a browser.
const OF_ONE_HOST: &str = "__Host-";

/// Whether the browser may send the cookie over plain HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Only over HTTPS.
    Https,
    /// Also over HTTP, because this is how the console is served.
    Http,
}

/// The cookie of a listener. Those of one host share its cookies whatever their ports, so each has
/// a name of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionCookie {
    name: &'static str,
    /// How browsers are known to reach the listener.
    reached: Over,
}

impl SessionCookie {
    /// The cookie of the listener for accounts, which may serve the operator, too.
    pub(super) fn of_accounts(reached: Over) -> Self {
        Self { name: "sms_console", reached }
    }

    /// The cookie of the operator's own listener.
    pub(super) fn of_operator(reached: Over) -> Self {
        Self { name: "sms_operator", reached }
    }

    /// The token in the cookies of a request. Where browsers come over HTTPS, a cookie counts that
    /// only this host can have set.
    pub(super) fn token_in(self, headers: &HeaderMap) -> Option<SessionToken> {
        let secure = token_named(headers, OF_ONE_HOST, self.name);
        match self.reached {
            Over::Https => secure,
            Over::Http => secure.or_else(|| token_named(headers, "", self.name)),
        }
    }

    /// The value of `Set-Cookie` that gives a browser a token. Scripts cannot read it, and no other
    /// site can make the browser send it.
    pub(super) fn set(self, token: &SessionToken, over: Over) -> Option<HeaderValue> {
        self.value(&token.reveal(), LASTS.as_secs(), over)
    }

    /// The value that takes the cookie away.
    pub(super) fn removed(self, over: Over) -> Option<HeaderValue> {
        self.value("", 0, over)
    }

    fn value(self, token: &str, seconds: u64, over: Over) -> Option<HeaderValue> {
        let name = self.name;
        let always = format!("Max-Age={seconds}; HttpOnly; SameSite=Strict");
        // A cookie of one host has to have the path `/`.
        let cookie = match over {
            Over::Https => format!("{OF_ONE_HOST}{name}={token}; Path=/; {always}; Secure"),
            Over::Http => format!("{name}={token}; Path={PREFIX}; {always}"),
        };
        let mut value = HeaderValue::from_str(&cookie).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

fn token_named(headers: &HeaderMap, prefix: &str, name: &str) -> Option<SessionToken> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = values.flat_map(|value| value.split(';')).map(str::trim);
    cookies.find_map(|cookie| {
        let rest = cookie.strip_prefix(prefix)?.strip_prefix(name)?;
        SessionToken::parse(rest.strip_prefix('=')?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn found(cookie: SessionCookie, cookies: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(COOKIE, HeaderValue::from_str(cookie).unwrap());
        }
        cookie.token_in(&headers).map(|token| token.reveal())
    }

    #[test]
    fn the_token_is_found_among_other_cookies() {
        let own = format!("sms_console={TOKEN}");
        let over_http = SessionCookie::of_accounts(Over::Http);
        for cookies in [
            vec![own.as_str()],
            vec!["a=b; c", &own],
            vec![&format!("a=b;{own} ; c=d")],
            vec![&format!("__Host-{own}")],
            // One of another path with the same name, and without a token.
            vec![&format!("sms_console=x; {own}")],
        ] {
            assert_eq!(found(over_http, &cookies).as_deref(), Some(TOKEN), "{cookies:?}");
        }
        for cookie in ["", "sms_console", "sms_console=", &format!("x{own}"), &format!("{own}0")] {
            assert_eq!(found(over_http, &[cookie]), None, "{cookie}");
        }
    }

    #[test]
    fn over_https_no_other_host_can_set_the_cookie() {
        let over_https = SessionCookie::of_accounts(Over::Https);
        assert_eq!(found(over_https, &[&format!("sms_console={TOKEN}")]), None);
        let own = format!("__Host-sms_console={TOKEN}");
        assert_eq!(found(over_https, &[&own]).as_deref(), Some(TOKEN));
    }

    #[test]
    fn each_listener_of_a_host_has_its_own_cookie() {
        let operator = SessionCookie::of_operator(Over::Http);
        assert_eq!(found(operator, &[&format!("sms_console={TOKEN}")]), None);
        assert_eq!(found(operator, &[&format!("sms_operator={TOKEN}")]).as_deref(), Some(TOKEN));
    }
}

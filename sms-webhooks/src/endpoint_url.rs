//! Which URLs may be a webhook endpoint: scheme, shape, and IP addresses in the URL.
//!
//! Pure: it resolves nothing. [`address`](crate::address) judges an IP address in any spelling at
//! once, because connecting to it involves no resolver. [`resolver`](crate::resolver) judges a name
//! when it looks it up.

use std::cell::RefCell;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use sms_core::webhook::sender::UrlRefused;
use url::{Host, SyntaxViolation, Url};

use crate::address::Reach;

/// The longest URL accepted, in characters as the customer wrote it.
pub const URL_CHARACTERS: usize = 2_048;

/// The longest host name, in bytes without a trailing dot (RFC 1035).
const NAME_BYTES: usize = 253;

/// The longest part between two dots of a host name, in bytes (RFC 1035).
const LABEL_BYTES: usize = 63;

/// A URL that may be an endpoint, as far as the URL itself shows.
///
/// The scheme is `http` or `https`. Any port is allowed: the specification names none, and the
/// guard over addresses protects internal services. A fragment is allowed because it is never sent.
///
/// `Debug` shows only the host: paths and queries of endpoints often contain a token.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointUrl {
    url: Url,
}

impl EndpointUrl {
    /// Parses `text` and refuses every URL that can be refused without a resolver.
    ///
    /// The text must say what it means. A URL that the parser would have to repair is malformed:
    /// missing, extra or turned slashes, an IPv4 address that is not four decimal numbers
    /// (`0x7f.1`, `2130706433`, `127.1`), a host in percent-encoding. Under [`Reach::PublicOnly`],
    /// `localhost` and names below it are refused too.
    ///
    /// # Errors
    ///
    /// Any [`UrlRefused`] but [`UrlRefused::DnsFailed`].
    ///
    /// ```
    /// use sms_webhooks::{EndpointUrl, Reach, UrlRefused};
    ///
    /// assert!(EndpointUrl::parse("https://example.com/hooks", Reach::PublicOnly).is_ok());
    /// assert_eq!(
    ///     EndpointUrl::parse("http://127.0.0.1/", Reach::PublicOnly),
    ///     Err(UrlRefused::ForbiddenAddress),
    /// );
    /// assert_eq!(
    ///     EndpointUrl::parse("http:///example.com", Reach::PublicOnly),
    ///     Err(UrlRefused::Malformed),
    /// );
    /// ```
    pub fn parse(text: &str, reach: Reach) -> Result<EndpointUrl, UrlRefused> {
        if text.chars().count() > URL_CHARACTERS {
            return Err(UrlRefused::TooLong);
        }
        // The parser drops or turns these, and the stored URL would differ from the checked one.
        let is_repaired = |character: char| {
            character.is_whitespace() || character.is_control() || character == '\\'
        };
        if text.chars().any(is_repaired) {
            return Err(UrlRefused::Malformed);
        }
        let violations = RefCell::new(Vec::new());
        let note = |violation| violations.borrow_mut().push(violation);
        let parsed = Url::options().syntax_violation_callback(Some(&note)).parse(text);
        let url = parsed.map_err(|_| UrlRefused::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlRefused::Scheme);
        }
        if violations.borrow().contains(&SyntaxViolation::ExpectedDoubleSlash) {
            return Err(UrlRefused::Malformed);
        }
        let authority = authority_of(text);
        if authority.contains('@') {
            return Err(UrlRefused::Credentials);
        }
        if authority.contains('%') {
            return Err(UrlRefused::Malformed);
        }
        match url.host() {
            None => return Err(UrlRefused::Malformed),
            Some(Host::Domain(name)) => check_name(name, reach)?,
            Some(Host::Ipv4(ip)) if !is_spelled(ip, authority) => {
                return Err(UrlRefused::Malformed);
            }
            Some(Host::Ipv4(ip)) => check_address(IpAddr::V4(ip), reach)?,
            Some(Host::Ipv6(ip)) => check_address(IpAddr::V6(ip), reach)?,
        }
        Ok(EndpointUrl { url })
    }

    /// The host name to look up, or `None` if the host is an IP address.
    pub fn name(&self) -> Option<&str> {
        self.url.domain()
    }

    /// The normalised URL, to which requests go.
    pub fn as_url(&self) -> &Url {
        &self.url
    }
}

impl fmt::Debug for EndpointUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EndpointUrl")
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

/// What `text`, a URL with exactly two slashes after its scheme, has between them and the path.
fn authority_of(text: &str) -> &str {
    let rest = text.split_once("//").map_or("", |(_scheme, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Whether `authority` has `ip` as four decimal numbers, with or without a port.
fn is_spelled(ip: Ipv4Addr, authority: &str) -> bool {
    let host = authority.split_once(':').map_or(authority, |(host, _port)| host);
    host == ip.to_string()
}

fn check_address(ip: IpAddr, reach: Reach) -> Result<(), UrlRefused> {
    if reach.permits(ip) { Ok(()) } else { Err(UrlRefused::ForbiddenAddress) }
}

/// `name` is lower-case ASCII by now: the parser has turned other scripts into `xn--` form.
fn check_name(name: &str, reach: Reach) -> Result<(), UrlRefused> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.len() > NAME_BYTES || !name.split('.').all(is_label) {
        return Err(UrlRefused::Malformed);
    }
    let is_local = name == "localhost" || name.ends_with(".localhost");
    match reach {
        Reach::PublicOnly if is_local => Err(UrlRefused::ForbiddenAddress),
        Reach::PublicOnly | Reach::AnyAddress => Ok(()),
    }
}

/// Letters, digits, hyphens, and underscores, which some real names contain.
fn is_label(label: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !label.is_empty() && label.len() <= LABEL_BYTES && label.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn public(text: &str) -> Result<EndpointUrl, UrlRefused> {
        EndpointUrl::parse(text, Reach::PublicOnly)
    }

    #[test]
    fn ordinary_endpoints_are_accepted() {
        let urls = [
            "https://example.com",
            "http://example.com/hooks?token=1#part",
            "HTTPS://EXAMPLE.COM:8443/Hooks",
            "https://example.com:1/",
            "https://example.com./",
            "https://my_hook.example.com/",
            "https://b\u{fc}cher.example.com/gr\u{fc}\u{df}e",
            "https://8.8.8.8/hooks",
            "https://[2606:4700::1111]:8443/hooks",
            "https://[64:ff9b::8.8.8.8]/",
            "https://localhost.example.com/",
            "https://notlocalhost/",
        ];
        for url in urls {
            assert!(public(url).is_ok(), "{url}: {:?}", public(url));
        }
    }

    #[test]
    fn forbidden_addresses_and_local_names_are_refused() {
        let urls = [
            "http://127.0.0.1/",
            "http://0.0.0.0/",
            "http://100.64.0.1/",
            "http://192.168.1.1/",
            "http://172.16.0.1/",
            "http://198.18.0.1/",
            "http://203.0.113.9/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[::1]/",
            "http://[::]/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[::127.0.0.1]/",
            "http://[64:ff9b::127.0.0.1]/",
            "http://[2002:7f00:1::]/",
            "http://[fe80::1]/",
            "http://[fd00:ec2::254]/",
            "http://[ff02::1]/",
            "http://[2001:db8::1]/",
            "http://localhost/",
            "http://LocalHost:3000/",
            "http://localhost./",
            "http://\u{ff4c}ocalhost/",
            "http://api.localhost/",
            "http://api.localhost./",
        ];
        for url in urls {
            assert_eq!(public(url), Err(UrlRefused::ForbiddenAddress), "{url}");
            assert!(EndpointUrl::parse(url, Reach::AnyAddress).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_url_that_only_parses_by_repair_is_refused() {
        let repaired = [
            // Missing, extra and turned slashes.
            "http:example.com",
            "http:/example.com/",
            "http:/x",
            "http:///x",
            "http:////example.com/",
            "https:\\\\example.com\\",
            "https:/\\example.com/",
            "https://example.com\\hooks",
            "https://example.com/hooks\\new",
            "https://example.com/?next=a\\b",
            "http:127.0.0.1/",
            "http:///127.0.0.1/",
            // Characters that the parser drops.
            "\u{1}https://example.com/",
            "https://exa\tmple.com/",
            "https://example.com/ho\noks",
            "ht\ntps://example.com/",
            // Numbers that become an IPv4 address.
            "http://8.8.8.8./",
            "http://8.8.2056/",
            "http://8.526344/",
            "http://134744072/",
            "http://0x08080808/",
            "http://0x8.0x8.0x8.0x8/",
            "http://010.010.010.010/",
            "http://127.1/",
            "http://0x7f.1/",
            "http://0/",
            "http://017700000001/",
            "http://0xa9fea9fe/latest/meta-data/",
            "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
            "http://127\u{3002}0\u{3002}0\u{3002}1/",
            "http://\u{2460}27.0.0.1/",
            // A host in percent-encoding.
            "http://ex%61mple.com/",
            "http://%31%32%37.0.0.1/",
            "http://127%2e0%2E0%2e1/",
            "http://%6c%6fcalhost/",
        ];
        for url in repaired {
            assert!(Url::parse(url).is_ok(), "the parser repairs {url}");
            assert_eq!(public(url), Err(UrlRefused::Malformed), "{url}");
            let anywhere = EndpointUrl::parse(url, Reach::AnyAddress);
            assert_eq!(anywhere, Err(UrlRefused::Malformed), "{url}");
        }
    }

    #[test]
    fn other_urls_are_refused_with_their_reason() {
        let long_label = format!("https://{}.example.com/", "a".repeat(64));
        let long_name = format!("https://{}example.com/", "abcdefg.".repeat(31));
        let table = [
            ("", UrlRefused::Malformed),
            ("example.com/hooks", UrlRefused::Malformed),
            ("/hooks", UrlRefused::Malformed),
            (" https://example.com/", UrlRefused::Malformed),
            ("https://example.com/ ", UrlRefused::Malformed),
            ("https://exam\tple.com/", UrlRefused::Malformed),
            ("https://example.com/\r\nHost: other", UrlRefused::Malformed),
            ("https://example.com/a\u{a0}b", UrlRefused::Malformed),
            ("https://example.com:99999/", UrlRefused::Malformed),
            ("https://example.com:port/", UrlRefused::Malformed),
            ("ftp://example.com/", UrlRefused::Scheme),
            ("file:///etc/hosts", UrlRefused::Scheme),
            ("gopher://127.0.0.1/", UrlRefused::Scheme),
            ("mailto:someone@example.com", UrlRefused::Scheme),
            ("localhost:3000", UrlRefused::Scheme),
            ("https://user@example.com/", UrlRefused::Credentials),
            ("https://:word@example.com/", UrlRefused::Credentials),
            ("https://@example.com/", UrlRefused::Credentials),
            ("https://:@example.com/", UrlRefused::Credentials),
            ("https://a@b@example.com/", UrlRefused::Credentials),
            ("https://example.com@127.0.0.1/", UrlRefused::Credentials),
            ("https://", UrlRefused::Malformed),
            ("https://:8080/", UrlRefused::Malformed),
            ("https://256.1.1.1/", UrlRefused::Malformed),
            ("https://1.2.3.4.5/", UrlRefused::Malformed),
            ("https://4294967296/", UrlRefused::Malformed),
            ("https://[::1%25eth0]/", UrlRefused::Malformed),
            ("https://[::g]/", UrlRefused::Malformed),
            ("https://exa<mple.com/", UrlRefused::Malformed),
            ("https://exa%00mple.com/", UrlRefused::Malformed),
            ("https://exa!mple.com/", UrlRefused::Malformed),
            ("https://example..com/", UrlRefused::Malformed),
            ("https://example.com../", UrlRefused::Malformed),
            ("https://.example.com/", UrlRefused::Malformed),
            ("https://./", UrlRefused::Malformed),
            (long_label.as_str(), UrlRefused::Malformed),
            (long_name.as_str(), UrlRefused::Malformed),
        ];
        for (url, reason) in table {
            assert_eq!(public(url), Err(reason), "{url}");
            assert_eq!(EndpointUrl::parse(url, Reach::AnyAddress), Err(reason), "{url}");
        }
    }

    #[test]
    fn the_length_is_counted_in_characters_as_written() {
        let base = "https://example.com/";
        let longest = format!("{base}{}", "a".repeat(URL_CHARACTERS - base.len()));
        assert!(public(&longest).is_ok());
        assert_eq!(public(&format!("{longest}a")), Err(UrlRefused::TooLong));
        let accents = "\u{e9}".repeat(URL_CHARACTERS - base.len());
        assert!(public(&format!("{base}{accents}")).is_ok());
    }

    #[test]
    fn debug_shows_no_path_and_no_query() {
        let url = public("https://example.com/hooks/canary?token=canary").unwrap();
        let shown = format!("{url:?}");
        assert!(shown.contains("example.com") && !shown.contains("canary"), "{shown}");
    }

    proptest! {
        #[test]
        fn an_ipv4_address_is_written_as_four_decimal_numbers(ip in any::<u32>()) {
            let address = std::net::Ipv4Addr::from_bits(ip);
            let [a, b, c, d] = address.octets();
            let expected = Reach::PublicOnly.permits(IpAddr::V4(address));
            prop_assert_eq!(public(&format!("http://{address}:80/")).is_ok(), expected);
            let forms = [
                format!("http://{ip}/"),
                format!("http://{ip:#x}/"),
                format!("http://0{ip:o}/"),
                format!("http://{a:#x}.0{b:o}.{c}.{d}/"),
                format!("http://{a}.{b}.{}/", (u32::from(c) << 8) | u32::from(d)),
                format!("http://{a}.{}/", ip & 0x00ff_ffff),
            ];
            for form in forms {
                prop_assert_eq!(public(&form), Err(UrlRefused::Malformed), "{}", form);
            }
        }

        #[test]
        fn no_input_panics(text in "\\PC{0,80}", scheme in "(https?:/{0,3})?") {
            let _ = public(&format!("{scheme}{text}"));
        }
    }
}

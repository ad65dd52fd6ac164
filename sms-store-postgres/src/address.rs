//! The hosts of a `postgres://` address. It may name several, as libpq does:
//! `postgres://user@one:5432,two:5433/sms?target_session_attrs=read-write`.

use sqlx::postgres::PgConnectOptions;

use crate::error::PgError;

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddressRefused {
    /// Nothing stands before, after or between two commas.
    #[error("the address has a comma without a host beside it: write one,two")]
    NoHost,
    /// The sessions that the address asks for cannot write.
    #[error("target_session_attrs must be read-write, primary or any, because every server writes")]
    Sessions,
    /// The driver cannot read the address.
    #[error("{0}")]
    Unreadable(PgError),
}

/// The parameter that says which hosts to use. The driver does not know it.
const SESSIONS: &str = "target_session_attrs";

/// How to connect to each host of an address, in their order.
pub(crate) fn hosts(url: &str) -> Result<Vec<PgConnectOptions>, AddressRefused> {
    let Some((scheme, rest)) = url.split_once("://") else { return Ok(vec![read(url)?]) };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path = without_sessions(path)?;
    // A password may contain a comma, and a host cannot contain an @.
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    let hosts: Vec<&str> = hosts.split(',').collect();
    if hosts.len() > 1 && hosts.iter().any(|host| host.is_empty()) {
        return Err(AddressRefused::NoHost);
    }
    hosts.into_iter().map(|host| read(&format!("{scheme}://{user}{host}{path}"))).collect()
}

fn read(url: &str) -> Result<PgConnectOptions, AddressRefused> {
    url.parse().map_err(|error: sqlx::Error| AddressRefused::Unreadable(error.into()))
}

/// The path and the parameters without the one that the driver does not know.
fn without_sessions(path: &str) -> Result<String, AddressRefused> {
    let Some((path, query)) = path.split_once('?') else { return Ok(path.to_owned()) };
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some((SESSIONS, "read-write" | "primary" | "any")) => {}
            Some((SESSIONS, _)) => return Err(AddressRefused::Sessions),
            _ => kept.push(pair),
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    Ok(format!("{path}{mark}{}", kept.join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_host_or_several() {
        let base = "postgres://me:p,w%40@one:5433,two,[::1]:7/sms";
        for (url, expected) in [
            ("postgres://localhost/sms", vec![("localhost", 5432)]),
            ("postgresql://me@one:7/sms?target_session_attrs=any", vec![("one", 7)]),
            (base, vec![("one", 5433), ("two", 5432), ("[::1]", 7)]),
            (
                &format!("{base}?target_session_attrs=read-write&sslmode=disable"),
                vec![("one", 5433), ("two", 5432), ("[::1]", 7)],
            ),
        ] {
            let options = hosts(url).unwrap();
            let found: Vec<_> =
                options.iter().map(|one| (one.get_host(), one.get_port())).collect();
            let bare = |host: &'static str| host;
            let expected: Vec<_> = expected.into_iter().map(|(h, p)| (bare(h), p)).collect();
            assert_eq!(found, expected, "{url}");
            assert!(options.iter().all(|one| one.get_database() == Some("sms")));
        }
        let options = hosts(base).unwrap();
        assert!(options.iter().all(|one| one.get_username() == "me"));
    }

    #[test]
    fn an_address_that_a_server_cannot_use_is_refused_in_plain_words() {
        for (url, told) in [
            ("postgres://one,/sms", "a comma without a host"),
            ("postgres://one,,two/sms", "a comma without a host"),
            ("postgres://one,two/sms?target_session_attrs=standby", "must be read-write"),
            ("postgres://one:port,two/sms", "invalid port"),
        ] {
            let refused = hosts(url).unwrap_err().to_string();
            assert!(refused.contains(told), "{url}: {refused}");
        }
    }
}

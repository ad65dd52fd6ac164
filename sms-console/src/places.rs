//! All places of the console.

use std::sync::LazyLock;

use poem::http::Method;

use crate::account;
use crate::design;
use crate::operator;
use crate::place::Place;

/// Every place, for a server to mount.
pub fn places() -> Vec<Place> {
    [
        account::campaign::places(),
        account::campaign_draft::places(),
        account::campaign_launch::places(),
        account::campaign_try::places(),
        account::campaigns::places(),
        account::compose::places(),
        account::contact::places(),
        account::contacts::places(),
        account::developers::endpoint::places(),
        account::developers::places(),
        account::home::places(),
        account::import::places(),
        account::inbox::places(),
        account::keywords::places(),
        account::links::places(),
        account::list::places(),
        account::list_people::places(),
        account::lists::places(),
        account::message::places(),
        account::messages::places(),
        account::opt_outs::places(),
        account::senders::places(),
        account::templates::places(),
        design::places(),
        operator::places(),
    ]
    .concat()
}

/// The nearest page at or above a path: what a form sends to is often no page itself.
pub(crate) fn page_at(path: &str) -> &str {
    static PLACES: LazyLock<Vec<Place>> = LazyLock::new(places);
    let is_page = |path: &str| {
        let mut pages = PLACES.iter().filter(|place| *place.method() == Method::GET);
        path == "/console" || pages.any(|place| matches(place.pattern(), path))
    };
    let mut above = path;
    loop {
        if is_page(above) {
            return above;
        }
        match above.rsplit_once('/') {
            Some((parent, _)) if parent.starts_with("/console") => above = parent,
            _ => return "/console",
        }
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut of_pattern, mut of_path) = (pattern.split('/'), path.split('/'));
    loop {
        match (of_pattern.next(), of_path.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == found => {}
            (Some(wanted), Some(found)) if wanted.starts_with('{') && !found.is_empty() => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_form_belongs_to_the_page_above_it() {
        for (path, page) in [
            ("/console", "/console"),
            ("/console/links", "/console/links"),
            ("/console/links/lnk_1/forget", "/console/links"),
            ("/console/none/at/all", "/console"),
            ("/elsewhere", "/console"),
        ] {
            assert_eq!(page_at(path), page);
        }
        assert!(matches("/console/lists/{id}", "/console/lists/lst_1"));
        assert!(!matches("/console/lists/{id}", "/console/lists/"));
    }
}

//! The requests that the receivers of webhooks got, and how each receiver behaves, by host.

use std::collections::BTreeMap;

use super::dice::Dice;

/// How many hosts there are.
const HOSTS: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Healthy,
    Moody,
    Slow,
    Dead,
}

impl Mood {
    fn draw(dice: &mut Dice) -> Self {
        dice.weighted(&[(4, Self::Healthy), (2, Self::Moody), (2, Self::Slow), (1, Self::Dead)])
    }
}

/// The requests that the receivers got, and how each receiver behaves.
#[derive(Debug)]
pub struct Visits {
    /// Every call.
    pub count: u64,
    moods: BTreeMap<String, Mood>,
}

impl Visits {
    /// The hosts' behaviours; the last host is dead.
    pub fn new(dice: &mut Dice) -> Self {
        let mood = |host, dice: &mut Dice| {
            if host + 1 == HOSTS { Mood::Dead } else { Mood::draw(dice) }
        };
        let moods = (0..HOSTS).map(|host| (url(host), mood(host, dice))).collect();
        Self { count: 0, moods }
    }

    pub(super) fn mood(&self, url: &str) -> Mood {
        self.moods.get(url).copied().unwrap_or(Mood::Healthy)
    }
}

/// The address of a host.
fn url(host: usize) -> String {
    format!("https://host-{host}.example.com/hook")
}

/// One of the hosts' addresses, or sometimes one that is refused.
pub fn any_url(dice: &mut Dice) -> String {
    if dice.percent(3) { "http://10.0.0.7/hook".to_owned() } else { url(dice.below(HOSTS)) }
}

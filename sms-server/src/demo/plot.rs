//! What happened in the demo's month, and when. It follows from a seed and the moment at which the
//! month ends, and from nothing else.

use chrono::{Days, NaiveDate, NaiveTime};
use sms_core::random::SplitMix;
use sms_core::time::{Timestamp, london};

use super::script::{ANSWERS, Group, Line, ORDERS, ROLES, TALKS};

/// How many days the history goes back.
pub(super) const DAYS: u32 = 30;

/// Something that happened. People are named by their place in [`ROLES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// The account sends a message to one of them.
    Out(usize, &'static str),
    /// One of them sends the account a message.
    In(usize, &'static str),
    /// The account reminds these guests of their tables.
    Remind(Vec<usize>),
    /// The account reads what these sent.
    Read(Vec<usize>),
    /// The account tops up.
    TopUp(u32),
    /// The account sends its campaign of this place.
    Campaign(usize),
    /// The account plans what it will send in the days to come.
    Plan,
    /// A guest follows the link of that campaign: one of so many, chosen by this number.
    Click(usize, u64),
    /// A number that nobody knows sends a message to the shared number.
    Stranger(u16, &'static str),
    /// A guest opts out by telephone.
    OptOut(usize),
}

/// Everything that happened before `end`, in its order.
pub(super) fn plot(seed: u64, end: Timestamp) -> Vec<(Timestamp, Event)> {
    let mut plot =
        Plot { dice: SplitMix::new(seed), today: london::shown(end).date(), found: Vec::new() };
    for days_ago in (0..DAYS).rev() {
        plot.day(days_ago);
    }
    plot.talks();
    plot.campaigns();
    plot.others();
    let Plot { mut found, .. } = plot;
    found.retain(|(at, _)| *at < end);
    // Those of one moment keep their order.
    found.sort_by_key(|(at, _)| *at);
    found
}

/// When the demo's month begins.
pub(super) fn beginning(end: Timestamp) -> Timestamp {
    moment(london::shown(end).date(), DAYS, 0, 0)
}

/// The place of a role.
pub(super) fn place_of(name: &str) -> usize {
    ROLES.iter().position(|role| role.name == name).unwrap_or_default()
}

/// A moment so many days before a day.
pub(super) fn moment(today: NaiveDate, days_ago: u32, minute: u32, second: u32) -> Timestamp {
    let day = today.checked_sub_days(Days::new(days_ago.into())).unwrap_or(today);
    let time = NaiveTime::from_hms_opt(minute / 60 % 24, minute % 60, second % 60);
    london::moment(day.and_time(time.unwrap_or(NaiveTime::MIN)))
}

/// Whether many guests came on a day: on three of seven, counted from the end of the month. By days
/// of the week the demo would be another one on each day, with fewer failures on some.
fn is_busy(days_ago: u32) -> bool {
    matches!(days_ago % 7, 2..=4)
}

struct Plot {
    dice: SplitMix,
    today: NaiveDate,
    found: Vec<(Timestamp, Event)>,
}

impl Plot {
    fn add(&mut self, days_ago: u32, minute: u32, event: Event) {
        let second = self.below(60);
        self.found.push((moment(self.today, days_ago, minute, second), event));
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.dice.below(bound.into())).unwrap_or_default()
    }

    /// Reminders with answers, and an order.
    fn day(&mut self, days_ago: u32) {
        let regulars: Vec<usize> =
            (0..ROLES.len()).filter(|place| ROLES[*place].group == Group::Regulars).collect();
        let busy = if is_busy(days_ago) { 14 } else { 8 };
        let first = self.below(u32::try_from(regulars.len()).unwrap_or(1)) as usize;
        let guests = busy + self.below(5) as usize;
        let guests: Vec<usize> =
            regulars.iter().cycle().skip(first).take(guests).copied().collect();
        let at = 10 * 60 + self.below(15);
        self.add(days_ago, at, Event::Remind(guests.clone()));
        let mut answered = Vec::new();
        for guest in guests {
            if self.below(10) < 3 {
                let answer = ANSWERS[self.below(6) as usize];
                let later = 2 + self.below(170);
                self.add(days_ago, at + later, Event::In(guest, answer));
                answered.push(guest);
            }
        }
        // Those of yesterday and today are not read yet.
        if days_ago > 1 {
            self.add(days_ago, 13 * 60 + 30, Event::Read(answered));
        }
        let (supplier, order) = ORDERS[self.below(6) as usize];
        let at = 16 * 60 + self.below(50);
        self.add(days_ago, at, Event::Out(place_of(supplier), order));
        self.add(days_ago, at + 12, Event::In(place_of(supplier), "Thanks, on its way tomorrow"));
        self.add(days_ago, at + 20, Event::Read(vec![place_of(supplier)]));
    }

    fn talks(&mut self) {
        for talk in &TALKS {
            let person = place_of(talk.with);
            let mut minute = talk.minute;
            let mut is_answered = false;
            for line in talk.lines {
                let event = match *line {
                    Line::In(body) => Event::In(person, body),
                    Line::Out(body) => Event::Out(person, body),
                };
                is_answered |= matches!(event, Event::Out(..));
                self.add(talk.days_ago, minute, event);
                minute += 2 + self.below(14);
            }
            if is_answered {
                self.add(talk.days_ago, minute, Event::Read(vec![person]));
            }
        }
    }

    fn campaigns(&mut self) {
        for (campaign, days_ago, clicks) in [(0, 19, 9), (1, 8, 17)] {
            self.add(days_ago, 10 * 60 + 45, Event::Campaign(campaign));
            for _ in 0..clicks {
                let which = self.dice.next_u64();
                // Most follow the link within hours, some on the next day.
                let later = if self.below(4) == 0 { 24 * 60 } else { 0 } + self.below(500);
                let (days, minute) = (later / (24 * 60), 10 * 60 + 48 + later % (24 * 60));
                self.add(days_ago - days, minute.min(1_439), Event::Click(campaign, which));
            }
        }
        self.add(19, 11 * 60 + 3, Event::In(place_of("Letting agent"), "STOP"));
        self.add(8, 10 * 60 + 59, Event::In(place_of("Bank branch"), "Stop please"));
        self.add(8, 12 * 60 + 20, Event::In(place_of("Choir"), "MENU"));
        self.add(7, 18 * 60 + 2, Event::In(place_of("Cycling club"), "menu?"));
    }

    fn others(&mut self) {
        self.add(21, 9 * 60 + 5, Event::TopUp(400));
        self.add(10, 9 * 60 + 30, Event::TopUp(400));
        self.add(3, 11 * 60 + 35, Event::Plan);
        self.add(12, 14 * 60 + 22, Event::OptOut(place_of("Concierge")));
        self.add(13, 20 * 60 + 14, Event::Stranger(171, "Is this the number for the flat?"));
        self.add(3, 15 * 60 + 41, Event::Stranger(172, "Hi, do you still have a table tonight?"));
        // An order that never arrives, and one that never leaves.
        self.add(
            6,
            9 * 60 + 12,
            Event::Out(place_of("Fax line"), "Price list received, thank you"),
        );
        self.add(5, 17 * 60 + 10, Event::Out(place_of("Regular, abroad"), "Your table is kept."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21T07:07:10.123Z
    const END: i64 = 1_795_244_830_123;

    #[test]
    fn the_month_follows_from_its_seed_and_its_end() {
        let end = Timestamp::from_millis(END);
        let month = plot(7, end);
        assert_eq!(month, plot(7, end));
        assert_ne!(month, plot(8, end));
        assert!(month.is_sorted_by_key(|(at, _)| *at));
        let (first, last) = (month[0].0, month[month.len() - 1].0);
        assert!(first >= beginning(end) && last < end);
        assert!(last.since(first).as_secs() > 28 * 86_400, "a month");
    }

    #[test]
    fn the_month_is_the_same_on_whatever_day_it_ends() {
        let month = |day: NaiveDate| {
            let shown = |(at, event)| {
                let at = london::shown(at);
                ((day - at.date()).num_days(), at.time(), event)
            };
            let noon = moment(day, 0, 12 * 60, 0);
            plot(7, noon).into_iter().map(shown).collect::<Vec<_>>()
        };
        // A leap year, with every day of the week and both changes of the clocks.
        let first = NaiveDate::from_ymd_opt(2028, 1, 1).unwrap();
        let expected = month(first);
        for day in first.iter_days().take(366) {
            assert_eq!(month(day), expected, "{day}");
        }
    }

    #[test]
    fn every_hour_of_the_month_can_end_it() {
        for hour in 0..24 {
            let month = plot(7, Timestamp::from_millis(END + hour * 3_600_000));
            assert!(month.len() > 300, "{}", month.len());
        }
    }

    #[test]
    fn whoever_talks_is_in_the_address_book() {
        for name in TALKS.iter().map(|talk| talk.with).chain(ORDERS.map(|(name, _)| name)) {
            assert!(ROLES.iter().any(|role| role.name == name), "{name}");
        }
        let mut numbers: Vec<u16> = ROLES.iter().map(|role| role.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), ROLES.len(), "each has a number of its own");
    }
}

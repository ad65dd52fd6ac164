//! How numbers, times and amounts are written for people.

use std::time::Duration;

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};
use maud::{Markup, html};
use sms_core::originator::Originator;
use sms_core::phone::E164;
use sms_core::time::{Timestamp, london};

/// A number as people write it: +447700900123 is 07700 900123. Other texts stay as they are.
pub fn phone(number: &str) -> String {
    let national = number
        .strip_prefix("+44")
        .filter(|rest| rest.len() == 10 && rest.bytes().all(|digit| digit.is_ascii_digit()));
    let Some(national) = national else { return number.to_owned() };
    if national.starts_with('2') {
        // London, Cardiff and the like have short area codes: 020 7946 0000.
        format!("0{} {} {}", &national[..2], &national[2..6], &national[6..])
    } else {
        format!("0{} {}", &national[..4], &national[4..])
    }
}

/// A number as people write it.
pub fn number(number: E164) -> String {
    phone(&number.to_string())
}

/// A number as people write it, or a short code or a name as it came.
pub fn party(party: &Originator) -> String {
    party.name().map_or_else(|| number(party.number()), str::to_owned)
}

/// A count with commas: 1,234,567.
pub fn whole(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: 1 message, 2 messages.
pub fn counted(count: u64, noun: &str) -> String {
    counted_as(count, noun, &format!("{noun}s"))
}

/// A count with its noun, whose plural is irregular: 1 person, 2 people.
pub fn counted_as(count: u64, noun: &str, plural: &str) -> String {
    format!("{} {}", whole(count), if count == 1 { noun } else { plural })
}

/// An amount: 1 credit, 2 credits.
pub fn credits(count: impl Into<u64>) -> String {
    counted(count.into(), "credit")
}

/// A length of time in whole hours: 24 hours.
pub(crate) fn in_hours(time: Duration) -> String {
    counted(time.as_secs() / 3_600, "hour")
}

/// A length of time in whole days: 30 days.
pub(crate) fn in_days(time: Duration) -> String {
    counted(time.as_secs() / 86_400, "day")
}

/// A word of the API for people: `given_up` is "Given up".
pub fn worded(word: &str) -> String {
    let text = word.replace('_', " ");
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// The whole date and time in words.
pub fn full_time(at: Timestamp) -> String {
    let local = london::shown(at);
    format!("{}, London time", local.format("%A %-d %B %Y at %H:%M:%S"))
}

/// A moment in London time, with the whole date on hover.
pub fn time(at: Timestamp) -> Markup {
    stamped(at, &london::shown(at).format("%-d %b %Y, %H:%M").to_string())
}

/// A moment in London time; `otherwise` if there is none.
pub fn time_or(at: Option<Timestamp>, otherwise: &str) -> Markup {
    at.map_or_else(|| html! { span.faint { (otherwise) } }, time)
}

/// A moment briefly, as seen at `now`: the time today, the day before that, with the whole date on
/// hover.
pub fn time_near(at: Timestamp, now: Timestamp) -> Markup {
    let (local, today) = (london::shown(at), london::shown(now).date());
    let text = if local.date() == today {
        local.format("%H:%M").to_string()
    } else if Some(local.date()) == today.pred_opt() {
        format!("Yesterday {}", local.format("%H:%M"))
    } else if local.year() == today.year() {
        local.format("%-d %b, %H:%M").to_string()
    } else {
        local.format("%-d %b %Y, %H:%M").to_string()
    };
    stamped(at, &text)
}

/// The time of day, with the whole date on hover.
pub fn clock(at: Timestamp) -> Markup {
    stamped(at, &london::shown(at).format("%H:%M").to_string())
}

fn stamped(at: Timestamp, text: &str) -> Markup {
    html! { time datetime=(at) title=(full_time(at)) { (text) } }
}

/// A day in words, as seen at `now`: Today, Yesterday, Monday 23 November.
pub fn day_in_words(at: Timestamp, now: Timestamp) -> String {
    let (day, today) = (london::shown(at).date(), london::shown(now).date());
    if day == today {
        "Today".to_owned()
    } else if Some(day) == today.pred_opt() {
        "Yesterday".to_owned()
    } else if day.year() == today.year() {
        day.format("%A %-d %B").to_string()
    } else {
        day.format("%A %-d %B %Y").to_string()
    }
}

/// A moment to come in words: 08:00 tomorrow.
pub fn coming_time(at: Timestamp, now: Timestamp) -> String {
    let (local, today) = (london::shown(at), london::shown(now).date());
    let clock = local.format("%H:%M");
    if local.date() == today {
        format!("{clock} today")
    } else if Some(local.date()) == today.succ_opt() {
        format!("{clock} tomorrow")
    } else {
        format!("{clock} on {}", local.format("%A %-d %B"))
    }
}

/// The day briefly: 23 Nov.
pub fn short_day(day: NaiveDate) -> String {
    day.format("%-d %b").to_string()
}

/// What clocks in London show, as a field for date and time wants it.
pub fn to_field(at: Timestamp) -> String {
    let local = london::shown(at);
    let minute = local.with_second(0).and_then(|it| it.with_nanosecond(0)).unwrap_or(local);
    minute.format("%Y-%m-%dT%H:%M").to_string()
}

/// The moment at which clocks in London show what a field for date and time sent; `None` if it is
/// no time.
pub fn from_field(local: &str) -> Option<Timestamp> {
    let read = |form| NaiveDateTime::parse_from_str(local, form).ok();
    let read = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"].into_iter().find_map(read);
    read.map(london::moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        for (number, written) in [
            ("+447700900123", "07700 900123"),
            ("+442079460000", "020 7946 0000"),
            ("+33123456789", "+33123456789"),
            ("+4477009001234", "+4477009001234"),
            ("Cafe", "Cafe"),
        ] {
            assert_eq!(phone(number), written);
        }
        for (count, written) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(whole(count), written);
        }
        assert_eq!(counted(1, "message"), "1 message");
        assert_eq!(counted(2_000, "message"), "2,000 messages");
        assert_eq!(counted_as(2, "person", "people"), "2 people");
        assert_eq!(in_hours(Duration::from_hours(24)), "24 hours");
        assert_eq!(in_days(Duration::from_hours(24)), "1 day");
        assert_eq!(worded("given_up"), "Given up");
    }

    #[test]
    fn times_are_those_of_london_with_the_whole_date_on_hover() {
        let now = at("2026-11-23T09:00:00Z");
        for (moment, near) in [
            ("2026-11-23T08:05:00Z", ">08:05<"),
            ("2026-11-22T08:05:00Z", ">Yesterday 08:05<"),
            ("2026-06-01T08:05:00Z", ">1 Jun, 09:05<"),
            ("2025-12-31T08:05:00Z", ">31 Dec 2025, 08:05<"),
        ] {
            let shown = time_near(at(moment), now).into_string();
            assert!(shown.contains(near), "{shown}");
        }
        let summer = time(at("2026-06-01T08:05:00Z")).into_string();
        assert!(summer.contains("title=\"Monday 1 June 2026 at 09:05:00, London time\""));
        assert!(summer.contains("datetime=\"2026-06-01T08:05:00.000Z\""), "{summer}");
        assert_eq!(coming_time(at("2026-11-24T08:00:00Z"), now), "08:00 tomorrow");
        assert_eq!(coming_time(at("2026-11-25T08:00:00Z"), now), "08:00 on Wednesday 25 November");
        assert_eq!(day_in_words(at("2026-11-20T08:00:00Z"), now), "Friday 20 November");
    }

    #[test]
    fn a_field_for_date_and_time_goes_by_the_clocks_of_london() {
        let summer = from_field("2026-07-01T08:00").unwrap();
        assert_eq!(summer, at("2026-07-01T07:00:00Z"));
        assert_eq!(to_field(summer), "2026-07-01T08:00");
        assert_eq!(from_field("2026-13-01T08:00"), None);
        assert_eq!(from_field(""), None);
    }
}

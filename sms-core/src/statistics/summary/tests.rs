use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn period(from: &str, to: &str) -> Period {
    Period { from: at(from), to: at(to) }
}

fn by_days(days: u16) -> SummaryRequest {
    SummaryRequest { days: Some(days), ..SummaryRequest::default() }
}

fn between(from: &str, to: &str) -> SummaryRequest {
    SummaryRequest { from: Some(at(from)), to: Some(at(to)), days: None }
}

/// Field and code of every error.
fn mistakes(request: SummaryRequest, now: &str) -> Vec<(String, &'static str)> {
    let errors = request.window(at(now)).unwrap_err();
    errors.into_iter().map(|error| (error.field, error.code)).collect()
}

#[test]
fn a_summary_by_days_ends_with_today_in_london() {
    let window = by_days(7).window(at("2026-11-21T07:07:10.123Z")).unwrap();
    assert_eq!(window.current, period("2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"));
    assert_eq!(window.previous, period("2026-11-08T00:00:00Z", "2026-11-15T00:00:00Z"));
    // In summer, 23:30 in UTC is the next day in London.
    let window = by_days(1).window(at("2026-06-01T23:30:00Z")).unwrap();
    assert_eq!(window.current, period("2026-06-01T23:00:00Z", "2026-06-02T23:00:00Z"));
    assert_eq!(window.previous, period("2026-05-31T23:00:00Z", "2026-06-01T23:00:00Z"));
    let usual = SummaryRequest::default().window(at("2026-11-21T07:07:10Z")).unwrap();
    assert_eq!(Ok(usual), by_days(30).window(at("2026-11-21T07:07:10Z")));
}

#[test]
fn the_period_before_has_as_many_days_even_when_the_clocks_change() {
    // The clocks go back on 25 October 2026: that day has 25 hours.
    let window = by_days(1).window(at("2026-10-25T12:00:00Z")).unwrap();
    assert_eq!(window.current, period("2026-10-24T23:00:00Z", "2026-10-26T00:00:00Z"));
    assert_eq!(window.previous, period("2026-10-23T23:00:00Z", "2026-10-24T23:00:00Z"));
    let window = by_days(2).window(at("2026-03-30T12:00:00Z")).unwrap();
    assert_eq!(window.current, period("2026-03-29T00:00:00Z", "2026-03-30T23:00:00Z"));
    assert_eq!(window.previous, period("2026-03-27T00:00:00Z", "2026-03-29T00:00:00Z"));
}

#[test]
fn moments_take_precedence_over_days_and_the_period_before_has_the_same_length() {
    let request = SummaryRequest {
        days: Some(3),
        ..between("2026-11-20T10:00:00.001Z", "2026-11-20T12:00:00.002Z")
    };
    let window = request.window(at("2026-11-21T07:00:00Z")).unwrap();
    let current = period("2026-11-20T10:00:00.001Z", "2026-11-20T12:00:00.002Z");
    let previous = period("2026-11-20T08:00:00Z", "2026-11-20T10:00:00.001Z");
    assert_eq!(window, Window { current, previous });
}

#[test]
fn a_missing_start_or_end_follows_from_days_in_london() {
    let now = at("2026-11-21T07:00:00Z");
    let from = SummaryRequest { from: Some(at("2026-11-20T10:00:00Z")), ..by_days(9) };
    let expected = period("2026-11-20T10:00:00Z", "2026-11-22T00:00:00Z");
    assert_eq!(from.window(now).unwrap().current, expected);
    let to = |text| SummaryRequest { to: Some(at(text)), ..by_days(2) }.window(now).unwrap();
    let expected = period("2026-11-09T00:00:00Z", "2026-11-10T10:00:00Z");
    assert_eq!(to("2026-11-10T10:00:00Z").current, expected);
    assert_eq!(to("2026-11-10T10:00:00Z").previous.from, at("2026-11-07T14:00:00Z"));
    let expected = period("2026-11-08T00:00:00Z", "2026-11-10T00:00:00Z");
    assert_eq!(to("2026-11-10T00:00:00Z").current, expected);
}

#[test]
fn an_empty_period_counts_nothing_and_one_that_ends_before_it_starts_is_refused() {
    let now = "2026-11-21T07:00:00Z";
    let empty = between(now, now).window(at(now)).unwrap();
    assert_eq!((empty.current, empty.previous), (period(now, now), period(now, now)));
    let wrong = between("2026-11-21T07:00:00.001Z", now);
    assert_eq!(mistakes(wrong, now), [("from".to_owned(), "out_of_range")]);
    let both = SummaryRequest { days: Some(0), ..wrong };
    let field = |name: &str| (name.to_owned(), "out_of_range");
    assert_eq!(mistakes(both, now), [field("from"), field("days")]);
    let later = SummaryRequest { from: Some(at("2026-11-22T00:00:00.001Z")), ..by_days(1) };
    assert_eq!(mistakes(later, now), [("from".to_owned(), "out_of_range")]);
}

#[test]
fn a_summary_has_1_to_366_days() {
    let now = "2026-11-21T07:00:00Z";
    for days in [1, 366] {
        assert!(by_days(days).window(at(now)).is_ok());
        assert_eq!(days_until(Some(days), at(now)).unwrap().len(), usize::from(days));
    }
    for days in [0, 367, u16::MAX] {
        assert_eq!(mistakes(by_days(days), now), [("days".to_owned(), "out_of_range")]);
        assert_eq!(days_until(Some(days), at(now)).unwrap_err().field, "days");
    }
    assert_eq!(days_until(None, at(now)).unwrap().len(), 30);
}

#[test]
fn the_days_of_a_timeseries_are_consecutive_and_end_today() {
    let days = days_until(Some(366), at("2026-11-21T23:59:59.999Z")).unwrap();
    assert_eq!(days[0].0.to_string(), "2025-11-21");
    assert_eq!(days[365].0.to_string(), "2026-11-21");
    assert_eq!(days[365].1.to, at("2026-11-22T00:00:00Z"));
    for pair in days.windows(2) {
        assert_eq!(pair[0].0.succ_opt(), Some(pair[1].0));
        assert_eq!(pair[0].1.to, pair[1].1.from);
    }
}

#[test]
fn the_earliest_and_latest_moments_make_a_window() {
    for (from, to) in [
        ("0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
    ] {
        let window = between(from, to).window(at("2026-11-21T07:00:00Z")).unwrap();
        assert_eq!(window.current, period(from, to));
    }
    let first = SummaryRequest { to: Some(at("0000-01-01T00:00:00Z")), ..by_days(366) };
    assert!(first.window(at("2026-11-21T07:00:00Z")).is_ok());
}

#[test]
fn a_change_is_in_percent_with_one_decimal_and_none_if_there_was_nothing_before() {
    for (before, now, tenths) in [
        (0, 0, None),
        (0, 5, None),
        (8, 9, Some(125)),
        (9, 8, Some(-111)),
        (3, 1, Some(-667)),
        (5, 5, Some(0)),
        (5, 0, Some(-1_000)),
        (1, 100, Some(99_000)),
        // Half a tenth is rounded away from zero.
        (2_000, 2_001, Some(1)),
        (2_000, 1_999, Some(-1)),
        (2_001, 2_002, Some(0)),
        (-4, 4, Some(2_000)),
        (-4, -8, Some(-1_000)),
        (1, i64::MAX, Some(i64::MAX)),
        (1, i64::MIN, Some(i64::MIN)),
    ] {
        assert_eq!(Change::between(before, now).map(Change::tenths), tenths, "{before} {now}");
    }
}

#[test]
fn each_count_is_compared_with_the_same_count_of_the_period_before() {
    let counts = |sent| {
        let mut counts = Counts::default();
        counts.add(Counted::Sent, sent);
        counts
    };
    let period = period("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z");
    let summary = Summary { period, counts: counts(9), previous: counts(8) };
    assert_eq!(summary.change(Counted::Sent).map(Change::tenths), Some(125));
    assert_eq!(summary.change(Counted::Failed), None);
}

use super::*;
use crate::samples::{now, seconds};

const RUN: &str = "run 1";

fn id(number: u128) -> MessageId {
    MessageId::from_u128(number)
}

/// Every kind of entry and outcome.
fn entries() -> Vec<Entry> {
    let detail = || "refused by the network: \"0x0b\"\n".to_owned();
    let error = ErrorCode::UnknownSubscriber;
    let part = |id: &str| NetworkId::new(RouteName::new("main"), id);
    let results = [
        HandOver::Taken { simulated: Vec::new() },
        HandOver::Submitted { parts: vec![part("a"), part("\u{7f} [\"x\", 1]\n")] },
        HandOver::Refused { error, detail: None },
        HandOver::Refused { error, detail: Some(detail()) },
        HandOver::TryLater { detail: detail() },
        HandOver::Unanswered { detail: detail() },
        HandOver::Abandoned { error, detail: detail() },
    ];
    let numbers = 1..=u128::try_from(results.len()).unwrap();
    let messages: Vec<_> = numbers.map(id).collect();
    let lease = LeaseToken(u128::MAX - 7);
    let mut entries = vec![
        Entry::Claimed { lease, at: now(), messages: messages.clone() },
        Entry::Submitting { messages: vec![id(1)], unanswered: IfUnanswered::Again },
        Entry::Submitting { messages: vec![id(2), id(3)], unanswered: IfUnanswered::Undelivered },
    ];
    for (message, result) in messages.into_iter().zip(results) {
        entries.push(Entry::Answered { message, result, at: seconds(1) });
    }
    entries.push(Entry::Settled { messages: vec![id(2)] });
    entries
}

fn text_of(entries: &[Entry]) -> String {
    std::iter::once(head(RUN)).chain(entries.iter().map(line)).collect()
}

#[test]
fn every_entry_reads_as_it_was_written() {
    for written in entries() {
        let line = line(&written);
        assert_eq!(line.matches('\n').count(), 1, "one line: {line}");
        assert_eq!(entry(line.as_bytes()), Some(written));
    }
}

/// The text up to each octet, as a kill may leave it.
#[test]
fn a_journal_that_is_cut_off_anywhere_says_what_its_whole_lines_say() {
    let entries = entries();
    let text = text_of(&entries);
    let head = head(RUN).len();
    for length in head..=text.len() {
        let octets = &text.as_bytes()[..length];
        let lines = String::from_utf8_lossy(&octets[head..]).matches('\n').count();
        let mut expected = Unsettled::default();
        for entry in &entries[..lines] {
            let _ = expected.apply(entry.clone());
        }
        let (read, completeness) = read(octets, RUN);
        assert_eq!(read.left_over(), expected.left_over(), "{length}");
        assert_eq!(completeness, Completeness::Whole, "{length}");
    }
}

#[test]
fn a_journal_with_a_damaged_octet_is_in_doubt() {
    let text = text_of(&entries());
    let (whole, _) = read(text.as_bytes(), RUN);
    assert!(!whole.is_empty());
    // Not the last line: with its end damaged it looks cut off.
    let last = text.trim_end().rfind('\n').unwrap();
    for place in 0..last {
        let mut octets = text.clone().into_bytes();
        octets[place] ^= 0x20;
        assert_eq!(read(&octets, RUN).1, Completeness::Doubtful, "{place}");
    }
}

#[test]
fn a_journal_of_another_run_of_the_machine_is_in_doubt() {
    let text = text_of(&entries());
    assert_eq!(read(text.as_bytes(), "run 2").1, Completeness::Doubtful);
    assert_eq!(read(b"", RUN).1, Completeness::Whole, "a new one");
}

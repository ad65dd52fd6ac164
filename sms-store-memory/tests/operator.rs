//! What the operator writes keeps its limits, whichever program calls: the API and the console do.

use std::sync::Arc;

use futures_executor::block_on;
use sms_core::account::AccountChange;
use sms_core::account::settings::{Settings, SettingsChange};
use sms_core::credits::Change;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::service::operator::NewAccountInput;
use sms_store_memory::MemoryStore;

/// The fields that an answer complains about, each with its code.
fn complaints<T>(answer: Result<T, Error>) -> Vec<(String, &'static str)> {
    match answer {
        Err(Error::Invalid(fields)) => fields.into_iter().map(|it| (it.field, it.code)).collect(),
        Err(error) => panic!("{error}"),
        Ok(_) => Vec::new(),
    }
}

#[test]
fn what_the_operator_writes_has_a_length_that_every_store_keeps() {
    let sms = Sms::builder(Arc::new(MemoryStore::new())).build();
    let operator = sms.operator();
    let input = NewAccountInput::active("Bistro", 10);
    let id = block_on(operator.account_create(input.clone())).unwrap().id;
    let lines = [("", "too_short"), (&"x".repeat(161), "too_long"), ("\0", "invalid_character")];
    for (line, code) in lines {
        let expected = vec![("settings.opt_out_line".to_owned(), code)];
        let settings = SettingsChange::default().opt_out_line(line);
        let change = AccountChange::default().settings(settings);
        assert_eq!(complaints(block_on(operator.account_update(id, change))), expected);
        let settings = Settings { opt_out_line: line.to_owned(), ..Settings::default() };
        let new = input.clone().settings(settings);
        assert_eq!(complaints(block_on(operator.account_create(new))), expected);
    }
    for (note, code) in [("x".repeat(501), "too_long"), ("\0".to_owned(), "invalid_character")] {
        let amount = Change::new(5).unwrap();
        let answer = block_on(operator.credits_adjust(id, amount, Some(note)));
        assert_eq!(complaints(answer), [("note".to_owned(), code)]);
    }
    let (from, to): (E164, E164) =
        ("+447700900123".parse().unwrap(), "+447700900001".parse().unwrap());
    for (body, code) in [("x".repeat(39_016), "too_long"), ("\0".to_owned(), "invalid_character")] {
        let answer = block_on(operator.inbound(from, to, body));
        assert_eq!(complaints(answer), [("body".to_owned(), code)]);
    }
    assert_eq!(block_on(operator.account_get(id)).unwrap().balance.get(), 10);
    let longest = "x".repeat(160);
    let settings = SettingsChange::default().opt_out_line(longest);
    let change = AccountChange::default().settings(settings);
    assert_eq!(complaints(block_on(operator.account_update(id, change))), []);
}

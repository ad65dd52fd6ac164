//! All that tests log is watched for what no log may hold, and a test can read what its own thread
//! logged. The tests of `sms-server` use this file, too.

#![allow(dead_code, reason = "each program of tests needs a part")]

use std::cell::RefCell;
use std::io;

use serde_json::Value;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;

/// Where requests have what no log may hold and what has no form to be known by.
const PRIVATE: [&str; 17] = [
    "body",
    "text",
    "reply",
    "note",
    "notes",
    "reason",
    "purpose",
    "first_name",
    "last_name",
    "email",
    "to",
    "from",
    "phone",
    "phone_number",
    "sender",
    "custom",
    "rows",
];

thread_local! {
    static LOG: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Writes to the log of the thread it is on, if somebody is to read it.
///
/// A subscriber of one thread alone would not do: whether a line is wanted at all is decided once
/// for the process, by whichever thread comes to it first.
struct ThreadLog;

impl io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| log.as_mut().map(|log| log.extend_from_slice(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends this program as soon as a number, a message, a key or a secret is logged.
pub(crate) fn watch() {
    sms_test_log::watch_beside(|| {
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| ThreadLog);
        Box::new(layer.with_filter(LevelFilter::TRACE))
    });
}

/// What is logged on this thread while `work` runs.
pub(crate) fn logged(work: impl FnOnce()) -> String {
    watch();
    LOG.set(Some(Vec::new()));
    work();
    String::from_utf8(LOG.take().unwrap_or_default()).unwrap()
}

/// Whatever a request says of people and messages must not be logged from now on.
pub(crate) fn keep_private(request: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<Value>(request) {
        each_private(&request, false);
    }
}

fn each_private(value: &Value, is_private: bool) {
    match value {
        Value::String(text) if is_private => sms_test_log::secret(text),
        Value::Array(values) => values.iter().for_each(|value| each_private(value, is_private)),
        Value::Object(fields) => {
            for (name, value) in fields {
                each_private(value, is_private || PRIVATE.contains(&name.as_str()));
            }
        }
        _ => {}
    }
}

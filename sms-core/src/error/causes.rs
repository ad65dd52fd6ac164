//! An error with its causes, for logs.

use std::error::Error;

/// The error and all of its causes, on one line, for logs. Stores put no customer data into their
/// errors.
pub fn causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // A transparent error has the same text as its cause.
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::causes;
    use crate::Error;
    use crate::store::StoreError;

    #[test]
    fn each_cause_is_named_once() {
        let refused = std::io::Error::other("connection refused");
        let store = StoreError::Unavailable { doing: "asking", source: Some(Box::new(refused)) };
        let alone = store.to_string();
        let line = causes(&Error::Store(store));
        assert_eq!(line, format!("{alone}: connection refused"));
    }
}

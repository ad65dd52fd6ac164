//! Reading a key: typed without echo, or from a pipe. Never from an argument, which every user of
//! the machine can see.

use std::io::{self, IsTerminal as _};

use sms_client::ApiKey;

use crate::failure::Failure;

/// Asks for a key on a terminal, or reads a line of standard input.
pub(crate) fn read_key(prompt: &str) -> Result<ApiKey, Failure> {
    let text = if io::stdin().is_terminal() {
        rpassword::prompt_password(prompt)?
    } else {
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        line
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::Usage("no key was given".to_owned()));
    }
    Ok(ApiKey::from(text))
}

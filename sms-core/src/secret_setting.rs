//! Settings that are secret: each is an environment variable, or the content of a file that another
//! variable names. One rule for all programs; they bring the environment and the files.

use std::env::VarError;
use std::io;

/// A secret cannot be read. No message shows a value, nor the name of a file, which may be a secret
/// in the wrong variable.
#[derive(Debug, thiserror::Error)]
pub enum SecretRefused {
    /// The value is not UTF-8.
    #[error("{0} is not valid UTF-8")]
    NotText(String),
    /// The value is there twice.
    #[error("{0} and {0}_FILE are both set: unset one of them")]
    Twice(String),
    /// The file cannot be read.
    #[error("the file of {variable}_FILE cannot be read: {source}")]
    File {
        /// The variable without `_FILE`.
        variable: String,
        /// The cause, such as a missing file or missing permission.
        source: io::Error,
    },
    /// There is nothing in the file.
    #[error("the file of {0}_FILE is empty")]
    Empty(String),
}

/// Looks up a variable, as [`std::env::var`] does.
pub type Look<'a> = &'a dyn Fn(&str) -> Result<String, VarError>;

/// Reads a file, as [`std::fs::read_to_string`] does.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// The secret of a variable, or of the file that the variable with `_FILE` names; `None` if neither
/// is set. White space around it is no part of it. A variable without anything else is not set.
///
/// # Errors
///
/// If both are set, if the file cannot be read, or if there is nothing in it.
pub fn secret_setting(
    variable: &str,
    look: Look<'_>,
    read_file: ReadFile<'_>,
) -> Result<Option<String>, SecretRefused> {
    let value = text(variable, look)?;
    let file = text(&format!("{variable}_FILE"), look)?;
    let Some(file) = file else { return Ok(value) };
    if value.is_some() {
        return Err(SecretRefused::Twice(variable.to_owned()));
    }
    let content = read_file(&file)
        .map_err(|source| SecretRefused::File { variable: variable.to_owned(), source })?;
    let content = without_space(&content);
    content.map(Some).ok_or_else(|| SecretRefused::Empty(variable.to_owned()))
}

fn text(name: &str, look: Look<'_>) -> Result<Option<String>, SecretRefused> {
    match look(name) {
        Ok(value) => Ok(without_space(&value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(SecretRefused::NotText(name.to_owned())),
    }
}

fn without_space(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_a_variable_or_the_content_of_a_file() {
        let read_file = |name: &str| match name {
            "file" => Ok("\t from a file \r\n".to_owned()),
            "empty" => Ok(" \n".to_owned()),
            _ => Err(io::Error::other("no such file")),
        };
        let twice = "NAME and NAME_FILE are both set: unset one of them";
        let empty = "the file of NAME_FILE is empty";
        let missing = "the file of NAME_FILE cannot be read: no such file";
        for (value, file, expected) in [
            (None, None, Ok(None)),
            (Some(""), Some(" "), Ok(None)),
            (Some(" a value\n"), None, Ok(Some("a value"))),
            (None, Some("file"), Ok(Some("from a file"))),
            (Some(" "), Some(" file "), Ok(Some("from a file"))),
            (Some("value"), Some("file"), Err(twice)),
            (None, Some("empty"), Err(empty)),
            (None, Some("canary"), Err(missing)),
        ] {
            let look = |name: &str| {
                let found = if name == "NAME" { value } else { file };
                found.map(str::to_owned).ok_or(VarError::NotPresent)
            };
            let read = secret_setting("NAME", &look, &read_file).map_err(|it| it.to_string());
            assert_eq!(read.as_ref().map(Option::as_deref).map_err(String::as_str), expected);
        }
        let look = |_: &str| Err(VarError::NotUnicode("x".into()));
        let refused = secret_setting("NAME", &look, &read_file).unwrap_err();
        assert_eq!(refused.to_string(), "NAME is not valid UTF-8");
    }
}

//! The pages that newcomers meet first: the README of the project, those of its crates, and
//! `docs/`. Their fenced blocks, and the commands in them. Tests of several crates include this
//! file.

#![allow(dead_code, reason = "each of them needs a part")]

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A page and its text.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced block of a page.
pub(crate) struct Block {
    /// What stands behind the opening fence.
    pub(crate) language: String,
    pub(crate) text: String,
}

/// A command as a page shows it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) page: PathBuf,
    /// The variables that are set for it.
    pub(crate) settings: Vec<(String, String)>,
    /// The program and its arguments, up to a pipe. Empty if the line only sets variables.
    pub(crate) words: Vec<String>,
}

impl Shown {
    pub(crate) fn line(&self) -> String {
        self.words.join(" ")
    }
}

pub(crate) fn pages() -> Vec<Page> {
    let files = |folder: PathBuf| {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let readmes = files(root()).into_iter().chain([root()]).map(|one| one.join("README.md"));
    let is_page =
        |path: &PathBuf| path.is_file() && path.extension().is_some_and(|end| end == "md");
    let mut found: Vec<PathBuf> =
        readmes.chain(files(root().join("docs"))).filter(is_page).collect();
    found.sort();
    assert!(found.len() > 20, "the pages are found");
    let read = |path: PathBuf| Page { text: fs::read_to_string(&path).unwrap(), path };
    found.into_iter().map(read).collect()
}

impl Page {
    pub(crate) fn is_readme(&self) -> bool {
        self.path.ends_with("README.md")
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut found = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            let Some(language) = line.strip_prefix("```") else { continue };
            let inside = lines.by_ref().take_while(|line| !line.starts_with("```"));
            let text = inside.flat_map(|line| [line, "\n"]).collect();
            found.push(Block { language: language.to_owned(), text });
        }
        found
    }

    /// What its blocks of shell say, and what stands behind a prompt.
    pub(crate) fn commands(&self) -> Vec<Shown> {
        let mut found = Vec::new();
        for Block { language, text } in self.blocks() {
            let text = text.replace("\\\n", " ");
            let lines = text.lines().filter_map(|line| match language.as_str() {
                "sh" => Some(line),
                "text" => line.strip_prefix("$ "),
                _ => None,
            });
            found.extend(lines.filter(|line| !line.is_empty()).map(|line| self.command(line)));
        }
        found
    }

    fn command(&self, line: &str) -> Shown {
        let (mut settings, mut words) = (Vec::new(), Vec::new());
        for word in words_of(line) {
            match word.split_once('=') {
                Some((name, value)) if words.is_empty() && is_variable(name) => {
                    settings.push((name.to_owned(), value.to_owned()));
                }
                _ if words.is_empty() && word == "export" => {}
                _ => words.push(word),
            }
        }
        Shown { page: self.path.clone(), settings, words }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// The words of a line as a shell reads them, up to a comment or a pipe.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quote, mut depth) = (None, 0_u32);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#' | '|') if word.is_none() => break,
            (None, _) if c.is_whitespace() && depth == 0 => words.extend(word.take()),
            (quoted, _) => {
                if quoted.is_none() {
                    depth = match c {
                        '(' => depth + 1,
                        ')' => depth.saturating_sub(1),
                        _ => depth,
                    };
                }
                word.get_or_insert_default().push(c);
            }
        }
    }
    words.extend(word);
    words
}

#[test]
fn a_line_is_read_as_a_shell_reads_it() {
    let words = ["A=$(b c)", "sms", "send", "it's 'x'", "-x"];
    assert_eq!(words_of("A=$(b c) sms send \"it's 'x'\" -x # no | word"), words);
    assert_eq!(words_of("sms tail | jq .data"), ["sms", "tail"]);
}

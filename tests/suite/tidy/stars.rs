//! No statement of the PostgreSQL store answers with all columns of a table.
//!
//! A connection keeps its prepared statements. When a migration adds a column, a statement whose
//! answer has a star gets another answer, and PostgreSQL refuses to run it again. So an older
//! server would fail beside a newer one. A star in a sub-query does no harm, because the columns
//! of the answer are named outside it.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::LitStr;

/// How the text of a statement begins.
const BEGINNINGS: [&str; 6] = ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "DECLARE"];
/// What a star can follow as a list of columns.
const BEFORE: [&str; 5] = ["SELECT", "RETURNING", "DISTINCT", "ALL", ","];

#[test]
fn no_statement_of_the_postgresql_store_answers_with_a_star() {
    let src = super::root().join("sms-store-postgres/src");
    let files: Vec<_> =
        super::rust_files().into_iter().filter(|file| file.starts_with(&src)).collect();
    assert!(files.len() > 50, "the store is found");
    let found: Vec<String> = files.iter().flat_map(|file| stars_in(file)).collect();
    assert!(found.is_empty(), "name the columns: {found:#?}");
}

fn stars_in(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let found = stars(&texts(&text));
    found.into_iter().map(|star| format!("{}: {star}", file.display())).collect()
}

/// The string literals of a source file in order, without attributes and documentation.
fn texts(source: &str) -> Vec<String> {
    let mut texts = Vec::new();
    read(source.parse().unwrap(), &mut texts);
    texts
}

fn read(tokens: TokenStream, texts: &mut Vec<String>) {
    let mut is_attribute = false;
    for token in tokens {
        match token {
            TokenTree::Punct(mark) if matches!(mark.as_char(), '#' | '!') => {
                is_attribute = mark.as_char() == '#' || is_attribute;
                continue;
            }
            TokenTree::Group(group)
                if !(is_attribute && group.delimiter() == Delimiter::Bracket) =>
            {
                read(group.stream(), texts);
            }
            TokenTree::Literal(literal) => {
                let text = syn::parse_str::<LitStr>(&literal.to_string());
                texts.extend(text.map(|text| text.value()));
            }
            _ => {}
        }
        is_attribute = false;
    }
}

/// The stars outside of parentheses that select columns.
fn stars(texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 0_i32;
    for text in texts {
        let text: Vec<&str> =
            text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
        let text = text.join("\n");
        if BEGINNINGS.iter().any(|word| text.trim_start().starts_with(word)) {
            depth = 0;
        }
        for (place, mark) in text.char_indices() {
            match mark {
                '(' => depth += 1,
                ')' => depth -= 1,
                '*' if depth <= 0 && selects(&text[..place], &text[place + 1..]) => {
                    found.push(text.clone());
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether the star between these texts selects columns that a migration may add to.
fn selects(before: &str, after: &str) -> bool {
    // The rows that are bound to a statement have the columns that it says.
    if before.ends_with("new.") || after.trim_start().starts_with("FROM UNNEST(") {
        return false;
    }
    let is_of_table = before
        .strip_suffix('.')
        .is_some_and(|name| name.ends_with(|last: char| last.is_alphanumeric() || last == '_'));
    let before = before.trim_end();
    is_of_table || before.is_empty() || BEFORE.iter().any(|word| before.ends_with(word))
}

#[test]
fn a_star_of_a_table_is_found_and_others_are_not() {
    let cases = [
        (r#"query("SELECT * FROM number WHERE id = $1")"#, 1),
        (r#"query("DELETE FROM number RETURNING *")"#, 1),
        (r#"concat!("SELECT *, ", age!(), " FROM message")"#, 1),
        (r#"query!("SELECT n.* FROM " rows(phone) as want { phone: bigint = one } "")"#, 1),
        (r#"query("WITH old AS (SELECT id FROM number) SELECT * FROM old")"#, 1),
        (r#"query("SELECT id FROM number WHERE a UNION ALL SELECT * FROM number")"#, 1),
        (r#"query("SELECT m.id FROM (SELECT * FROM message LIMIT 1) m")"#, 0),
        (r#"concat!("SELECT ", columns!(), " FROM (SELECT e.*, 1 AS one FROM event e) e")"#, 0),
        (r#"query("SELECT count(*), 2 * max(id) FROM number")"#, 0),
        (r#"query("INSERT INTO number (id) SELECT * FROM UNNEST($1::uuid[])")"#, 0),
        (r#"query("INSERT INTO number (id) SELECT new.* FROM x AS new")"#, 0),
        ("/// `SELECT * FROM number`\nfn documented() {}", 0),
    ];
    for (source, expected) in cases {
        assert_eq!(stars(&texts(source)).len(), expected, "{source}");
    }
}

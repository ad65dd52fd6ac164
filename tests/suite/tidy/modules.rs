//! The files of a crate import each other in one direction only, and the nouns of the core form a
//! line.
//!
//! A cycle of files is one file cut into pieces: none of them can be read, moved or tested without
//! all others. What counts as an import is said at [`imports`]. In the core it counts in both ways:
//! by the file that defines an item, and by the path that a reader follows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::imports::{Imports, imports, imports_by_path};

/// The modules of `sms-core`, each with its folder; a module imports only modules of lower rows.
/// `ARCHITECTURE.md` draws it.
const LINE: &[(&str, &[&str])] = &[
    ("service", &["lib", "for_stores service"]),
    (
        "nouns",
        &[
            "commit route store",
            "error inbound",
            "campaign keyword",
            "sending webhook",
            "dispatch",
            "hand_over",
            "receipt",
            "change link",
            "event",
            "conversation list opt_out session statistics template",
            "account contact message number",
            "credits sender_name version",
            "idempotency upkeep",
        ],
    ),
    (
        "foundations",
        &[
            "originator page text",
            "clock ids lane phone",
            "field_error invisible mode random route_name secret_setting setters store_error \
             time unknown_name",
        ],
    ),
];

#[test]
fn no_files_of_a_crate_import_each_other() {
    let crates = super::crates();
    assert!(crates.len() > 5, "the crates are found");
    let mut found = Vec::new();
    for folder in crates {
        let imports = imports_of(&folder, imports);
        if let Some(files) = cycle(&imports) {
            found.push(format!("{}: {files:?}", folder.display()));
        }
    }
    assert!(found.is_empty(), "these files import each other: {found:#?}");
}

#[test]
fn no_files_of_the_core_import_each_other_by_the_paths_that_they_name() {
    let imports = imports_of(&super::root().join("sms-core"), imports_by_path);
    let found = cycle(&imports);
    assert!(found.is_none(), "sms-core: these files import each other: {found:#?}");
}

#[test]
fn the_modules_of_the_core_form_the_line() {
    let imports = imports_of(&super::root().join("sms-core"), imports_by_path);
    let line: Vec<&str> = rows().collect();
    let found = off_the_line(&imports, &line);
    assert!(found.is_empty(), "sms-core: not in a lower row of the line: {found:#?}");
}

#[test]
fn the_architecture_draws_the_line() {
    let page = fs::read_to_string(super::root().join("ARCHITECTURE.md")).unwrap();
    let section = page.split("### Layers of the core").nth(1).expect("the section is there");
    let drawing = section.split("```").nth(1).expect("the section has a drawing");
    assert_eq!(drawing.trim_start_matches("text\n"), drawn(LINE));
}

/// The rows of the line, the highest first.
fn rows() -> impl Iterator<Item = &'static str> {
    LINE.iter().flat_map(|(_, rows)| *rows).copied()
}

/// The line as a drawing.
fn drawn(line: &[(&str, &[&str])]) -> String {
    let layer = |(name, rows): &(&str, &[&str])| {
        let labels = std::iter::once(*name).chain(std::iter::repeat(""));
        let row = |(label, row): (&str, &&str)| format!("  {label:<13}{row}\n");
        labels.zip(*rows).map(row).collect::<String>()
    };
    line.iter().map(layer).collect::<Vec<_>>().join("     │\n")
}

type Reader = fn(&str, &dyn Fn(&str) -> Option<String>) -> Imports;

fn imports_of(folder: &Path, read: Reader) -> Imports {
    let src = folder.join("src");
    let root = if src.join("lib.rs").is_file() { "lib.rs" } else { "main.rs" };
    read(root, &|file| fs::read_to_string(src.join(file)).ok())
}

/// The files of a cycle, if there is one: each reaches all others.
fn cycle(imports: &Imports) -> Option<Vec<&String>> {
    let reached = |from| {
        let mut reached = Vec::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            for imported in &imports[file] {
                if !reached.contains(&imported) {
                    reached.push(imported);
                    next.push(imported);
                }
            }
        }
        reached
    };
    let start = imports.keys().find(|file| reached(file).contains(file))?;
    let mut cycle = reached(start);
    cycle.retain(|file| reached(file).contains(&start));
    cycle.sort();
    Some(cycle)
}

/// What keeps modules from forming this line, whose rows are given from the highest on.
fn off_the_line(imports: &Imports, line: &[&str]) -> BTreeSet<String> {
    let module = |file: &str| file.split(['/', '.']).next().unwrap_or_default().to_owned();
    let row = |module: &str| line.iter().position(|row| row.split(' ').any(|it| it == module));
    let modules: BTreeSet<String> = imports.keys().map(|file| module(file)).collect();
    let names = line.iter().flat_map(|row| row.split(' '));
    let gone = names.filter(|name| !modules.contains(*name)).map(|name| format!("no {name}"));
    let missing = modules.iter().filter(|module| row(module).is_none());
    let all = imports.iter().flat_map(|(file, of)| of.iter().map(move |imported| (file, imported)));
    let upward = all.filter(|(file, imported)| {
        let (from, to) = (module(file), module(imported));
        from != to && row(&from) >= row(&to)
    });
    gone.chain(missing.map(|module| format!("{module} has no row")))
        .chain(upward.map(|(file, imported)| format!("{file} imports {imported}")))
        .collect()
}

/// What the files of a small crate import.
fn of(files: &[(&str, &str)], read: Reader) -> Imports {
    let source = |wanted: &str| files.iter().find(|(file, _)| *file == wanted);
    read("lib.rs", &|file| source(file).map(|(_, text)| (*text).to_owned()))
}

fn cycle_of(files: &[(&str, &str)]) -> Vec<String> {
    cycle_in(&of(files, imports))
}

fn cycle_by_path(files: &[(&str, &str)]) -> Vec<String> {
    cycle_in(&of(files, imports_by_path))
}

fn cycle_in(imports: &Imports) -> Vec<String> {
    cycle(imports).map(|files| files.into_iter().cloned().collect()).unwrap_or_default()
}

#[test]
fn two_siblings_that_import_each_other_are_a_cycle() {
    let a = ("a.rs", "use crate::b::B; pub struct A(B);");
    for text in [
        "use crate::a::A; pub struct B;",
        "use super::a::{self, A}; pub struct B;",
        "pub struct B(crate::a::A);",
        "use crate::a; pub struct B; fn f() -> a::A { todo!() }",
        "pub struct B; fn f() { use crate::{a::A}; }",
        "pub struct B; fn f() { println!(\"{}\", crate::a::A::NAME) }",
        "use crate::A; pub struct B;",
        "use super::*; use crate::A as Other; pub struct B;",
    ] {
        let lib = ("lib.rs", "mod a; mod b; pub use a::A;");
        assert_eq!(cycle_of(&[lib, a, ("b.rs", text)]), ["a.rs", "b.rs"], "{text}");
    }
    let lib = ("lib.rs", "mod a; mod b;");
    assert!(cycle_of(&[lib, a, ("b.rs", "pub struct B;")]).is_empty());
}

#[test]
fn a_parent_may_show_its_children_but_not_need_them_while_they_need_it() {
    let lib = ("lib.rs", "pub mod noun;");
    let child = ("noun/child.rs", "use super::Noun; pub struct Child(Noun);");
    let shows = ("noun.rs", "mod child; pub use child::Child; pub struct Noun;");
    assert!(cycle_of(&[lib, shows, child]).is_empty());
    for text in [
        "mod child; pub use child::Child; pub struct Noun; fn f(child: Child) {}",
        "mod child; use child::Child; pub struct Noun;",
        "mod child; pub struct Noun; fn f(child: child::Child) {}",
    ] {
        assert_eq!(cycle_of(&[lib, ("noun.rs", text), child]), ["noun.rs", "noun/child.rs"]);
    }
}

#[test]
fn a_cycle_that_passes_through_a_parent_is_seen() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod part; pub use part::Part;"),
        ("a/part.rs", "use crate::b::B; pub struct Part(B);"),
        ("b.rs", "use crate::a::Part; pub struct B(Part);"),
    ];
    assert_eq!(cycle_of(&files), ["a/part.rs", "b.rs"]);
}

#[test]
fn tests_may_import_whatever_they_need() {
    let a = "use crate::b::B; pub struct A(B);";
    let b = "pub struct B; #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] mod samples;";
    let samples = ("b/samples.rs", "use crate::a::A;");
    let files = [("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b), samples];
    assert!(cycle_of(&files).is_empty());
}

#[test]
fn by_path_a_parent_that_shows_a_child_needs_it() {
    let lib = ("lib.rs", "pub mod noun;");
    let child = ("noun/child.rs", "use super::Noun; pub struct Child(Noun);");
    for text in [
        "mod child; pub use child::Child; pub struct Noun;",
        "mod child; pub(crate) use self::child::Child as Other; pub struct Noun;",
        "mod child; pub use child::*; pub struct Noun;",
    ] {
        let files = [lib, ("noun.rs", text), child];
        assert_eq!(cycle_by_path(&files), ["noun.rs", "noun/child.rs"], "{text}");
    }
    for (text, child) in [
        ("pub mod child; pub struct Noun;", "use super::Noun; pub struct Child(Noun);"),
        ("mod child; mod one; pub use one::Noun;", "use super::one::Noun; pub struct Child(Noun);"),
        ("mod child; pub use child::Child;", "pub(in crate::noun) struct Child;"),
    ] {
        let one = ("noun/one.rs", "pub struct Noun;");
        let files = [lib, ("noun.rs", text), ("noun/child.rs", child), one];
        assert!(cycle_by_path(&files).is_empty(), "{text}");
    }
}

#[test]
fn by_path_an_import_is_one_of_the_module_that_it_names() {
    let lib = ("lib.rs", "mod a; mod b;");
    let part = ("a/part.rs", "pub struct Part;");
    let b = ("b.rs", "use crate::a::Part; pub struct B(Part);");
    let a = "mod part; mod other; pub use part::Part;";
    for other in [
        "use crate::b::B;",
        "struct Other(crate::b::B);",
        "use crate::b; struct Other(b::B);",
        "pub use crate::b::B as Other;",
        "use crate::b::B::Variant;",
        "fn f() { use crate::{b::B}; }",
    ] {
        let a = ("a.rs", format!("{a} pub use other::Other;"));
        let files = [lib, (a.0, &a.1), part, ("a/other.rs", other), b];
        assert!(cycle_of(&files).is_empty(), "{other}");
        assert_eq!(cycle_by_path(&files), ["a.rs", "a/other.rs", "b.rs"], "{other}");
        let whole = ("b.rs", "use crate::a::part::Part; pub struct B(Part);");
        let files = [lib, (a.0, &a.1), part, ("a/other.rs", other), whole];
        assert!(cycle_by_path(&files).is_empty(), "{other}");
    }
}

#[test]
fn by_path_a_name_that_is_brought_in_leads_on() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub mod part;"),
        ("a/part.rs", "pub struct Part(crate::b::B);"),
        ("b.rs", "use crate::a; pub struct B(Box<a::part::Part>);"),
    ];
    assert_eq!(cycle_by_path(&files), ["a/part.rs", "b.rs"]);
}

#[test]
fn a_line_holds_nouns_with_their_folders() {
    let line = ["lib", "service", "message", "phone text"];
    let found_in = |message: &str, code: &str| {
        let files = [
            ("lib.rs", "mod phone; mod text; mod message; mod service; pub use service::Sms;"),
            ("phone.rs", "pub struct E164;"),
            ("text.rs", "pub struct Text;"),
            ("message.rs", "mod code; mod body; pub struct Message(body::Body);"),
            ("message/body.rs", message),
            ("message/code.rs", code),
            ("service.rs", "use crate::message::Message; pub struct Sms;"),
        ];
        off_the_line(&of(&files, imports_by_path), &line).into_iter().collect::<Vec<_>>()
    };
    let body = "use crate::phone::E164; pub struct Body;";
    assert!(found_in(body, "use crate::text::Text;").is_empty());
    let up = found_in(body, "pub struct Code(crate::service::Sms);");
    assert_eq!(up, ["message/code.rs imports service.rs"]);
    assert_eq!(found_in("use crate::Sms;", ""), ["message/body.rs imports lib.rs"]);
}

#[test]
fn a_line_names_every_module_once_and_neighbours_do_not_import_each_other() {
    let files = [
        ("lib.rs", "mod phone; mod text;"),
        ("phone.rs", "use crate::text::Text;"),
        ("text.rs", "pub struct Text;"),
    ];
    let found = |line: &[&str]| {
        let found = off_the_line(&of(&files, imports_by_path), line);
        found.into_iter().collect::<Vec<_>>()
    };
    assert!(found(&["lib", "phone", "text"]).is_empty());
    assert_eq!(found(&["lib", "phone text"]), ["phone.rs imports text.rs"]);
    assert_eq!(found(&["lib", "phone", "text", "time"]), ["no time"]);
    assert!(found(&["lib", "phone"]).contains(&"text has no row".to_owned()));
}

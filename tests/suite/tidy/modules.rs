//! The files of a crate import each other in one direction only, and the core has three layers.
//!
//! A cycle of files is one file cut into pieces: none of them can be read, moved or tested without
//! all others. What counts as an import is said at [`imports`].

use std::fs;
use std::path::Path;

use super::imports::{Imports, imports};

/// The lowest layer of `sms-core`: values that know no noun. A name that ends in `/` is a folder.
const FOUNDATIONS: &[&str] = &[
    "clock.rs",
    "credits.rs",
    "field_error.rs",
    "ids.rs",
    "page.rs",
    "phone.rs",
    "phone/",
    "random.rs",
    "setters.rs",
    "store/error.rs",
    "text.rs",
    "text/",
    "time.rs",
    "time/",
    "unknown_name.rs",
];

/// The highest layer of `sms-core`; every file that is in neither list belongs to a noun.
const SERVICE: &[&str] = &["lib.rs", "service.rs", "service/"];

#[test]
fn no_files_of_a_crate_import_each_other() {
    let crates = super::crates();
    assert!(crates.len() > 5, "the crates are found");
    let mut found = Vec::new();
    for folder in crates {
        let imports = imports_of(&folder);
        if let Some(files) = cycle(&imports) {
            found.push(format!("{}: {files:?}", folder.display()));
        }
    }
    assert!(found.is_empty(), "these files import each other: {found:#?}");
}

#[test]
fn no_layer_of_the_core_imports_a_higher_one() {
    let imports = imports_of(&super::root().join("sms-core"));
    let found = upward(&imports);
    assert!(found.is_empty(), "sms-core: a lower layer imports a higher one: {found:?}");
}

fn imports_of(folder: &Path) -> Imports {
    let src = folder.join("src");
    let root = if src.join("lib.rs").is_file() { "lib.rs" } else { "main.rs" };
    imports(root, &|file| fs::read_to_string(src.join(file)).ok())
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

/// Imports that lead from a layer of the core to a higher one.
fn upward(imports: &Imports) -> Vec<(&String, &String)> {
    let is_in = |file: &str, layer: &[&str]| {
        let folder = |entry: &str| entry.ends_with('/') && file.starts_with(entry);
        layer.iter().any(|entry| *entry == file || folder(entry))
    };
    let layer = |file: &str| match file {
        _ if is_in(file, FOUNDATIONS) => 0,
        _ if is_in(file, SERVICE) => 2,
        _ => 1,
    };
    let all = imports.iter().flat_map(|(file, of)| of.iter().map(move |imported| (file, imported)));
    all.filter(|(file, imported)| layer(file) < layer(imported)).collect()
}

/// What the files of a small crate import.
fn of(files: &[(&str, &str)]) -> Imports {
    let source = |wanted: &str| files.iter().find(|(file, _)| *file == wanted);
    imports("lib.rs", &|file| source(file).map(|(_, text)| (*text).to_owned()))
}

fn cycle_of(files: &[(&str, &str)]) -> Vec<String> {
    cycle(&of(files)).map(|files| files.into_iter().cloned().collect()).unwrap_or_default()
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
fn a_foundation_that_imports_a_noun_and_a_noun_that_imports_the_service_are_found() {
    let files = [
        ("lib.rs", "mod phone; mod message; mod service;"),
        ("phone.rs", "use crate::message::Message; pub struct E164;"),
        ("message.rs", "pub struct Message; fn f(sms: crate::service::Sms) {}"),
        ("service.rs", "use crate::phone::E164; pub struct Sms;"),
    ];
    let imports = of(&files);
    let found = upward(&imports);
    let found: Vec<_> = found.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    assert_eq!(found, [("message.rs", "service.rs"), ("phone.rs", "message.rs")]);
}

//! The Rust examples of the READMEs can be pasted: GitHub shows every line of them, and each is a
//! file that compiles as it is shown, with the lines of `Cargo.toml` that stand beside it. Doc
//! tests compile them: each README is the front page of its crate, or is named in
//! `examples/src/lib.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::pages::{Block, Page, pages, root};

/// The README of the project and those of its crates.
fn readmes() -> Vec<Page> {
    let readmes: Vec<Page> = pages().into_iter().filter(Page::is_readme).collect();
    assert!(readmes.len() > 10, "the READMEs are found");
    readmes
}

fn is_rust(block: &Block) -> bool {
    block.language.split(',').next() == Some("rust")
}

/// Crates by the names that programs use, each with its version; none for a crate that is named by
/// a path alone.
fn dependencies(manifest: &str) -> BTreeMap<String, Option<String>> {
    let named = manifest.lines().skip_while(|line| !line.contains("dependencies]"));
    let entries = named.filter_map(|line| line.split_once(" = "));
    entries
        .map(|(name, value)| {
            let (_, from) = value.split_once("version = ").unwrap_or(("", value));
            let version = from.strip_prefix('"').and_then(|rest| rest.split('"').next());
            (name.replace('-', "_"), version.map(str::to_owned))
        })
        .collect()
}

/// Which of these crates a program names. A line about the reader's own store does not count.
fn used<'a>(program: &str, known: impl Iterator<Item = &'a String>) -> BTreeSet<&'a String> {
    let own = |line: &&str| !line.ends_with("// your store");
    let lines: Vec<&str> = program.lines().filter(own).collect();
    let is_named = |name: &&String| {
        let path = format!("{name}::");
        let starts = |(at, _): (usize, &str), line: &str| {
            !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
        };
        lines.iter().any(|line| line.match_indices(&path).any(|found| starts(found, line)))
    };
    known.filter(is_named).collect()
}

#[test]
fn every_rust_example_of_a_readme_is_a_whole_file_as_it_is_shown() {
    let mut examples = 0;
    for page in readmes() {
        let place = page.path.display();
        for block in page.blocks().iter().filter(|one| is_rust(one)) {
            let shown = &block.text;
            // A line that rustdoc hides begins with `# `, which is no Rust.
            if let Err(error) = syn::parse_file(shown) {
                panic!("{place}: {error}:\n{shown}");
            }
            let options: Vec<&str> = block.language.split(',').skip(1).collect();
            assert!(options.iter().all(|option| *option == "no_run"), "{place}: {options:?}");
            examples += 1;
        }
    }
    assert!(examples > 15, "the examples are found");
}

#[test]
fn every_readme_names_the_crates_of_its_examples_with_versions_that_are_tested() {
    let workspace = dependencies(&fs::read_to_string(root().join("Cargo.toml")).unwrap());
    for page in readmes() {
        let place = page.path.display();
        let blocks = page.blocks();
        let manifests = blocks.iter().filter(|block| block.language == "toml");
        let named: BTreeMap<_, _> = manifests.flat_map(|block| dependencies(&block.text)).collect();
        for (name, version) in &named {
            let Some(ours) = workspace.get(name) else { continue };
            let (ours, theirs) = (ours.clone().unwrap_or_default(), version.as_deref());
            let is_tested = theirs.is_none_or(|theirs| ours.starts_with(theirs));
            assert!(is_tested, "{place}: {name} {version:?}, and not {ours}");
        }
        for block in blocks.iter().filter(|one| is_rust(one)) {
            for name in used(&block.text, workspace.keys()) {
                assert!(named.contains_key(name), "{place}: Cargo.toml lacks {name}");
            }
        }
    }
}

#[test]
fn every_readme_with_an_example_is_compiled() {
    let beside = fs::read_to_string(root().join("examples/src/lib.rs")).unwrap();
    for page in readmes() {
        if !page.blocks().iter().any(is_rust) {
            continue;
        }
        let library = page.path.with_file_name("src").join("lib.rs");
        let front = fs::read_to_string(library).unwrap_or_default();
        let is_front_page = front.starts_with("#![doc = include_str!(\"../README.md\")]");
        let is_project = page.path.parent() == Some(root().as_path());
        let is_named = beside.contains("include_str!(\"../../README.md\")");
        assert!(is_front_page || (is_project && is_named), "{}", page.path.display());
    }
}

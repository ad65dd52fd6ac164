//! Rules about the tree itself: documents name files and tests that exist, files stay short, and
//! modules keep to their layers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod imports;
mod modules;
mod stars;

const MOST_LINES: usize = 500;
const MOST_COLUMNS: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folders of all crates.
fn crates() -> Vec<PathBuf> {
    let roots = ["lib.rs", "main.rs"].map(|root| Path::new("src").join(root));
    let folders = rust_files().into_iter().filter_map(|file| {
        let folder = file.parent()?.parent()?;
        roots.iter().any(|root| file.ends_with(root)).then(|| folder.to_owned())
    });
    folders.collect::<BTreeSet<PathBuf>>().into_iter().collect()
}

/// Every Rust file of the workspace.
fn rust_files() -> Vec<PathBuf> {
    let mut folders = vec![root()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 100, "the workspace is found");
    files
}

/// The folders that are packages of the workspace.
fn members() -> Vec<PathBuf> {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, members) = workspace.split_once("members = [").expect("the members are listed");
    let members = members.split(']').next().unwrap();
    members.split('"').skip(1).step_by(2).map(|member| root().join(member)).collect()
}

/// Cargo neither compiles nor runs the tests of a library or a program with `test = false`.
#[test]
fn a_target_that_cargo_does_not_test_has_no_tests() {
    let (sources, mut found) = (rust_files(), 0);
    for folder in members() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let is_target = |part: &&str| part.starts_with("lib]") || part.starts_with("[bin]]");
        let targets = manifest.split("\n[").filter(is_target);
        for target in targets.filter(|part| part.lines().any(|line| line == "test = false")) {
            let path = target.lines().find_map(|line| line.strip_prefix("path = \""));
            let path = folder.join(path.map_or("src/lib.rs", |path| path.trim_end_matches('"')));
            // A program among several is one file.
            let beside = path.parent().filter(|beside| !beside.ends_with("bin"));
            let is_part =
                |file: &&PathBuf| **file == path || beside.is_some_and(|it| file.starts_with(it));
            for file in sources.iter().filter(is_part) {
                let text = fs::read_to_string(file).unwrap();
                assert!(!text.contains("#[cfg(test)]"), "{} is not tested", file.display());
            }
            found += 1;
        }
    }
    assert!(found > 10, "the targets are found: {found}");
}

#[test]
fn every_file_that_architecture_names_exists() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, table) = map.split_once("## Where things live").expect("the table is there");
    let table = table.split("\n## ").next().unwrap();
    let is_path = |text: &&str| text.contains('/') && Path::new(text).extension().is_some();
    let named: Vec<&str> = table.split('`').filter(is_path).collect();
    assert!(named.len() > 20, "the table is read");
    for path in named {
        assert!(root().join(path).is_file(), "ARCHITECTURE.md names {path}, which does not exist");
    }
}

#[test]
fn no_file_is_too_long_or_too_wide() {
    let mut found = Vec::new();
    for path in rust_files() {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        if lines > MOST_LINES {
            found.push(format!("{} has {lines} lines", path.display()));
        }
        let is_wide = |(_, line): &(usize, &str)| line.chars().count() > MOST_COLUMNS;
        let wide = text.lines().enumerate().filter(is_wide);
        found.extend(wide.map(|(n, _)| format!("{}: line {} is too wide", path.display(), n + 1)));
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn the_web_framework_knows_nothing_of_messages() {
    let http = root().join("sms-http/src");
    let framework = http.join("web");
    let is_framework =
        |path: &PathBuf| path.starts_with(&framework) || *path == http.join("web.rs");
    let files: Vec<PathBuf> = rust_files().into_iter().filter(is_framework).collect();
    assert!(files.len() > 15, "the framework is found");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let mut crate_paths = line.split("crate::").skip(1);
            // A macro stands at the root of its crate.
            let is_own = |path: &str| path.starts_with("web::") || path.starts_with("request_body");
            let leaves = line.contains("sms_core") || !crate_paths.all(is_own);
            assert!(!leaves, "{}: line {} leaves `web`: {line}", path.display(), number + 1);
        }
    }
}

/// Whoever mounts the API compiles what it needs, and no store, network or program.
#[test]
fn the_http_crate_depends_on_the_core_alone() {
    let manifest = fs::read_to_string(root().join("sms-http/Cargo.toml")).unwrap();
    let section = manifest.split("\n[").find_map(|part| part.strip_prefix("dependencies]\n"));
    let lines = section.unwrap().lines();
    let named: BTreeSet<&str> = lines.filter_map(|line| line.split(['.', ' ']).next()).collect();
    let ours: Vec<&&str> = named.iter().filter(|name| name.starts_with("sms-")).collect();
    assert_eq!(ours, [&"sms-core"]);
    for heavy in ["clap", "metrics-exporter-prometheus", "mimalloc", "reqwest", "rustix", "sqlx"] {
        assert!(!named.contains(heavy), "{heavy}");
    }
}

#[test]
fn every_test_that_the_limits_and_the_defences_name_exists() {
    let mut sources = String::new();
    for path in rust_files() {
        sources.push_str(&fs::read_to_string(&path).unwrap());
    }
    for page in ["docs/limits.md", "docs/security.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let named: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with('|'))
            .flat_map(|line| line.split('`').skip(1).step_by(2))
            .filter(|word| word.matches('_').count() > 3)
            .filter(|word| {
                word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            })
            .collect();
        assert!(named.len() > 20, "the tables of {page} are read");
        for test in named {
            assert!(sources.contains(&format!("fn {test}(")), "{page} names {test}");
        }
    }
}

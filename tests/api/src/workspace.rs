//! What Cargo knows of the workspace, and has rustdoc write of it.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    #[error("cargo {command} cannot be run")]
    Start { command: &'static str, source: io::Error },
    #[error("cargo {command} failed")]
    Failed { command: &'static str },
    #[error("cargo metadata is not JSON")]
    Metadata(#[from] serde_json::Error),
    #[error("cargo metadata has no {0}")]
    Missing(&'static str),
}

/// The workspace that this program is part of.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    target: PathBuf,
    packages: Value,
}

impl Workspace {
    /// Asks Cargo about the workspace of the current folder.
    pub(crate) fn read() -> Result<Self, WorkspaceError> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
        let command = "metadata";
        let output = cargo.output().map_err(|source| WorkspaceError::Start { command, source })?;
        if !output.status.success() {
            return Err(WorkspaceError::Failed { command });
        }
        let mut metadata: Value = serde_json::from_slice(&output.stdout)?;
        let path = |name: &'static str| {
            let path = metadata[name].as_str().map(PathBuf::from);
            path.ok_or(WorkspaceError::Missing(name))
        };
        let (root, target) = (path("workspace_root")?, path("target_directory")?);
        Ok(Self { root, target, packages: metadata["packages"].take() })
    }

    /// The names of the published packages that have a library, sorted.
    pub(crate) fn published(&self) -> Result<Vec<String>, WorkspaceError> {
        let packages = self.packages.as_array().ok_or(WorkspaceError::Missing("packages"))?;
        // `publish = false` becomes an empty list of registries, and no `publish` becomes null.
        let published = packages.iter().filter(|package| package["publish"].is_null());
        let published = published.filter(|package| has_library(package));
        let name = |package: &Value| package["name"].as_str().map(str::to_owned);
        let mut names: Vec<String> = published.filter_map(name).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Has rustdoc read the documentation of the whole workspace, in which it must find nothing to
    /// warn of, and write it as JSON.
    ///
    /// A target that may use dependencies of tests has Cargo choose features as for lints and
    /// tests. The examples are named for that: nothing beneath is checked a second time.
    ///
    /// Rustdoc writes JSON only with unstable options, which `RUSTC_BOOTSTRAP` allows. Only
    /// rustdoc gets the variable, from the wrapper that `scripts/check-api` names in `RUSTDOC`.
    /// If Cargo had it too, it would build many dependencies again.
    pub(crate) fn write_rustdoc_json() -> Result<(), WorkspaceError> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["doc", "--quiet", "--workspace", "--no-deps", "--all-features"]);
        cargo.args(["--lib", "--bins", "--examples"]);
        cargo.env("RUSTDOCFLAGS", "-D warnings -Z unstable-options --output-format json");
        let command = "doc";
        let status = cargo.status().map_err(|source| WorkspaceError::Start { command, source })?;
        if status.success() { Ok(()) } else { Err(WorkspaceError::Failed { command }) }
    }

    /// Where rustdoc writes the JSON of a package.
    pub(crate) fn rustdoc_json(&self, package: &str) -> PathBuf {
        self.target.join("doc").join(format!("{}.json", package.replace('-', "_")))
    }
}

/// Whether one of a package's targets is a library.
fn has_library(package: &Value) -> bool {
    let mut targets = package["targets"].as_array().into_iter().flatten();
    targets
        .any(|target| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"lib".into())))
}

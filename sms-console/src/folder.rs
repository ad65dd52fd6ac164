//! The files of a folder, for those who work on them: each is read when it is asked for, so that a
//! reload shows a change.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::file::{File, Kept};
use crate::kind::content_type;

/// The path that pages name: any other version shows the same files.
pub(crate) const FOLDER: &str = "/console/v-folder";

pub(crate) fn file(folder: &Path, name: &str) -> Option<File> {
    let content_type = content_type(name)?;
    Some(file_of(read(folder, name)?.into(), content_type))
}

fn read(folder: &Path, name: &str) -> Option<Vec<u8>> {
    // Names that could lead out of the folder are refused.
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\\');
    if !name.split('/').all(is_plain) {
        return None;
    }
    fs::read(folder.join(name)).ok()
}

fn file_of(plain: Bytes, content_type: &'static str) -> File {
    let hash = Sha256::digest(&plain)
        .iter()
        .take(16)
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    File { content_type, hash, plain, gzip: None, kept: Kept::Never }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::{Assets, Kept};

    #[test]
    fn a_folder_serves_its_files_and_nothing_outside() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets");
        let assets = Assets::of_folder(folder);
        assert_eq!(assets.base(), "/console/v-folder");
        let icon = assets.file("folder/icon.svg").unwrap();
        assert_eq!((icon.content_type, icon.kept), ("image/svg+xml", Kept::Never));
        for outside in ["../build.rs", "..%2fbuild.rs", "x/../icon.svg", "/icon.svg", "none.js", ""]
        {
            assert_eq!(assets.file(&format!("folder/{outside}")), None, "{outside}");
        }
    }
}

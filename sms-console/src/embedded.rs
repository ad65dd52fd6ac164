//! The files that `build.rs` put into the program.

use bytes::Bytes;

use crate::file::{File, Kept};
use crate::kind::content_type;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A file in the program.
pub(crate) struct Embedded {
    name: &'static str,
    hash: &'static str,
    plain: &'static [u8],
    gzip: &'static [u8],
}

pub(crate) fn base() -> String {
    format!("/console/v-{VERSION}")
}

/// The file of this name.
pub(crate) fn file(name: &str) -> Option<File> {
    let place = FILES.binary_search_by(|file| file.name.cmp(name)).ok()?;
    let Embedded { name, hash, plain, gzip } = FILES[place];
    // Pictures and fonts are compressed already.
    let gzip = (gzip.len() < plain.len()).then(|| Bytes::from_static(gzip));
    Some(File {
        content_type: content_type(name)?,
        hash: hash.to_owned(),
        plain: Bytes::from_static(plain),
        gzip,
        kept: Kept::ForEver,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::Assets;

    #[test]
    fn every_file_is_found_in_the_folder_of_its_version_and_nowhere_else() {
        let assets = Assets::embedded();
        for Embedded { name, plain, .. } in FILES {
            let Some(file) = assets.file(&format!("{VERSION}/{name}")) else {
                panic!("{name} is not found");
            };
            assert_eq!((&*file.plain, file.kept), (*plain, Kept::ForEver), "{name}");
            if let Some(gzip) = file.gzip {
                let mut unpacked = Vec::new();
                GzDecoder::new(&*gzip).read_to_end(&mut unpacked).unwrap();
                assert_eq!(unpacked, *plain, "{name}");
            }
            for elsewhere in [format!("0123/{name}"), format!("{VERSION}/x/{name}")] {
                assert_eq!(assets.file(&elsewhere), None, "{elsewhere}");
            }
        }
        for missing in ["", VERSION, &format!("{VERSION}/"), &format!("{VERSION}/../Cargo.toml")] {
            assert_eq!(assets.file(missing), None, "{missing}");
        }
    }
}

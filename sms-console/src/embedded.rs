//! The files that `build.rs` put into the program.

use bytes::Bytes;

use crate::file::{File, Kept};
use crate::kind::content_type;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The name of the page.
const PAGE: &str = "index.html";

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

pub(crate) fn page() -> Option<File> {
    find(PAGE, Kept::Never)
}

/// The file of this name, which is not the page.
pub(crate) fn file(name: &str) -> Option<File> {
    if name == PAGE { None } else { find(name, Kept::ForEver) }
}

fn find(name: &str, kept: Kept) -> Option<File> {
    let place = FILES.binary_search_by(|file| file.name.cmp(name)).ok()?;
    let Embedded { name, hash, plain, gzip } = FILES[place];
    // Pictures and fonts are compressed already.
    let gzip = (gzip.len() < plain.len()).then(|| Bytes::from_static(gzip));
    Some(File {
        content_type: content_type(name)?,
        hash: hash.to_owned(),
        plain: Bytes::from_static(plain),
        gzip,
        kept,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::{Assets, Wanted};

    fn text(file: &File) -> String {
        String::from_utf8(file.plain.to_vec()).unwrap()
    }

    #[test]
    fn every_file_is_found_in_the_folder_of_its_version_and_nowhere_else() {
        let assets = Assets::embedded();
        for Embedded { name, plain, .. } in FILES.iter().filter(|file| file.name != PAGE) {
            let Wanted::File(file) = assets.file(&format!("v-{VERSION}/{name}")) else {
                panic!("{name} is not found");
            };
            assert_eq!((&*file.plain, file.kept), (*plain, Kept::ForEver), "{name}");
            if let Some(gzip) = file.gzip {
                let mut unpacked = Vec::new();
                GzDecoder::new(&*gzip).read_to_end(&mut unpacked).unwrap();
                assert_eq!(unpacked, *plain, "{name}");
            }
            for elsewhere in [format!("v-0123/{name}"), format!("v-{VERSION}/x/{name}")] {
                assert_eq!(assets.file(&elsewhere), Wanted::Missing, "{elsewhere}");
            }
        }
        for missing in [format!("v-{VERSION}/"), format!("v-{VERSION}/../Cargo.toml")] {
            assert_eq!(assets.file(&missing), Wanted::Missing, "{missing}");
        }
        assert_eq!(assets.file(&format!("v-{VERSION}/{PAGE}")), Wanted::Missing);
    }

    #[test]
    fn any_other_path_is_a_place_that_the_page_shows() {
        for place in ["", "inbox", "messages/msg_1", "design", "v-", "index.html", "api"] {
            assert_eq!(Assets::embedded().file(place), Wanted::Page, "{place}");
        }
    }

    #[test]
    fn the_page_names_the_folder_and_is_asked_for_again() {
        let page = page().unwrap();
        assert_eq!(page.kept, Kept::Never);
        assert!(text(&page).contains(&format!("\"/console/v-{VERSION}/")));
        assert!(!text(&page).contains("{{"), "a placeholder is left");
    }

    /// The content security policy allows neither, and the page would not work.
    #[test]
    fn the_page_has_no_script_or_style_of_its_own() {
        let page = text(&page().unwrap());
        for script in page.split("<script").skip(1) {
            let (attributes, rest) = script.split_once('>').unwrap();
            assert!(attributes.contains("src=") && rest.starts_with("</script>"), "{attributes}");
        }
        for inline in ["<style", " style=", " onclick=", " onload=", "http://", "https://"] {
            assert!(!page.contains(inline), "{inline}");
        }
    }
}

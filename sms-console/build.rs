//! Puts the files of `assets/` into the program: each as it is and compressed, with the hash of its
//! content. The hash of all of them names the folder in which browsers find them.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// What browsers load. Other files in the folder are for those who work on it.
const SERVED: [&str; 6] = ["css", "ico", "js", "png", "svg", "woff2"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("assets");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, "", &mut files)?;
    files.sort();
    let mut all = Sha256::new();
    for (name, bytes) in &files {
        all.update(name.as_bytes());
        all.update(Sha256::digest(bytes));
    }
    let version = hex(&all.finalize()[..8]);
    let mut list =
        format!("/// The hash of all files.\npub(crate) const VERSION: &str = {version:?};\n");
    list.push_str("pub(crate) const FILES: &[Embedded] = &[\n");
    for (at, (name, bytes)) in files.iter().enumerate() {
        let hash = hex(&Sha256::digest(bytes)[..16]);
        fs::write(out.join(at.to_string()), bytes)?;
        fs::write(out.join(format!("{at}.gz")), gzip(bytes)?)?;
        let included =
            |file: &str| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\"))");
        let (plain, small) = (included(&at.to_string()), included(&format!("{at}.gz")));
        writeln!(
            list,
            "Embedded {{ name: {name:?}, hash: {hash:?}, plain: {plain}, gzip: {small} }},",
        )?;
    }
    list.push_str("];\n");
    fs::write(out.join("files.rs"), list)?;
    Ok(())
}

/// The files that are served, by their path below the folder.
fn collect(
    folder: &Path,
    prefix: &str,
    files: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| "a file's name is not UTF-8")?;
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if SERVED.iter().any(|ending| name.ends_with(&format!(".{ending}"))) {
            files.push((path, fs::read(entry.path())?));
        }
    }
    Ok(())
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

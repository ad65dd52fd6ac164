//! Rustdoc's JSON of a crate as a listing: one line for each public item.

use std::io;
use std::path::Path;

use serde_json::Value;

/// The format that `public-api` reads in the version that `Cargo.toml` names.
const FORMAT: u64 = 57;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ListingError {
    #[error("rustdoc's JSON cannot be read")]
    Read(#[from] io::Error),
    #[error("rustdoc's JSON is not JSON")]
    Json(#[from] serde_json::Error),
    #[error(
        "rustdoc writes JSON of format {found}, and Rust 1.95 writes {FORMAT}: run \
         `RUSTUP_TOOLCHAIN=1.95.0 scripts/check-api`, or name the version of public-api that reads \
         {found} in tests/api/Cargo.toml"
    )]
    Format { found: u64 },
    #[error("the items cannot be listed")]
    Items(#[from] public_api::Error),
}

/// The public items, without the implementations that derives, blankets and auto traits bring.
pub(crate) fn public_api(json: &Path) -> Result<String, ListingError> {
    let document: Value = serde_json::from_slice(&std::fs::read(json)?)?;
    let found = document["format_version"].as_u64().unwrap_or_default();
    if found != FORMAT {
        return Err(ListingError::Format { found });
    }
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    Ok(api.to_string())
}

//! The files that pages of the console load, and what is said where there is neither file nor page.

use poem::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY,
};
use poem::http::{HeaderMap, Method, StatusCode};
use poem::{Endpoint, Request, Response};
use sms_console::visit::Desk;
use sms_console::{Assets, File, Kept, refusal};
use sms_http::web::error::ApiError;
use sms_http::web::operation::operation;
use sms_http::web::page::lists;
use sms_http::web::path_pattern::PathTable;

use super::{pages, path};

/// How long "for ever" is, as browsers count it: a year.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Serves them.
#[derive(Debug, Clone)]
pub(super) struct Files {
    assets: Assets,
    desk: Desk,
}

impl Files {
    pub(super) fn new(assets: Assets, desk: Desk) -> Self {
        Self { assets, desk }
    }

    pub(super) fn add_to(self, table: PathTable) -> PathTable {
        table.with(path::PAGES, Method::GET, operation(self))
    }
}

impl Endpoint for Files {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let Some(below) = request.uri().path().strip_prefix(path::FILES) else {
            let visit = pages::visit(&self.desk, &request);
            return Ok(refusal::no_page(visit).await);
        };
        let file = self.assets.file(below).ok_or_else(ApiError::not_found)?;
        Ok(answer(file, request.headers()))
    }
}

fn answer(file: File, asked: &HeaderMap) -> Response {
    let File { content_type, hash, plain, gzip, kept } = file;
    // Weak, because the compressed form has the same.
    let etag = format!("W/\"{hash}\"");
    let response = Response::builder().header(ETAG, &etag).header(VARY, ACCEPT_ENCODING).header(
        CACHE_CONTROL,
        match kept {
            Kept::ForEver => FOR_EVER,
            Kept::Never => "no-cache",
        },
    );
    if lists(asked, &IF_NONE_MATCH, &etag) {
        return response.status(StatusCode::NOT_MODIFIED).finish();
    }
    let response = response.content_type(content_type);
    match gzip.filter(|_| lists(asked, &ACCEPT_ENCODING, "gzip")) {
        Some(gzip) => response.header(CONTENT_ENCODING, "gzip").body(gzip),
        None => response.body(plain),
    }
}

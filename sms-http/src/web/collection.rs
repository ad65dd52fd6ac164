//! Operations that read collections: GET on a path that does not end in a parameter.
//!
//! A query parameter that the operation does not have is refused, so that a client that pages by
//! `page=2` does not read the first page for ever. The answer links to the next page.

use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use poem::endpoint::DynEndpoint;
use poem::http::header::LINK;
use poem::http::{HeaderValue, Method, Uri};
use poem::{Request, Response};

use crate::web::error::ApiError;
use crate::web::param::decode;
use crate::web::path_param::is_parameter;

/// The most unknown parameters that an answer names.
const MOST_NAMED: usize = 20;

/// The most characters of a name that an answer shows.
const MOST_CHARACTERS: usize = 100;

/// Where the next page begins. The envelope leaves it with the response.
#[derive(Debug, Clone)]
pub(super) struct NextCursor(pub String);

/// Whether the operation reads a collection.
pub(super) fn is_collection(method: &Method, path: &str) -> bool {
    *method == Method::GET && !path.rsplit('/').next().is_some_and(is_parameter)
}

/// An operation that reads a collection.
pub(super) struct Collection {
    /// The names of its query parameters.
    pub parameters: Vec<String>,
    pub inner: Arc<dyn DynEndpoint<Output = Response>>,
}

impl Collection {
    /// The names in a query that are not its parameters', each once.
    fn unknown(&self, query: &str) -> Vec<String> {
        let mut unknown: Vec<String> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let raw = pair.split('=').next().unwrap_or_default();
            let name = decode(raw).unwrap_or_else(|| raw.to_owned());
            if self.parameters.contains(&name) {
                continue;
            }
            let shown: String = name.chars().take(MOST_CHARACTERS).collect();
            if unknown.len() < MOST_NAMED && !unknown.contains(&shown) {
                unknown.push(shown);
            }
        }
        unknown
    }
}

impl DynEndpoint for Collection {
    type Output = Response;

    fn call(&self, request: Request) -> BoxFuture<'_, poem::Result<Response>> {
        let unknown = self.unknown(request.uri().query().unwrap_or_default());
        if !unknown.is_empty() {
            return Box::pin(ready(Err(ApiError::unknown_parameters(unknown).into())));
        }
        let uri = request.uri().clone();
        Box::pin(async move {
            let mut response = self.inner.call(request).await?;
            let next = response.extensions_mut().remove::<NextCursor>();
            if let Some(link) = next.and_then(|NextCursor(cursor)| link_to(&uri, &cursor)) {
                response.headers_mut().insert(LINK, link);
            }
            Ok(response)
        })
    }
}

/// A link to the same collection from `cursor` on, relative to the server's address.
fn link_to(uri: &Uri, cursor: &str) -> Option<HeaderValue> {
    let others = uri.query().unwrap_or_default().split('&');
    let others = others.filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && decode(name).as_deref() != Some("cursor")
    });
    let own = format!("cursor={cursor}");
    let pairs: Vec<&str> = others.chain([own.as_str()]).collect();
    let link = format!("<{}?{}>; rel=\"next\"", uri.path(), pairs.join("&"));
    HeaderValue::from_str(&link).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_keeps_the_other_parameters() {
        let link = |uri: &'static str| link_to(&Uri::from_static(uri), "7z").unwrap();
        assert_eq!(link("/m"), "</m?cursor=7z>; rel=\"next\"");
        let link = link("/m?q=a+b&curso%72=1&limit=2&cursor=3");
        assert_eq!(link, "</m?q=a+b&limit=2&cursor=7z>; rel=\"next\"");
    }

    #[test]
    fn what_ends_in_a_parameter_is_no_collection() {
        assert!(is_collection(&Method::GET, "/lists/{id}/contacts"));
        assert!(!is_collection(&Method::GET, "/lists/{id}"));
        assert!(!is_collection(&Method::POST, "/lists"));
    }
}

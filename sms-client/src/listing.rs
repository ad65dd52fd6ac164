//! Lists that are read page by page.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::call::{Answer, data_and_meta};
use crate::error::Error;
use crate::transport::{Outgoing, Transport};

/// The most items of a page.
pub const LARGEST_PAGE: u16 = 100;

/// A list, newest first. [`page`](Self::page) reads one page of it, [`stream`](Self::stream) all of
/// it, page by page.
#[derive(Debug)]
#[must_use = "a list is read by `page` or `stream`"]
pub struct Listing<T, M = PageMeta> {
    transport: Arc<Transport>,
    url: Result<Url, Error>,
    limit: u16,
    item: PhantomData<fn() -> (T, M)>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, M = PageMeta> {
    /// The items.
    pub items: Vec<T>,
    /// Facts about the list.
    pub meta: M,
}

/// The meta of a cursor list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageMeta {
    /// Where the next page begins; `None` on the last one.
    pub next_cursor: Option<String>,
}

/// The meta of a list that says where the next page begins.
pub trait NextPage {
    /// The query parameter that asks for the next page, with its value. `read` counts the items
    /// that were read so far.
    fn next_page(&self, read: u64) -> Option<(&'static str, String)>;
}

impl NextPage for PageMeta {
    fn next_page(&self, _read: u64) -> Option<(&'static str, String)> {
        Some(("cursor", self.next_cursor.clone()?))
    }
}

impl<T, M> Listing<T, M>
where
    T: DeserializeOwned + Send + 'static,
    M: NextPage + DeserializeOwned + Send + 'static,
{
    pub(crate) fn new(transport: Arc<Transport>, url: Result<Url, Error>) -> Self {
        Self { transport, url, limit: LARGEST_PAGE, item: PhantomData }
    }

    /// How many items a page has: 1 to [`LARGEST_PAGE`], which is the default.
    pub fn limit(mut self, limit: u16) -> Self {
        self.limit = limit;
        self
    }

    /// Begins at a cursor that an earlier page gave.
    pub fn cursor(self, cursor: &str) -> Self {
        let with_cursor = |mut url: Url| {
            url.query_pairs_mut().append_pair("cursor", cursor);
            url
        };
        Self { url: self.url.map(with_cursor), ..self }
    }

    /// Reads one page.
    ///
    /// # Errors
    ///
    /// As for every call.
    pub async fn page(self) -> Result<Page<T, M>, Error> {
        let url = self.url?;
        read_page(&self.transport, &url, self.limit, None).await
    }

    /// Reads the items one by one, and their pages when they are needed.
    pub fn stream(self) -> BoxStream<'static, Result<T, Error>> {
        let Self { transport, url, limit, item: _ } = self;
        let walk = Walk { items: VecDeque::new(), next: Next::First, read: 0 };
        try_unfold((transport, Some(url), walk), move |(transport, url, mut walk)| async move {
            let url = match url {
                Some(url) => url?,
                None => return Ok(None),
            };
            while walk.items.is_empty() {
                let place = match walk.next {
                    Next::First => None,
                    Next::At(place) => Some(place),
                    Next::End => return Ok(None),
                };
                let page: Page<T, M> = read_page(&transport, &url, limit, place).await?;
                walk.read += page.items.len() as u64;
                walk.next = page.meta.next_page(walk.read).map_or(Next::End, Next::At);
                walk.items = page.items.into();
            }
            let item = walk.items.pop_front();
            Ok(item.map(|item| (item, (transport, Some(Ok(url)), walk))))
        })
        .boxed()
    }
}

struct Walk<T> {
    items: VecDeque<T>,
    next: Next,
    read: u64,
}

enum Next {
    First,
    At((&'static str, String)),
    End,
}

async fn read_page<T: DeserializeOwned, M: DeserializeOwned>(
    transport: &Transport,
    url: &Url,
    limit: u16,
    place: Option<(&'static str, String)>,
) -> Result<Page<T, M>, Error> {
    let mut url = url.clone();
    url.query_pairs_mut().append_pair("limit", &limit.to_string());
    if let Some((name, value)) = place {
        let kept: Vec<(String, String)> =
            url.query_pairs().into_owned().filter(|(kept, _)| kept != name).collect();
        url.query_pairs_mut().clear().extend_pairs(kept).append_pair(name, &value);
    }
    let whole = transport.whole(&Outgoing::get(url)).await?;
    let Answer { data, meta } = data_and_meta(&whole.bytes)?;
    Ok(Page { items: data, meta })
}

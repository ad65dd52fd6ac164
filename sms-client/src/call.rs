//! A call of one operation, made when it is awaited.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::etag::ETag;
use crate::idempotency::IdempotencyKey;
use crate::retry::Repeat;
use crate::transport::{Outgoing, Transport, Whole};

/// The data of an answer, and facts about the data.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answer<T, M> {
    /// The data.
    pub data: T,
    /// Facts about the data, such as the new balance.
    pub meta: M,
}

type Read<T> = fn(&[u8]) -> Result<T, serde_json::Error>;
type Answered<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// A call of one operation. Await it to make it.
#[must_use = "a call is made when it is awaited"]
pub struct Call<T> {
    transport: Arc<Transport>,
    outgoing: Result<Outgoing, Error>,
    read: Read<T>,
}

/// A call that makes something, and that takes effect once however often it is made again.
#[must_use = "a call is made when it is awaited"]
#[derive(Debug)]
pub struct KeyedCall<T> {
    call: Call<T>,
    key: IdempotencyKey,
}

/// A resource and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged<T> {
    /// The resource.
    pub value: T,
    /// Its version; `None` if the server showed none.
    pub etag: Option<ETag>,
}

/// A call that gives the version of its resource as well. Await it to make it.
#[must_use = "a call is made when it is awaited"]
#[derive(Debug)]
pub struct TaggedCall<T>(Call<T>);

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("outgoing", &self.outgoing).finish_non_exhaustive()
    }
}

impl<T> Call<T> {
    pub(crate) fn new(
        transport: Arc<Transport>,
        outgoing: Result<Outgoing, Error>,
        read: Read<T>,
    ) -> Self {
        Self { transport, outgoing, read }
    }

    /// The same call, which may be made again whatever became of it.
    pub(crate) fn repeatable(mut self) -> Self {
        if let Ok(outgoing) = &mut self.outgoing {
            outgoing.repeat = Repeat::Freely;
        }
        self
    }

    /// Makes a change or a removal on this version of the resource only, and else fails with
    /// [`ErrorCode::PreconditionFailed`](crate::ErrorCode::PreconditionFailed). It is not made
    /// again after its answer was lost: the second try would find the change of the first.
    pub fn if_match(mut self, version: &ETag) -> Self {
        if let Ok(outgoing) = &mut self.outgoing {
            outgoing.header("if-match", version.as_str());
            outgoing.repeat = Repeat::OnlyIfUntaken;
        }
        self
    }

    /// The same call, which gives the version of the resource as well.
    pub fn with_etag(self) -> TaggedCall<T> {
        TaggedCall(self)
    }

    async fn whole(self) -> Result<Tagged<T>, Error> {
        let Whole { bytes, etag } = self.transport.whole(&self.outgoing?).await?;
        Ok(Tagged { value: (self.read)(&bytes)?, etag })
    }

    /// The same call with an idempotency key of its own.
    pub(crate) fn keyed(self) -> KeyedCall<T> {
        KeyedCall { call: self.repeatable(), key: IdempotencyKey::random() }
    }
}

impl<T> KeyedCall<T> {
    /// Uses your own key, such as the id of your order, so that the call takes effect once even if
    /// your program makes it again. Without one, each call has a new key for its own retries.
    pub fn idempotency_key(mut self, key: IdempotencyKey) -> Self {
        self.key = key;
        self
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Answered<T>;

    fn into_future(self) -> Answered<T> {
        Box::pin(async move { self.whole().await.map(|tagged| tagged.value) })
    }
}

impl<T: Send + 'static> IntoFuture for TaggedCall<T> {
    type Output = Result<Tagged<T>, Error>;
    type IntoFuture = Answered<Tagged<T>>;

    fn into_future(self) -> Answered<Tagged<T>> {
        Box::pin(self.0.whole())
    }
}

impl<T: Send + 'static> IntoFuture for KeyedCall<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Answered<T>;

    fn into_future(self) -> Answered<T> {
        let Self { mut call, key } = self;
        if let Ok(outgoing) = &mut call.outgoing {
            outgoing.header("idempotency-key", key.as_str());
        }
        call.into_future()
    }
}

/// Reads `data` alone.
pub(crate) fn data<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    #[derive(Deserialize)]
    struct Envelope<T> {
        data: T,
    }
    serde_json::from_slice(bytes).map(|Envelope { data }| data)
}

/// Reads `data` and `meta`.
pub(crate) fn data_and_meta<T: DeserializeOwned, M: DeserializeOwned>(
    bytes: &[u8],
) -> Result<Answer<T, M>, serde_json::Error> {
    serde_json::from_slice(bytes)
}

/// Reads an answer without a body.
#[expect(clippy::unnecessary_wraps, reason = "it stands beside the other readers")]
pub(crate) fn nothing(_bytes: &[u8]) -> Result<(), serde_json::Error> {
    Ok(())
}

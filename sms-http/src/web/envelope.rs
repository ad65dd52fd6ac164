//! The envelope of a successful answer: `{ "data": …, "meta": … }`.
//!
//! Handlers return [`Answer`] (200), [`Created`] (201), [`CreatedOrNot`] (201 or 200) or
//! [`NoContent`] (204) as the `Ok` of their `Result`; each writes its status and its schema into
//! the OpenAPI document. [`Ready`] holds one of them that may be large. Schemas are named after
//! their data: `MessageEnvelope` for one message, `MessageListEnvelope` for an array. A [`Meta`]
//! type can choose another ending. Generators of clients name other types `…Response`. The envelope
//! of errors is in [`crate::web::error`].

use std::borrow::Cow;
use std::marker::PhantomData;
use std::panic::resume_unwind;

use poem::http::header::CONTENT_TYPE;
use poem::http::{HeaderValue, StatusCode};
use poem::{IntoResponse, Response};
use poem_openapi::registry::{
    MetaMediaType, MetaResponse, MetaResponses, MetaSchema, MetaSchemaRef, Registry,
};
use poem_openapi::types::{ToJSON, Type};
use poem_openapi::{ApiResponse, Object};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::web::collection::NextCursor;
use crate::web::error::ApiError;

/// What `Retry-After` says if the runtime is shutting down.
const RETRY_AFTER_SECONDS: u64 = 1;

/// The `meta` of an envelope.
///
/// Implement it for an object that derives `poem_openapi::Object`, and give the ending of the
/// schema's name:
///
/// ```
/// use poem_openapi::Object;
/// use sms_http::web::envelope::Meta;
///
/// #[derive(Object)]
/// struct CancelMeta {
///     cancelled_messages: u64,
/// }
///
/// // The schema of `Answer<Campaign, CancelMeta>` is called `CampaignCancelEnvelope`.
/// impl Meta for CancelMeta {
///     const NAME_END: &'static str = "CancelEnvelope";
/// }
/// ```
pub trait Meta: ToJSON + Type {
    /// The ending of the envelope schema's name, after the name of the data.
    const NAME_END: &'static str;

    /// Where the next page begins, in the meta of a page that is not the last one.
    fn next_cursor(&self) -> Option<&str> {
        None
    }
}

/// No meta: the field is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoMeta;

/// The meta of a page of a cursor list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Object)]
pub struct PageMeta {
    /// Pass it as `cursor` to read the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The meta of an answer that repeats the first one for the same `Idempotency-Key`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Object)]
pub struct ReplayMeta {
    /// Always true: this answer repeats the first one for the same `Idempotency-Key`, and nothing
    /// was done now.
    pub replayed: bool,
}

impl ReplayMeta {
    /// Says that the answer is a repetition.
    pub fn repeated() -> Self {
        Self { replayed: true }
    }
}

/// Null in a first answer.
impl Meta for Option<ReplayMeta> {
    const NAME_END: &'static str = "MadeEnvelope";
}

impl Meta for NoMeta {
    const NAME_END: &'static str = "Envelope";
}

impl Meta for PageMeta {
    const NAME_END: &'static str = "Page";

    fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }
}

/// 200 with data.
#[derive(Debug, Clone)]
pub struct Answer<T, M = NoMeta> {
    /// The data of the answer.
    pub data: T,
    /// Facts about the data.
    pub meta: M,
}

/// 201 with data.
#[derive(Debug, Clone)]
pub struct Created<T> {
    /// The new resource.
    pub data: T,
}

/// 201 if the request created the resource, 200 in the same form if it existed already.
#[derive(Debug, Clone)]
pub enum CreatedOrNot<T, M = NoMeta> {
    /// 201: the request created it.
    Created(T, M),
    /// 200: it existed already, as on the replay of a send.
    Existing(T, M),
}

/// 204, without a body.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoContent;

/// An answer that may list many items, ready to be sent.
///
/// Writing the JSON of 100,000 messages takes a good part of a second, and so does freeing them.
/// [`Ready::of`] does both on a thread for blocking work if the answer is large, so that the
/// runtime's threads serve other requests meanwhile.
#[derive(Debug)]
pub struct Ready<A> {
    response: Response,
    answer: PhantomData<fn() -> A>,
}

/// The most items of an answer whose JSON is written on the runtime's thread: about a millisecond's
/// work.
pub const WRITTEN_IN_PLACE: usize = 500;

impl<A: IntoResponse> Ready<A> {
    /// Makes an answer that lists so many items, and writes it.
    pub async fn of(items: usize, make: impl FnOnce() -> A + Send + 'static) -> Self {
        let response = if items <= WRITTEN_IN_PLACE {
            make().into_response()
        } else {
            match spawn_blocking(|| make().into_response()).await {
                Ok(response) => response,
                Err(ended) => match ended.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The runtime is shutting down.
                    Err(_) => ApiError::unavailable(RETRY_AFTER_SECONDS).into_response(),
                },
            }
        };
        Self { response, answer: PhantomData }
    }
}

impl<T> Answer<T> {
    /// 200 with data and no meta.
    pub fn new(data: T) -> Self {
        Self { data, meta: NoMeta }
    }
}

impl<T> Answer<Vec<T>, PageMeta> {
    /// 200 with one page of a list.
    pub fn page(data: Vec<T>, next_cursor: Option<String>) -> Self {
        let meta = PageMeta { next_cursor };
        Self { data, meta }
    }
}

impl<T> Created<T> {
    /// 201 with data and no meta.
    pub fn new(data: T) -> Self {
        Self { data }
    }
}

impl<T: ToJSON, M: Meta> IntoResponse for Answer<T, M> {
    fn into_response(self) -> Response {
        enveloped(StatusCode::OK, &self.data, &self.meta)
    }
}

impl<T: ToJSON> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        enveloped(StatusCode::CREATED, &self.data, &NoMeta)
    }
}

impl<T: ToJSON, M: Meta> IntoResponse for CreatedOrNot<T, M> {
    fn into_response(self) -> Response {
        match &self {
            Self::Created(data, meta) => enveloped(StatusCode::CREATED, data, meta),
            Self::Existing(data, meta) => enveloped(StatusCode::OK, data, meta),
        }
    }
}

impl<A> IntoResponse for Ready<A> {
    fn into_response(self) -> Response {
        self.response
    }
}

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        Response::builder().status(StatusCode::NO_CONTENT).finish()
    }
}

impl<T: ToJSON, M: Meta> ApiResponse for Answer<T, M> {
    fn meta() -> MetaResponses {
        MetaResponses { responses: vec![described::<T, M>(200, "Done")] }
    }

    fn register(registry: &mut Registry) {
        register_envelope::<T, M>(registry);
    }
}

impl<T: ToJSON> ApiResponse for Created<T> {
    fn meta() -> MetaResponses {
        MetaResponses { responses: vec![described::<T, NoMeta>(201, "Created")] }
    }

    fn register(registry: &mut Registry) {
        register_envelope::<T, NoMeta>(registry);
    }
}

impl<T: ToJSON, M: Meta> ApiResponse for CreatedOrNot<T, M> {
    fn meta() -> MetaResponses {
        MetaResponses {
            responses: vec![
                described::<T, M>(200, "It existed already, or this request is a retry"),
                described::<T, M>(201, "Created"),
            ],
        }
    }

    fn register(registry: &mut Registry) {
        register_envelope::<T, M>(registry);
    }
}

impl<A: ApiResponse> ApiResponse for Ready<A> {
    fn meta() -> MetaResponses {
        A::meta()
    }

    fn register(registry: &mut Registry) {
        A::register(registry);
    }
}

impl ApiResponse for NoContent {
    fn meta() -> MetaResponses {
        MetaResponses {
            responses: vec![MetaResponse {
                description: "Done; there is no content",
                status: Some(204),
                status_range: None,
                content: Vec::new(),
                headers: Vec::new(),
            }],
        }
    }

    fn register(_registry: &mut Registry) {}
}

impl Type for NoMeta {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "null".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        // Generators of clients do not know a field that is only null.
        let schema = MetaSchema { nullable: true, ..MetaSchema::new("object") };
        MetaSchemaRef::Inline(Box::new(schema))
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::empty())
    }
}

impl ToJSON for NoMeta {
    fn to_json(&self) -> Option<Value> {
        Some(Value::Null)
    }
}

fn enveloped(status: StatusCode, data: &impl ToJSON, meta: &impl Meta) -> Response {
    let next = meta.next_cursor().map(|cursor| NextCursor(cursor.to_owned()));
    let (data, meta) = (data.to_json_string(), meta.to_json_string());
    let body = [r#"{"data":"#, &data, r#","meta":"#, &meta, "}"].concat();
    let mut response = Response::builder().status(status).body(body);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    if let Some(next) = next {
        response.extensions_mut().insert(next);
    }
    response
}

fn described<T: Type, M: Meta>(status: u16, description: &'static str) -> MetaResponse {
    MetaResponse {
        description,
        status: Some(status),
        status_range: None,
        content: vec![MetaMediaType {
            content_type: "application/json",
            schema: MetaSchemaRef::Reference(envelope_name::<T, M>()),
        }],
        headers: Vec::new(),
    }
}

fn register_envelope<T: Type, M: Meta>(registry: &mut Registry) {
    T::register(registry);
    M::register(registry);
    // What may be null is left out of `required`, and the rewrite of the document then allows null.
    let fields = [("data", T::IS_REQUIRED), ("meta", M::IS_REQUIRED)];
    let required = fields.iter().filter(|(_, is_required)| *is_required).map(|(name, _)| *name);
    let required: Vec<&'static str> = required.collect();
    registry.create_schema::<(T, M), _>(envelope_name::<T, M>(), |_| MetaSchema {
        required,
        properties: vec![("data", T::schema_ref()), ("meta", M::schema_ref())],
        ..MetaSchema::new("object")
    });
}

/// `MessageEnvelope`, `MessageListEnvelope`, `MessagePage`.
///
/// An array is named after its items, and `MessageOrNullEnvelope` may hold null. The framework's
/// names of plain types are in lower case.
fn envelope_name<T: Type, M: Meta>() -> String {
    let name = T::name();
    let (name, kind) = if let Some(inner) = name.strip_prefix("optional_") {
        (inner, "OrNull")
    } else if let Some(item) = name.strip_prefix("list_") {
        let plain = M::NAME_END == NoMeta::NAME_END;
        (item, if plain { "List" } else { "" })
    } else {
        (name.as_ref(), "")
    };
    let mut chars = name.chars();
    let capital = chars.next().unwrap_or('X').to_ascii_uppercase();
    format!("{capital}{}{kind}{}", chars.as_str(), M::NAME_END)
}

#[cfg(test)]
mod tests {
    use poem_openapi::Object;

    use super::*;

    #[derive(Object)]
    struct Campaign {
        name: String,
    }

    #[derive(Object)]
    struct CancelMeta {
        cancelled_messages: u64,
    }

    impl Meta for CancelMeta {
        const NAME_END: &'static str = "CancelEnvelope";
    }

    #[test]
    fn schemas_have_speaking_names() {
        assert_eq!(envelope_name::<Campaign, NoMeta>(), "CampaignEnvelope");
        assert_eq!(envelope_name::<Option<Campaign>, NoMeta>(), "CampaignOrNullEnvelope");
        assert_eq!(envelope_name::<Vec<Campaign>, NoMeta>(), "CampaignListEnvelope");
        assert_eq!(envelope_name::<Vec<Campaign>, PageMeta>(), "CampaignPage");
        assert_eq!(envelope_name::<Campaign, CancelMeta>(), "CampaignCancelEnvelope");
        assert_eq!(envelope_name::<Vec<String>, NoMeta>(), "StringListEnvelope");
    }

    /// Its JSON names the thread that wrote it.
    #[derive(Debug)]
    struct WrittenBy;

    impl IntoResponse for WrittenBy {
        fn into_response(self) -> Response {
            format!("{:?}", std::thread::current().id()).into()
        }
    }

    #[tokio::test]
    async fn a_large_answer_is_written_off_the_runtimes_threads_and_a_small_one_in_place() {
        // The runtime of this test has this thread alone.
        let here = format!("{:?}", std::thread::current().id());
        for (items, in_place) in
            [(0, true), (WRITTEN_IN_PLACE, true), (WRITTEN_IN_PLACE + 1, false)]
        {
            let response = Ready::of(items, || WrittenBy).await.into_response();
            let by = response.into_body().into_string().await.unwrap();
            assert_eq!(by == here, in_place, "{items} items");
        }
    }

    #[tokio::test]
    async fn data_and_meta_are_always_there() {
        let data = Campaign { name: "Spring".to_owned() };
        let response = Created::new(data).into_response();
        assert_eq!(response.status(), StatusCode::CREATED);
        assert_eq!(response.content_type(), Some("application/json"));
        let body = response.into_body().into_string().await.unwrap();
        assert_eq!(body, r#"{"data":{"name":"Spring"},"meta":null}"#);
    }
}

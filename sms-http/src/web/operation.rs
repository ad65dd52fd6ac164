//! Operations: what answers one method of one path.

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use poem::endpoint::{BoxEndpoint, DynEndpoint};
use poem::http::Method;
use poem::{EndpointExt, IntoEndpoint, Request, Response};
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaOperation, MetaParamIn};

use crate::web::collection::{Collection, is_collection};
use crate::web::error::ApiError;
use crate::web::path_param::is_parameter;

/// An operation, as the table of paths keeps it.
pub type Operation = Arc<dyn DynEndpoint<Output = Response>>;

/// An endpoint as an operation.
pub fn operation<E>(endpoint: E) -> Operation
where
    E: IntoEndpoint,
    E::Endpoint: 'static,
{
    endpoint.map_to_response().boxed().into()
}

/// The operations of an API, with their paths as the document shows them, such as
/// `/messages/{id}`.
pub(super) fn operations_of<A: OpenApi>(api: A) -> Vec<(String, Method, Operation)> {
    let mut endpoints: HashMap<String, HashMap<Method, BoxEndpoint<'static>>> = HashMap::new();
    api.add_routes(&mut endpoints);
    let mut found = Vec::new();
    for path in A::meta().into_iter().flat_map(|api| api.paths) {
        let Some(of_path) = endpoints.get_mut(&numbered(&path.path)) else { continue };
        let operations = path.operations.into_iter();
        found.extend(operations.filter_map(|operation| {
            let inner = Operation::from(of_path.remove(&operation.method)?);
            let endpoint: Operation = if is_collection(&operation.method, &path.path) {
                Arc::new(Collection { parameters: in_query(&operation), inner })
            } else {
                inner
            };
            Some((path.path.clone(), operation.method, endpoint))
        }));
    }
    found
}

/// The names of an operation's query parameters.
fn in_query(operation: &MetaOperation) -> Vec<String> {
    let parameters = operation.params.iter();
    let in_query = parameters.filter(|parameter| parameter.in_type == MetaParamIn::Query);
    in_query.map(|parameter| parameter.name.clone()).collect()
}

/// A path of the document in the form of the framework's router, which numbers the parameters:
/// `/messages/{id}` is `/messages/:param0`.
fn numbered(path: &str) -> String {
    let mut parameters = 0;
    let mut segments = Vec::new();
    for segment in path.split('/') {
        if is_parameter(segment) {
            segments.push(format!(":param{parameters}"));
            parameters += 1;
        } else {
            segments.push(segment.to_owned());
        }
    }
    segments.join("/")
}

/// An operation that runs only for requests that pass a check.
pub fn guarded<C>(inner: Operation, check: C) -> Operation
where
    C: Fn(&Request) -> Result<(), ApiError> + Send + Sync + 'static,
{
    Arc::new(Guarded { check, inner })
}

struct Guarded<C> {
    check: C,
    inner: Operation,
}

impl<C> DynEndpoint for Guarded<C>
where
    C: Fn(&Request) -> Result<(), ApiError> + Send + Sync,
{
    type Output = Response;

    fn call(&self, request: Request) -> BoxFuture<'_, poem::Result<Response>> {
        match (self.check)(&request) {
            Ok(()) => self.inner.call(request),
            Err(refused) => Box::pin(ready(Err(refused.into()))),
        }
    }
}

/// Answers HEAD as another operation answers GET, without the body.
pub(super) struct HeadOf(pub Operation);

impl DynEndpoint for HeadOf {
    type Output = Response;

    fn call(&self, mut request: Request) -> BoxFuture<'_, poem::Result<Response>> {
        Box::pin(async move {
            request.set_method(Method::GET);
            let mut response = self.0.call(request).await?;
            response.set_body(());
            Ok(response)
        })
    }
}

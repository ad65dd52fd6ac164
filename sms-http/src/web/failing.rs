//! [`Failing`]: the error of an operation that can fail for reasons of the domain.

use std::marker::PhantomData;

use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaResponse, MetaResponses, Registry};

use crate::web::error::ApiError;
use crate::web::openapi::Failures;

/// An error answer. `F` adds to the document how the operation can fail, besides the failures that
/// all operations share.
#[derive(Debug)]
pub struct Failing<F> {
    error: ApiError,
    failures: PhantomData<fn() -> F>,
}

impl<F, E> From<E> for Failing<F>
where
    ApiError: From<E>,
{
    fn from(error: E) -> Self {
        Self { error: error.into(), failures: PhantomData }
    }
}

impl<F> From<Failing<F>> for poem::Error {
    fn from(failing: Failing<F>) -> Self {
        failing.error.into()
    }
}

/// Lists the failures by name. The document refers to the shared response of each.
impl<F: Failures> ApiResponse for Failing<F> {
    fn meta() -> MetaResponses {
        let response = |name, status| MetaResponse {
            description: name,
            status: Some(status),
            status_range: None,
            content: Vec::new(),
            headers: Vec::new(),
        };
        let all = F::ALL.iter();
        let responses = all.map(|failure| response(failure.name, failure.status.as_u16()));
        MetaResponses { responses: responses.collect() }
    }

    fn register(_registry: &mut Registry) {}
}

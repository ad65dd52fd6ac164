//! The client: which server, which key, and how its operations are called.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::call::{Call, data};
use crate::error::Error;
use crate::listing::{Listing, NextPage};
use crate::private_text::ApiKey;
use crate::retry::{Repeat, Retries};
use crate::transport::{JSON, Outgoing, Transport};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the server may be silent within an answer. An event stream has a line every 15 seconds.
const SILENCE: Duration = Duration::from_mins(1);

/// Why a client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum NotAClient {
    /// The address is not one of a server.
    #[error("{0:?} is not the address of a server: write it as https://sms.example.com")]
    Url(String),
    /// The address holds a name or a password, which errors would show.
    #[error("the address of a server has no name or password in it: the key says who calls")]
    Credentials,
    /// The key cannot be sent in a header.
    #[error("the key is empty or has characters that a key does not have")]
    Key,
    /// TLS could not be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up: {0}")]
    Http(String),
}

/// Calls the API of one server with one key. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    transport: Arc<Transport>,
    /// The base of all paths, with a slash at the end.
    base: Url,
}

impl Client {
    /// A client of the server at this address, such as `https://sms.example.com`.
    ///
    /// # Errors
    ///
    /// When the address or the key cannot be one, or when TLS cannot be set up.
    pub fn new(server: &str, key: &ApiKey) -> Result<Self, NotAClient> {
        Self::with_retries(server, key, Retries::default())
    }

    /// A client with another idea of how often to try.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn with_retries(server: &str, key: &ApiKey, retries: Retries) -> Result<Self, NotAClient> {
        Self::build(server, key, retries, "api/v1/")
    }

    pub(crate) fn build(
        server: &str,
        key: &ApiKey,
        retries: Retries,
        prefix: &str,
    ) -> Result<Self, NotAClient> {
        let not_a_server = || NotAClient::Url(server.to_owned());
        let text = server.trim_end_matches('/').trim_end_matches("/api/v1");
        let address = Url::parse(text).map_err(|_| not_a_server())?;
        if !matches!(address.scheme(), "http" | "https") || address.query().is_some() {
            return Err(not_a_server());
        }
        if !address.username().is_empty() || address.password().is_some() {
            return Err(NotAClient::Credentials);
        }
        let server = address.as_str().trim_end_matches('/').to_owned();
        let base = Url::parse(&format!("{server}/{prefix}")).map_err(|_| not_a_server())?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(&address)?)
            .user_agent(concat!("sms-client/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .redirect(Policy::none())
            .build()
            .map_err(|error| NotAClient::Http(error.to_string()))?;
        let bearer = format!("Bearer {}", key.as_str());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| NotAClient::Key)?;
        if key.as_str().is_empty() || key.as_str().contains(char::is_whitespace) {
            return Err(NotAClient::Key);
        }
        authorization.set_sensitive(true);
        let transport = Arc::new(Transport { http, server, authorization, retries });
        Ok(Self { transport, base })
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        &self.transport.server
    }

    pub(crate) fn transport(&self) -> &Arc<Transport> {
        &self.transport
    }

    /// The URL of a path; each part of it is escaped.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        // The base is http or https, whose paths have parts.
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().extend(path);
        }
        url
    }

    /// The URL of a path with the fields of `filter` that are set as its query.
    pub(crate) fn url_with<F: Serialize>(&self, path: &[&str], filter: &F) -> Result<Url, Error> {
        let mut url = self.url(path);
        if let serde_json::Value::Object(fields) = serde_json::to_value(filter)? {
            for (name, value) in fields {
                let text = match value {
                    serde_json::Value::Null => continue,
                    serde_json::Value::String(text) => text,
                    other => other.to_string(),
                };
                url.query_pairs_mut().append_pair(&name, &text);
            }
        }
        Ok(url)
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Call<T> {
        self.call(Outgoing::get(self.url(path)))
    }

    pub(crate) fn get_with<T: DeserializeOwned, F: Serialize>(
        &self,
        path: &[&str],
        filter: &F,
    ) -> Call<T> {
        let outgoing = self.url_with(path, filter).map(Outgoing::get);
        Call::new(self.transport.clone(), outgoing, data::<T>)
    }

    pub(crate) fn list<T, M, F>(&self, path: &[&str], filter: &F) -> Listing<T, M>
    where
        T: DeserializeOwned + Send + 'static,
        M: NextPage + DeserializeOwned + Send + 'static,
        F: Serialize,
    {
        Listing::new(self.transport.clone(), self.url_with(path, filter))
    }

    /// POST without a body.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &[&str]) -> Call<T> {
        self.post_empty(path, data::<T>)
    }

    /// POST without a body, whose answer this reads.
    pub(crate) fn post_empty<T>(
        &self,
        path: &[&str],
        read: fn(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Call<T> {
        let outgoing = self.outgoing(Method::POST, path, None);
        Call::new(self.transport.clone(), Ok(outgoing), read)
    }

    pub(crate) fn post_json<T: DeserializeOwned, B: Serialize>(
        &self,
        path: &[&str],
        body: &B,
    ) -> Call<T> {
        self.send_json(Method::POST, path, body, data::<T>)
    }

    pub(crate) fn patch_json<T: DeserializeOwned, B: Serialize>(
        &self,
        path: &[&str],
        body: &B,
    ) -> Call<T> {
        self.send_json(Method::PATCH, path, body, data::<T>).repeatable()
    }

    pub(crate) fn delete(&self, path: &[&str]) -> Call<()> {
        let outgoing = self.outgoing(Method::DELETE, path, None);
        Call::new(self.transport.clone(), Ok(outgoing), crate::call::nothing)
    }

    pub(crate) fn send_json<T, B: Serialize>(
        &self,
        method: Method,
        path: &[&str],
        body: &B,
        read: fn(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Call<T> {
        let body = serde_json::to_vec(body).map_err(Error::from);
        let outgoing = body.map(|body| self.outgoing(method, path, Some(body)));
        Call::new(self.transport.clone(), outgoing, read)
    }

    fn call<T: DeserializeOwned>(&self, outgoing: Outgoing) -> Call<T> {
        Call::new(self.transport.clone(), Ok(outgoing), data::<T>)
    }

    fn outgoing(&self, method: Method, path: &[&str], body: Option<Vec<u8>>) -> Outgoing {
        let repeat = Repeat::OnlyIfUntaken;
        let (url, headers) = (self.url(path), HeaderMap::new());
        Outgoing { method, url, accept: JSON, headers, body, repeat }
    }
}

/// Trusts what the system trusts, so that a company's own authority works. A machine without any
/// certificates of its own gets those of Mozilla. Nothing is installed for the process.
fn tls(server: &Url) -> Result<ClientConfig, rustls::Error> {
    let builder = || {
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
    };
    if server.scheme() == "http" {
        // Redirects are not followed, so no certificate is ever looked at.
        let none = RootCertStore::empty();
        return Ok(builder()?.with_root_certificates(none).with_no_client_auth());
    }
    if let Ok(config) = builder()?.with_platform_verifier() {
        return Ok(config.with_no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    Ok(builder()?.with_root_certificates(roots).with_no_client_auth())
}

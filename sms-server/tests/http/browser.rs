//! A browser with a page of the console: it keeps the cookie, says where requests come from, and
//! sends the token of the page with every change.

use poem::http::Method;
use serde_json::{Value, json};

use crate::rig::{Ask, Client, Reply, Rig};

/// Where the page came from.
const OWN: &str = "https://sms.example.com";

/// A browser that is signed in.
#[derive(Clone)]
pub(crate) struct Browser {
    client: Client,
    /// The pair of name and value.
    pub cookie: String,
    /// What signing in answered.
    pub session: Value,
}

/// A request by a page of the server, without a cookie.
pub(crate) fn from_page(client: &Client, method: Method, path: &str) -> Ask {
    client.ask_at(method, path).header("Host", "sms.example.com").header("Origin", OWN)
}

/// Asks to sign in.
pub(crate) async fn sign_in(rig: &Rig, key: &str) -> Reply {
    // No log may show it, whatever its form.
    sms_test_log::secret(key);
    let ask = from_page(&rig.client(None), Method::POST, "/console/session");
    ask.json(&json!({ "key": key })).send().await
}

impl Browser {
    /// Signs in with an API key or the operator's token.
    pub(crate) async fn sign_in(rig: &Rig, key: &str) -> Self {
        let reply = sign_in(rig, key).await.assert(200);
        let cookie = reply.header("set-cookie").split(';').next().unwrap().to_owned();
        sms_test_log::secret(cookie.split_once('=').unwrap().1);
        sms_test_log::secret(reply.json["csrf"].as_str().unwrap());
        Self { client: rig.client(None), cookie, session: reply.json }
    }

    pub(crate) fn csrf(&self) -> &str {
        self.session["csrf"].as_str().unwrap()
    }

    /// The value of the cookie.
    pub(crate) fn token(&self) -> &str {
        self.cookie.split_once('=').unwrap().1
    }

    /// A request with the cookie alone.
    pub(crate) fn with_cookie(&self, method: Method, path: &str) -> Ask {
        self.client.ask_at(method, path).header("Cookie", &self.cookie)
    }

    /// A request as the page makes it.
    pub(crate) fn ask(&self, method: Method, path: &str) -> Ask {
        let is_change = method != Method::GET;
        let ask = from_page(&self.client, method, path).header("Cookie", &self.cookie);
        if is_change { ask.header("X-CSRF-Token", self.csrf()) } else { ask }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.ask(Method::POST, path).json(&body).send().await
    }

    /// Sends a form of a page.
    pub(crate) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let fields = [("csrf", self.csrf())].into_iter().chain(fields.iter().copied());
        let pairs = fields.map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let ask = self.ask(Method::POST, path).raw(body);
        ask.header("Content-Type", "application/x-www-form-urlencoded").send().await
    }
}

/// A text as a part of a form's body.
pub(crate) fn escaped(text: &str) -> String {
    let letter = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}

//! What every command needs: the form of its output, and a client.

use std::{env, fs};

use clap::Args;
use sms_client::{ApiKey, Client, OperatorClient};
use sms_core::secret_setting::secret_setting;

use crate::failure::Failure;
use crate::output::Form;
use crate::profile::{Profile, Profiles};

/// The server of `sms login`, if nothing names another.
pub(crate) const LOCAL: &str = "http://127.0.0.1:8080";

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print JSON instead of text, for errors too
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// The saved key to use
    #[arg(long, global = true, value_name = "NAME", default_value = "default")]
    #[arg(help_heading = "Global options")]
    pub profile: String,
    /// The server's URL; overrides SMS_API_URL and the profile
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    pub url: Option<String>,
}

/// What every command needs.
#[derive(Debug)]
pub(crate) struct Context {
    pub form: Form,
    pub profile: String,
    url: Option<String>,
}

/// Which server and which key a command uses.
pub(crate) struct Access {
    pub url: String,
    pub key: ApiKey,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// It sends and charges.
    Live,
    /// It simulates: nothing is sent or charged.
    Test,
}

impl KeyKind {
    pub(crate) fn of(key: &ApiKey) -> Self {
        if key.as_str().starts_with("cc_test_") { Self::Test } else { Self::Live }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }
}

/// The secret in this variable, or in the file that the variable with `_FILE` names.
pub(crate) fn secret(name: &str) -> Result<Option<String>, Failure> {
    let found = secret_setting(name, &|name| env::var(name), &|file| fs::read_to_string(file));
    found.map_err(|refused| Failure::Usage(refused.to_string()))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

impl Context {
    pub(crate) fn new(global: Global) -> Self {
        let Global { json, profile, url } = global;
        Self { form: if json { Form::Json } else { Form::Text }, profile, url }
    }

    fn saved(&self) -> Result<Option<Profile>, Failure> {
        Ok(Profiles::read()?.get(&self.profile).cloned())
    }

    /// The server: what the command line names, then the environment, then the profile.
    pub(crate) fn server(&self) -> Result<String, Failure> {
        let named = self.url.clone().or_else(|| variable("SMS_API_URL"));
        if let Some(url) = named {
            return Ok(url);
        }
        Ok(self.saved()?.map_or_else(|| LOCAL.to_owned(), |profile| profile.url))
    }

    /// The server and the key. The environment goes before the profile. A saved key goes to the
    /// server that it was saved for, and to no other.
    pub(crate) fn access(&self) -> Result<Access, Failure> {
        let url = self.server()?;
        if let Some(key) = secret("SMS_API_KEY")? {
            return Ok(Access { url, key: ApiKey::from(key) });
        }
        let saved = self.saved()?.ok_or_else(|| Failure::NoKey(self.profile.clone()))?;
        // In the form in which `sms login` saves it.
        let named = Client::new(&url, &saved.key)?.server().to_owned();
        if named != saved.url {
            let (profile, own) = (self.profile.clone(), saved.url);
            return Err(Failure::KeyOfAnotherServer { profile, own, named });
        }
        Ok(Access { url, key: saved.key })
    }

    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let Access { url, key } = self.access()?;
        Ok(Client::new(&url, &key)?)
    }

    /// A client of the operator's API. Its token is in the environment alone.
    pub(crate) fn operator(&self) -> Result<OperatorClient, Failure> {
        let token = secret("SMS_ADMIN_TOKEN")?.ok_or(Failure::NoToken)?;
        let url = variable("SMS_ADMIN_URL").map_or_else(|| self.server(), Ok)?;
        Ok(OperatorClient::new(&url, &ApiKey::from(token))?)
    }
}

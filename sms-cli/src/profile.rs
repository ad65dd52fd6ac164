//! The saved keys: a file in the folder for configuration, readable by its owner alone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use etcetera::{BaseStrategy as _, choose_base_strategy};
use serde::{Deserialize, Serialize};
use sms_client::{ApiKey, WebhookSecret};

use crate::failure::Failure;
use crate::private_file;
use crate::style::tell;

/// A server and a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Profile {
    pub url: String,
    pub key: ApiKey,
    /// What `sms listen` signs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_secret: Option<WebhookSecret>,
}

/// All saved keys, by the names of their profiles.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Profiles {
    profiles: BTreeMap<String, Profile>,
}

/// Where the keys are saved.
pub(crate) fn file() -> Result<PathBuf, Failure> {
    let folders = choose_base_strategy().map_err(|_| Failure::NoHome)?;
    Ok(folders.config_dir().join("sms").join("profiles.json"))
}

/// Where a command keeps what it needs to go on after an interruption.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    let folders = choose_base_strategy().map_err(|_| Failure::NoHome)?;
    Ok(folders.state_dir().unwrap_or_else(|| folders.data_dir()).join("sms"))
}

impl Profiles {
    pub(crate) fn read() -> Result<Self, Failure> {
        let file = file()?;
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::file(file)(error)),
        };
        if private_file::is_open_to_others(&file) {
            let file = file.display();
            tell(&format!("warning: others can read your keys: chmod 600 {file}"));
        }
        // The cause would show a part of the file, which may be a part of a key.
        let problem = || "it is not a file of `sms login`: remove it and log in again".to_owned();
        serde_json::from_str(&text).map_err(|_| Failure::Content { file, problem: problem() })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    pub(crate) fn set(&mut self, name: &str, profile: Profile) {
        self.profiles.insert(name.to_owned(), profile);
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Profile> {
        self.profiles.remove(name)
    }

    pub(crate) fn write(&self) -> Result<(), Failure> {
        let file = file()?;
        let text = serde_json::to_vec_pretty(self).map_err(sms_client::Error::from)?;
        private_file::write(&file, &text).map_err(Failure::file(file))
    }
}

//! Templates: saved texts.

use serde::{Deserialize, Serialize};

use crate::call::{Call, KeyedCall};
use crate::client::Client;
use crate::ids::TemplateId;
use crate::listing::Listing;
use crate::private_text::Words;
use crate::timestamp::Timestamp;

/// A saved text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Its id.
    pub id: TemplateId,
    /// Its name.
    pub name: String,
    /// Its words.
    pub body: Words,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// A new template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TemplateInput {
    /// Its name.
    pub name: String,
    /// Its words.
    pub body: Words,
}

/// Changes to a template.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TemplatePatch {
    /// A new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Words>,
}

/// Which templates a list has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TemplateFilter {
    /// Words to find in name or text.
    pub q: Option<String>,
}

impl Client {
    /// Lists templates, newest first.
    pub fn template_list(&self, filter: &TemplateFilter) -> Listing<Template> {
        self.list(&["templates"], filter)
    }

    /// Makes a template.
    pub fn template_create(&self, input: &TemplateInput) -> KeyedCall<Template> {
        self.post_json(&["templates"], input).keyed()
    }

    /// Reads a template.
    pub fn template_get(&self, id: &TemplateId) -> Call<Template> {
        self.get(&["templates", id.as_str()])
    }

    /// Changes a template.
    pub fn template_update(&self, id: &TemplateId, patch: &TemplatePatch) -> Call<Template> {
        self.patch_json(&["templates", id.as_str()], patch)
    }

    /// Deletes a template.
    pub fn template_delete(&self, id: &TemplateId) -> Call<()> {
        self.delete(&["templates", id.as_str()])
    }
}

//! Ids: a prefix that says what they identify, an underscore, and an opaque rest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id of a {kind}: it begins with {prefix}_")]
pub struct NotAnId {
    kind: &'static str,
    prefix: &'static str,
}

macro_rules! ids {
    ($($name:ident, $prefix:literal, $kind:literal;)+) => {
        $(
            #[doc = concat!("The id of a ", $kind, ", which begins with `", $prefix, "_`.")]
            #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            #[serde(transparent)]
            pub struct $name(String);

            impl $name {
                /// The whole id.
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(&self.0)
                }
            }

            impl FromStr for $name {
                type Err = NotAnId;

                fn from_str(text: &str) -> Result<Self, NotAnId> {
                    let rest = text.strip_prefix(concat!($prefix, "_"));
                    match rest {
                        Some(rest) if is_opaque(rest) => Ok(Self(text.to_owned())),
                        _ => Err(NotAnId { kind: $kind, prefix: $prefix }),
                    }
                }
            }
        )+
    };
}

fn is_opaque(rest: &str) -> bool {
    !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

ids! {
    ApiKeyId, "key", "API key";
    BatchId, "bat", "batch";
    CampaignId, "cmp", "campaign";
    ContactId, "con", "contact";
    DeliveryId, "whd", "webhook delivery";
    EventId, "evt", "event";
    KeywordId, "kw", "keyword";
    LinkId, "lnk", "tracked link";
    ListId, "lst", "list";
    MessageId, "msg", "message";
    NumberId, "gw", "dedicated number";
    SenderNameId, "snd", "sender name";
    TemplateId, "tpl", "template";
    WebhookId, "whk", "webhook endpoint";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_prefix_of_its_kind_and_a_plain_rest() {
        assert_eq!("msg_01k9z1f7".parse::<MessageId>().unwrap().as_str(), "msg_01k9z1f7");
        for text in ["", "msg_", "bat_01k9z1f7", "msg_../balance", "msg_0 1", "MSG_01"] {
            let refused = text.parse::<MessageId>().unwrap_err();
            assert_eq!(refused.to_string(), "not an id of a message: it begins with msg_");
        }
    }
}

//! What a page says briefly after a change. Addresses carry the key of a sentence, never its text.

/// Declares the sentences with their keys.
macro_rules! said {
    ($($name:ident = $key:literal: $words:literal,)+) => {
        /// A sentence that a page says once.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Said {
            $(#[doc = $words] $name,)+
        }

        impl Said {
            /// Every sentence, in alphabetical order.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// How addresses name it.
            pub fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)+ }
            }

            /// The sentence as people read it, with its full stop.
            pub fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)+ }
            }
        }
    };
}

// In alphabetical order, in one line each where it fits.
said! {
    AccountActive = "account-active": "The account is active.",
    AccountAdded = "account-added": "The account is added.",
    AccountSuspended = "account-suspended": "The account is suspended.",
    ApiKeyRevoked = "api-key-revoked": "The key is revoked.",
    BalanceChanged = "balance-changed": "The balance is changed.",
    CampaignCancelled = "campaign-cancelled": "The campaign was cancelled.",
    CampaignLaunched = "campaign-launched": "Launched.",
    CampaignWaits = "campaign-waits": "Quiet hours are on: it waits until they end.",
    ContactAdded = "contact-added": "The contact was added.",
    ContactDeleted = "contact-deleted": "The contact was deleted.",
    DeletedAlready = "deleted-already": "It was deleted already.",
    DeliveryRetried =
        "delivery-retried": "The delivery was retried. Its last answer is in the table.",
    DraftDeleted = "draft-deleted": "The draft was deleted.",
    DraftSaved = "draft-saved": "The draft was saved.",
    EndpointChanged = "endpoint-changed": "The endpoint was changed elsewhere. Nothing was done.",
    EndpointDeleted = "endpoint-deleted": "The endpoint was deleted.",
    InboundRouted = "inbound-routed": "It is in the account’s inbox.",
    InboundUnrouted = "inbound-unrouted": "It belongs to no account: it is unrouted.",
    KeywordDeleted = "keyword-deleted": "The keyword is deleted.",
    KeywordSaved = "keyword-saved": "The keyword is saved.",
    ListDeleted = "list-deleted": "The list was deleted.",
    ListMade = "list-made": "The list was created.",
    MessageCancelled = "message-cancelled": "Cancelled.",
    NumberAdded = "number-added": "The number is added.",
    NumberCheckedIn = "number-checked-in": "The gateway counts as online for 5 minutes.",
    NumberReleased = "number-released": "The number is released.",
    NumberReleasedAlready = "number-released-already": "The number was released already.",
    OptOutAdded = "opt-out-added": "The number gets no more messages.",
    OptOutRemoved = "opt-out-removed": "The opt-out is removed.",
    OptOutRemovedAlready = "opt-out-removed-already": "The opt-out was removed already.",
    PeopleAdded = "people-added": "They were added.",
    ReplySent = "reply-sent": "Sent.",
    Saved = "saved": "Saved.",
    SenderNameApproved = "sender-name-approved": "The name is approved.",
    SenderNameAsked = "sender-name-asked": "The name is waiting for review.",
    SenderNameRejected = "sender-name-rejected": "The name is rejected.",
    SettingsSaved = "settings-saved": "The settings are saved.",
    SignedOut = "signed-out": "You are signed out.",
    TemplateDeleted = "template-deleted": "The template is deleted.",
    TemplateSaved = "template-saved": "The template is saved.",
    TimePassed = "time-passed": "Time has passed, and everything that fell due was done.",
    TriedDraft = "tried-draft": "It is on its way to your phone.",
}

impl Said {
    /// The sentence with this key; `None` if there is none.
    pub fn of(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|said| said.key() == key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_sentence_has_a_key_of_its_own_and_ends() {
        let keys: BTreeSet<_> = Said::ALL.iter().map(|said| said.key()).collect();
        assert_eq!(keys.len(), Said::ALL.len());
        for said in Said::ALL {
            assert_eq!(Said::of(said.key()), Some(*said));
            assert!(said.words().ends_with('.'), "{}", said.words());
        }
        assert_eq!(Said::of("<b>"), None);
    }
}

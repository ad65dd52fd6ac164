//! Text that belongs in no log: numbers, bodies and keys.

/// Declares a text whose `Debug` shows nothing of it.
macro_rules! private_text {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        /// Shows nothing of the text.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    };
}

private_text! {
    /// A phone number: any common form in requests, E.164 in answers. Or a short code or a name, as
    /// it came, that an inbound message is from.
    Phone
}

private_text! {
    /// The words of a message, or what somebody noted about a person.
    Words
}

private_text! {
    /// The secret of a webhook endpoint, `whsec_` included.
    WebhookSecret
}

private_text! {
    /// An API key, or an operator's token.
    ApiKey
}

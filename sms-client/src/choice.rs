//! Values that the API names with a word. Newer servers may know more of them than this crate, so
//! each such type keeps a word that it does not know.

/// Declares an enum of words that stays open for new ones.
macro_rules! open_choice {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A word that this version of the crate does not know.
            Other(String),
        }

        impl $name {
            /// The words that this version knows, in the order of the API's document.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of the API.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word.to_owned()),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Ok(Self::from(word))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
                Ok(Self::from(word.as_ref()))
            }
        }
    };
}

pub(crate) use open_choice;

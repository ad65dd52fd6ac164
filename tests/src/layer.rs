//! Stores that wrap another store, to observe it, to fail or to introduce a defect.
//!
//! Store traits have no default bodies, so a store must write every method. A [`Layer`] passes
//! calls on by default and overrides some; [`Layered`] makes a store of it. `layer/calls.rs` lists
//! the methods once.

use std::fmt;

use async_trait::async_trait;

mod answer;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod prelude;

pub use answer::Answer;
use calls::store_calls;
use prelude::*;

/// Whether a layer passes a call or an answer on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It passes it on.
    Through,
    /// It answers that the store cannot be reached.
    Fails,
}

/// What all calls of a wrapping store have in common.
pub trait Layer: Send + Sync + fmt::Debug {
    /// The wrapped store.
    fn below(&self) -> &dyn Store;

    /// Runs before each call that is passed on.
    fn before(&self, _call: &'static str) -> impl Future<Output = Pass> + Send {
        std::future::ready(Pass::Through)
    }

    /// Runs after such a call, before its caller gets the answer.
    fn answered(&self, _call: &'static str) -> Pass {
        Pass::Through
    }
}

/// The first of some expressions.
macro_rules! first {
    ($first:expr $(, $other:expr)?) => {
        $first
    };
}
pub(crate) use first;

/// Generates a layer for each noun, and the store that combines them.
macro_rules! layers {
    ($($layer:ident {
        $($noun:ident {
            $($name:ident($($arg:ident: $type:ty),*)
                -> $answer:ty $(, of $list:ident)? $(, as $call:expr)?;)*
        })+
    })*) => {
        $(
            #[doc = concat!(
                "The calls of" $(, " [`", stringify!($noun), "`]")+, ": each is passed on."
            )]
            pub trait $layer: Layer {
                $($(
                    #[doc = concat!("Passes `", stringify!($name), "` on.")]
                    fn $name(&self, $($arg: $type),*) -> impl Future<Output = $answer> + Send {
                        async move {
                            let asked = 0 $(+ $list.len())?;
                            let call = first!($($call,)? stringify!($name));
                            if self.before(call).await == Pass::Fails {
                                return Answer::unavailable(asked);
                            }
                            let answer = self.below().$name($($arg),*).await;
                            match self.answered(call) {
                                Pass::Through => answer,
                                Pass::Fails => Answer::unavailable(asked),
                            }
                        }
                    }
                )*)+
            }

            $(
                #[async_trait]
                impl<L: $layer> $noun for Layered<L> {
                    $(
                        async fn $name(&self, $($arg: $type),*) -> $answer {
                            self.0.$name($($arg),*).await
                        }
                    )*
                }
            )+
        )*
    };
}
store_calls!(layers);

/// Lists the methods of each noun.
macro_rules! methods {
    ($($layer:ident {
        $($noun:ident {
            $($name:ident($($arg:ident: $type:ty),*)
                -> $answer:ty $(, of $list:ident)? $(, as $call:expr)?;)*
        })+
    })*) => {
        /// The layer of each noun, with the methods of its store traits.
        pub const METHODS: &[(&str, &[&str])] =
            &[$((stringify!($layer), &[$($(stringify!($name),)*)+])),*];
    };
}
store_calls!(methods);

/// The store that a layer is.
#[derive(Debug)]
pub struct Layered<L>(pub L);

/// Declares the nouns that a layer does not change.
macro_rules! passes_on {
    ($type:ty: $($layer:ident)*) => {
        $(impl $crate::layer::$layer for $type {})*
    };
}
pub(crate) use passes_on;

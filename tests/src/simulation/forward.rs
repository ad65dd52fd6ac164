//! Forwarding for stores that stand before another store.
//!
//! Store traits have no default bodies, so a decorator has to write every method. [`forward`]
//! writes those that only pass their arguments on; the type says with `before` what happens first.

/// Implements a store trait for a type with a field `inner: Arc<dyn Store>` and an async method
/// `before(&self, name)`: the methods listed are passed on, those in `own` are written out.
macro_rules! forward {
    (
        impl $trait:ident for $store:ident {
            $($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*
        }
        $(own { $($own:tt)* })?
    ) => {
        #[async_trait::async_trait]
        impl $trait for $store {
            $(
                async fn $name(&self, $($arg: $kind),*) -> $answer {
                    self.before(stringify!($name)).await;
                    self.inner.$name($($arg),*).await
                }
            )*
            $($($own)*)?
        }
    };
}
pub(crate) use forward;

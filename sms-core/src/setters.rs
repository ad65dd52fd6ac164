//! The setters of inputs, changes and filters.

/// Writes setters: each takes a value and returns it with one field replaced. A setter without a
/// parameter turns something on.
macro_rules! setters {
    ($name:ident { $($(#[$doc:meta])* $field:ident($($value:ident: $type:ty)?) = $to:expr;)* }) => {
        impl $name { $(
            $(#[$doc])*
            #[must_use]
            pub fn $field(mut self $(, $value: $type)?) -> Self {
                self.$field = $to;
                self
            }
        )* }
    };
}

pub(crate) use setters;

//! One statement for any number of rows: each column is an array, and `UNNEST` makes them rows.
//!
//! [`rows_query!`] keeps the name of a column, its SQL type and its value on one line, so that the
//! list of columns, the list of parameters and the order in which they are bound cannot differ:
//!
//! ```text
//! rows_query!(
//!     [time(at)]
//!     "UPDATE queue q SET attempt = new.attempt, claimable_at = $1
//!      FROM " rows(entry in &entries) as new {
//!         message_id: uuid = uuid(entry.message),
//!         attempt: integer = saturated(entry.attempt),
//!      } "
//!      WHERE q.message_id = new.message_id"
//! )
//! ```
//!
//! is a query with the text
//!
//! ```text
//! UPDATE queue q SET attempt = new.attempt, claimable_at = $1
//! FROM UNNEST($2::uuid[], $3::integer[]) AS new (message_id, attempt)
//! WHERE q.message_id = new.message_id
//! ```
//!
//! to which the moment and two arrays are bound. The text is made while compiling.
//!
//! - Values in brackets come first. They are `$1`, `$2` and so on.
//! - `rows(pattern in rows) as alias { … }` is a table of one row for each of `rows`, which is
//!   evaluated once per column. `rows(…) with_ordinality(place) as alias { … }` numbers them from 1
//!   in a last column.
//! - `insert(pattern in rows) { … }` is what follows the name of the table in an `INSERT`: its
//!   columns, and a `SELECT` of the rows.
//! - `..name!(value),` stands for columns that several statements write. `name` is a macro that
//!   hands its columns on with everything after the value:
//!
//!   ```text
//!   macro_rules! named {
//!       (($one:expr) $($query:tt)+) => {
//!           $crate::rows_query::rows_query!(@spread {
//!               name: text = $one.name.as_str(),
//!           } $($query)+)
//!       };
//!   }
//!   ```
//! - A macro that is a text, such as `delivery_columns!()`, may stand between the texts.

/// Makes a query from texts and rows: see the [module](self).
macro_rules! rows_query {
    // The first values, each with the next number.
    (@first [$_number:literal $($numbers:literal)*] {$($bind:tt)*}
        [$value:expr $(, $($values:tt)*)?] $($rest:tt)+) => {
        $crate::rows_query::rows_query!(@first [$($numbers)*] {$($bind)* .bind($value)}
            [$($($values)*)?] $($rest)+)
    };
    (@first $numbers:tt $bind:tt [] $($rest:tt)+) => {
        $crate::rows_query::rows_query!(@next $numbers {} $bind $($rest)+)
    };

    // What comes next: nothing more, a text, or rows.
    (@next $numbers:tt {$($sql:tt)*} {$($bind:tt)*}) => {
        sqlx::query(concat!($($sql)*)) $($bind)*
    };
    (@next $numbers:tt {$($sql:tt)*} $bind:tt $text:literal $($rest:tt)*) => {
        $crate::rows_query::rows_query!(@next $numbers {$($sql)* $text,} $bind $($rest)*)
    };
    (@next $numbers:tt {$($sql:tt)*} $bind:tt $text:ident!() $($rest:tt)*) => {
        $crate::rows_query::rows_query!(@next $numbers {$($sql)* $text!(),} $bind $($rest)*)
    };
    (@next $numbers:tt $sql:tt $bind:tt
        insert($each:pat in $rows:expr) $columns:tt $($rest:tt)*) => {
        $crate::rows_query::rows_query!(@column $numbers $sql $bind {} {} ""
            [insert] ($each) ($rows) $columns {$($rest)*})
    };
    (@next $numbers:tt $sql:tt $bind:tt
        rows($each:pat in $rows:expr) as $alias:ident $columns:tt $($rest:tt)*) => {
        $crate::rows_query::rows_query!(@column $numbers $sql $bind {} {} ""
            [rows $alias] ($each) ($rows) $columns {$($rest)*})
    };
    (@next $numbers:tt $sql:tt $bind:tt
        rows($each:pat in $rows:expr) with_ordinality($place:ident) as $alias:ident $columns:tt
        $($rest:tt)*) => {
        $crate::rows_query::rows_query!(@column $numbers $sql $bind {} {} ""
            [rows $alias $place] ($each) ($rows) $columns {$($rest)*})
    };

    // Columns of several statements, in the place of their name.
    (@column $numbers:tt $sql:tt $bind:tt $arrays:tt $names:tt $comma:literal
        $kind:tt $each:tt $rows:tt {..$shared:ident!$values:tt, $($columns:tt)*} $rest:tt) => {
        $shared!($values [$numbers $sql $bind $arrays $names $comma $kind $each $rows]
            {$($columns)*} $rest)
    };
    (@spread {$($shared:tt)*}
        [$numbers:tt $sql:tt $bind:tt $arrays:tt $names:tt $comma:tt $kind:tt $each:tt $rows:tt]
        {$($columns:tt)*} $rest:tt) => {
        $crate::rows_query::rows_query!(@column $numbers $sql $bind $arrays $names $comma
            $kind $each $rows {$($shared)* $($columns)*} $rest)
    };

    // A column: its array gets the next number, its values are bound.
    (@column [$number:literal $($numbers:literal)*] $sql:tt {$($bind:tt)*}
        {$($arrays:tt)*} {$($names:tt)*} $comma:literal
        $kind:tt ($each:pat) ($rows:expr)
        {$name:ident: $sql_type:ident = $value:expr, $($columns:tt)*} $rest:tt) => {
        $crate::rows_query::rows_query!(@column [$($numbers)*] $sql
            {$($bind)* .bind(
                IntoIterator::into_iter($rows).map(
                    |
                        #[allow(unused_variables, reason = "a column may need a part of the row")]
                        $each
                    | $value
                ).collect::<Vec<_>>()
            )}
            {$($arrays)* $comma, "$", $number, "::", stringify!($sql_type), "[]",}
            {$($names)* $comma, stringify!($name),} ", "
            $kind ($each) ($rows) {$($columns)*} $rest)
    };

    // All columns of these rows.
    (@column $numbers:tt {$($sql:tt)*} $bind:tt {$($arrays:tt)*} {$($names:tt)*} $comma:literal
        [insert] $each:tt $rows:tt {} {$($rest:tt)*}) => {
        $crate::rows_query::rows_query!(@next $numbers
            {$($sql)* "(", $($names)* ") SELECT * FROM UNNEST(", $($arrays)* ")",}
            $bind $($rest)*)
    };
    (@column $numbers:tt {$($sql:tt)*} $bind:tt {$($arrays:tt)*} {$($names:tt)*} $comma:literal
        [rows $alias:ident] $each:tt $rows:tt {} {$($rest:tt)*}) => {
        $crate::rows_query::rows_query!(@next $numbers
            {$($sql)* "UNNEST(", $($arrays)* ") AS ", stringify!($alias), " (", $($names)* ")",}
            $bind $($rest)*)
    };
    (@column $numbers:tt {$($sql:tt)*} $bind:tt {$($arrays:tt)*} {$($names:tt)*} $comma:literal
        [rows $alias:ident $place:ident] $each:tt $rows:tt {} {$($rest:tt)*}) => {
        $crate::rows_query::rows_query!(@next $numbers
            {$($sql)* "UNNEST(", $($arrays)* ") WITH ORDINALITY AS ", stringify!($alias), " (",
             $($names)* ", ", stringify!($place), ")",}
            $bind $($rest)*)
    };

    ([$($first:tt)*] $($rest:tt)+) => {
        $crate::rows_query::rows_query!(@first
            [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
             29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52
             53 54 55 56 57 58 59 60 61 62 63 64]
            {} [$($first)*] $($rest)+)
    };
    ($text:literal $($rest:tt)+) => {
        $crate::rows_query::rows_query!([] $text $($rest)+)
    };
}
pub(crate) use rows_query;

#[cfg(test)]
mod tests {
    use sqlx::{Arguments, Execute};

    macro_rules! named {
        (($one:expr) $($query:tt)+) => {
            rows_query!(@spread { name: text = $one.1, } $($query)+)
        };
    }

    macro_rules! identified {
        (($one:expr) $($query:tt)+) => {
            rows_query!(@spread { id: bigint = $one.0, ..named!($one), } $($query)+)
        };
    }

    macro_rules! suffix {
        () => {
            " RETURNING id"
        };
    }

    #[test]
    fn columns_and_parameters_stand_in_the_same_order() {
        let rows = [(1_i64, "one"), (2, "two")];
        let mut query = rows_query!(
            [true, "two"]
            "WITH old AS (SELECT $1, $2 FROM " rows((id, _) in &rows) as was {
                id: bigint = *id,
            } ")
            INSERT INTO numbered " insert((id, name) in &rows) {
                id: bigint = *id,
                name: text = *name,
            } suffix!()
        );
        let bound = query.take_arguments().ok().flatten().map(|bound| bound.len());
        assert_eq!(bound, Some(5));
        assert_eq!(
            query.sql().as_str(),
            "WITH old AS (SELECT $1, $2 FROM UNNEST($3::bigint[]) AS was (id))
            INSERT INTO numbered (id, name) SELECT * FROM UNNEST($4::bigint[], $5::text[]) \
             RETURNING id"
        );
    }

    #[test]
    fn statements_can_share_columns() {
        let query = rows_query!(
            "INSERT INTO numbered " insert(one in [(7_i64, "seven")]) {
                ..identified!(one),
                place: integer = 1,
            }
        );
        let expected = "INSERT INTO numbered (id, name, place) \
                        SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::integer[])";
        assert_eq!(query.sql().as_str(), expected);
    }

    #[test]
    fn rows_can_be_numbered() {
        let query = rows_query!(
            "SELECT place FROM " rows(id in [7_i64]) with_ordinality(place) as wanted {
                id: bigint = id,
            }
        );
        let expected =
            "SELECT place FROM UNNEST($1::bigint[]) WITH ORDINALITY AS wanted (id, place)";
        assert_eq!(query.sql().as_str(), expected);
    }
}

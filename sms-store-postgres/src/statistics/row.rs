//! Rows of changes to the statistics.

/// The columns of a change to the statistics, in an `INSERT INTO statistic_change`.
macro_rules! counted {
    (($count:expr) $($query:tt)+) => {
        $crate::rows_query::rows_query!(@spread {
            account_id: uuid = $crate::row::uuid($count.account),
            at: timestamptz = $crate::row::time($count.at),
            counted: text = $count.counted.as_str(),
            amount: bigint = $count.amount,
        } $($query)+)
    };
}
pub(crate) use counted;

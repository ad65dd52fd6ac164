//! Rows of idempotency keys.

/// The part of an `INSERT INTO idempotency_key AS known` that writes over a key, if a condition
/// follows and holds.
macro_rules! take_over {
    () => {
        "
        ON CONFLICT (account_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, batch_id = excluded.batch_id,
            rejected = excluded.rejected, gaps = excluded.gaps, credits = excluded.credits,
            balance = excluded.balance, accepted_at = excluded.accepted_at,
            answer = excluded.answer"
    };
}
pub(crate) use take_over;

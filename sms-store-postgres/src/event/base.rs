//! What positions of events start from, and which transactions readers need not wait for.

use sqlx::{PgConnection, PgPool};

use crate::error::PgResult;

/// Far more transactions than any server runs.
const ROOM: i64 = 1 << 40;

/// Has positions go on above all that the database has ever given out, if it has come to another
/// server: there transactions have smaller numbers. Call it before the database is served.
pub(crate) async fn adopt(pool: &PgPool) -> PgResult<()> {
    let adopt = sqlx::query(
        "WITH here AS (
             SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || d.oid AS origin
             FROM pg_database d WHERE d.datname = current_database())
         UPDATE event_base b SET base = b.base + $1, origin = here.origin
         FROM here WHERE b.origin <> here.origin",
    );
    adopt.bind(ROOM).execute(pool).await?;
    Ok(())
}

/// Has positions go on above those of copied events.
pub(crate) async fn go_on_after_copy(connection: &mut PgConnection) -> PgResult<()> {
    let go_on = sqlx::query(
        "UPDATE event_base SET base = GREATEST(base, (SELECT max(seq) FROM event)) + $1",
    );
    go_on.bind(ROOM).execute(connection).await?;
    Ok(())
}

/// Says that this transaction raises no events, so that readers of the log do not wait for it. To
/// be called before the transaction writes, and only if it takes long.
pub(crate) async fn raise_none(connection: &mut PgConnection) -> PgResult<()> {
    // The lock that `event_horizon` looks for. Nobody waits for it.
    let lock = sqlx::query("SELECT pg_advisory_xact_lock_shared(1936552293, 1)");
    lock.execute(connection).await?;
    Ok(())
}

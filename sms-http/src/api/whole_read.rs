//! Reads for answers that are streamed: a client may go at any time.

use std::future::pending;
use std::panic::resume_unwind;

use tracing::Instrument as _;

/// Runs a read to its end, also if whoever waits for it is dropped. The store works on it until
/// then in any case, and so its account must have its turn until then: one that asks and goes,
/// again and again, would have more reads under way than its turns.
pub(super) async fn to_its_end<T: Send + 'static>(
    read: impl Future<Output = T> + Send + 'static,
) -> T {
    match tokio::spawn(read.in_current_span()).await {
        Ok(found) => found,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(_) => pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_read_goes_on_to_its_end_when_its_client_goes() {
        let (work, done) = oneshot::channel();
        let (turn, ended) = oneshot::channel::<()>();
        let read = async move {
            let _turn = turn;
            done.await.ok()
        };
        {
            let mut asked = pin!(to_its_end(read));
            assert!(asked.as_mut().now_or_never().is_none());
        }
        let mut ended = pin!(ended);
        tokio::task::yield_now().await;
        assert!(ended.as_mut().now_or_never().is_none(), "its turn lasts as long as the work");
        work.send("rows").unwrap();
        assert!(ended.await.is_err(), "its turn is over");
        assert_eq!(to_its_end(async { "rows" }).await, "rows");
    }
}

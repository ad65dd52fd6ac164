//! The loop that charges due rent of numbers.

use std::future::pending;
use std::time::Duration;

use sms_core::number::rent::RentsCharged;
use sms_core::service::Work;

use crate::worker::{Rest, Worker};

/// How many numbers are charged for at once.
const BATCH: usize = 200;
/// The longest sleep. No bell rings for rent, which is to be charged within a minute.
const LONGEST_SLEEP: Duration = Duration::from_secs(15);

pub(crate) async fn run(mut worker: Worker) {
    while !worker.is_stopping() {
        match worker.sms.charge_rents(BATCH).await {
            Ok(RentsCharged { taken: 0, unpaid }) if unpaid < BATCH => {
                let rest = Rest { longest: LONGEST_SLEEP, ..Rest::default() };
                worker.rest_for(Work::Rents, rest, pending()).await;
            }
            Ok(charged) => metrics::counter!("sms_rents_total").increment(charged.taken as u64),
            Err(error) => worker.failed("charging rent", &error).await,
        }
    }
}

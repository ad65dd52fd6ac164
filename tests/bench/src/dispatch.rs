//! Messages claimed, handed over and recorded a second, with a network that takes everything at
//! once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::sending::request::SendRequest;
use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::Server as Postgres;

use crate::Failed;
use crate::stock::{drama_numbers, stock};
use crate::table::{Row, print};
use crate::taker::Taker;

const TEXTS: usize = 50_000;
const BATCH: usize = 500;

pub(crate) async fn claims_and_outcomes(postgres: &Postgres) -> Result<(), Failed> {
    for workers in [1, 2] {
        let database = format!("dispatch_{workers}");
        postgres.create_database(&database).await;
        let url = postgres.url(&database);
        let stock = stock(&url, 4).await?;
        for call in 0..TEXTS / 1_000 {
            let (account, _) = stock.accounts[call % 4];
            let mut request = SendRequest::new("A text of the measurement");
            request.to = drama_numbers();
            stock.sms.account(account, Mode::Live).send(request).await?;
        }
        let store = PgStore::connect(&url, PgSettings::default()).await?;
        let taker = Arc::new(Taker::new());
        let sms = Sms::builder(Arc::new(store)).route(taker).build();
        let started = Instant::now();
        let working: Vec<_> = (0..workers).map(|_| tokio::spawn(work(sms.clone()))).collect();
        let mut sent = 0;
        for worker in working {
            sent += worker.await??;
        }
        let per_second = sent as f64 / started.elapsed().as_secs_f64();
        print(&Row::new(format!("messages claimed and recorded, {workers} workers"), per_second));
    }
    Ok(())
}

async fn work(sms: Sms) -> Result<usize, Failed> {
    let mut sent = 0;
    loop {
        let done = sms.dispatch_due(BATCH).await?;
        sent += done.sent;
        if done.claimed == 0 {
            return Ok(sent);
        }
        tokio::time::sleep(Duration::ZERO).await;
    }
}

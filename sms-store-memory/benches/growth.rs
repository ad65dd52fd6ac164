//! What the memory store's operations cost at ten thousand, a hundred thousand and a million
//! messages:
//! `cargo bench -p sms-store-memory`. Each figure stands beside the same at the smallest size; what
//! grows with the number of messages shows as a ratio far from 1.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use sms_core::clock::ManualClock;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::filter::Search;
use sms_core::prelude::*;
use sms_core::random::{SeededRandom, SplitMix};
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// Recipients of one send.
const BATCH: usize = 1_000;
/// How often each operation is made.
const ROUNDS: usize = 200;

struct Rig {
    sms: Sms,
    clock: Arc<ManualClock>,
    account: AccountId,
    ids: Vec<MessageId>,
    random: SplitMix,
}

impl Rig {
    async fn new() -> Result<Self, Error> {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
        let sms = Sms::builder(Arc::new(MemoryStore::new()))
            .clock(clock.clone())
            .random(Arc::new(SeededRandom::new(1)))
            .build();
        let input = NewAccountInput::active("Bench", u32::MAX);
        let account = sms.operator().account_create(input).await?.id;
        sms.operator().number_create(NumberInput::shared("07700 900001")).await?;
        Ok(Self { sms, clock, account, ids: Vec::new(), random: SplitMix::new(2) })
    }

    /// Sends until there are `size` messages, all of them delivered, and one batch that waits.
    async fn grow_to(&mut self, size: usize) -> Result<(), Error> {
        while self.ids.len() < size {
            let sent = self.send(BATCH).await?;
            self.ids.extend(sent.messages.iter().map(|message| message.id));
            while self.sms.dispatch_due(BATCH).await?.claimed > 0 {}
            self.clock.advance(Duration::from_secs(2));
            while self.sms.simulate_due(BATCH).await? > 0 {}
        }
        Ok(())
    }

    async fn send(&mut self, count: usize) -> Result<Sent, Error> {
        let first = self.random.below(390_000_000);
        let number = |n: usize| format!("07{:09}", 100_000_000 + first + n as u64);
        let numbers: Vec<String> = (0..count).map(number).collect();
        let request = SendRequest::new("Your table is ready").to(numbers.join(","));
        self.sms.account(self.account, Mode::Live).send(request).await
    }

    fn any_id(&mut self) -> MessageId {
        let index = self.random.below(self.ids.len() as u64);
        self.ids[usize::try_from(index).unwrap_or_default()]
    }
}

/// The middle of what `ROUNDS` calls took.
async fn median(rig: &mut Rig, mut act: impl AsyncFnMut(&mut Rig)) -> Duration {
    let mut taken = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        act(rig).await;
        taken.push(start.elapsed());
    }
    taken.sort();
    taken[ROUNDS / 2]
}

async fn page(rig: &Rig, filter: &MessageFilter) {
    let account = rig.sms.account(rig.account, Mode::Live);
    let page = account.message_list(filter, PageRequest::default()).await;
    assert!(page.is_ok_and(|page| page.items.len() <= 25));
}

/// Name and median of each operation.
async fn measure(rig: &mut Rig) -> Vec<(&'static str, Duration)> {
    let everything = MessageFilter::default();
    let delivered =
        MessageFilter { status: Some(MessageStatus::Delivered), ..MessageFilter::default() };
    let id = rig.any_id();
    let found = rig.sms.account(rig.account, Mode::Live).message_get(id).await.expect("is there");
    let number = MessageFilter {
        search: Some(Search::Number(found.message.to)),
        ..MessageFilter::default()
    };
    let old = MessageFilter { until: Some(found.message.created_at()), ..MessageFilter::default() };
    vec![
        (
            "text by id",
            median(rig, async |rig| {
                let id = rig.any_id();
                let found = rig.sms.account(rig.account, Mode::Live).message_get(id).await;
                assert!(found.is_ok());
            })
            .await,
        ),
        ("first page", median(rig, async |rig| page(rig, &everything).await).await),
        ("page by status", median(rig, async |rig| page(rig, &delivered).await).await),
        ("page by number", median(rig, async |rig| page(rig, &number).await).await),
        ("page deep in the list", median(rig, async |rig| page(rig, &old).await).await),
        (
            "send to one",
            median(rig, async |rig| {
                let sent = rig.send(1).await;
                assert!(sent.is_ok());
            })
            .await,
        ),
        (
            "claim and record 1",
            median(rig, async |rig| {
                let done = rig.sms.dispatch_due(1).await;
                assert!(done.is_ok_and(|done| done.sent == 1));
            })
            .await,
        ),
    ]
}

fn main() -> Result<(), Error> {
    block_on(async {
        let mut rig = Rig::new().await?;
        let mut table: Vec<(&str, Vec<Duration>)> = Vec::new();
        for size in SIZES {
            rig.grow_to(size).await?;
            for (position, (name, taken)) in measure(&mut rig).await.into_iter().enumerate() {
                if table.len() == position {
                    table.push((name, Vec::new()));
                }
                table[position].1.push(taken);
            }
        }
        println!("microseconds, median of {ROUNDS}; in brackets: beside {} messages", SIZES[0]);
        println!("{:24}{:>12}{:>20}{:>20}", "", SIZES[0], SIZES[1], SIZES[2]);
        for (name, taken) in table {
            let micros = |taken: Duration| taken.as_secs_f64() * 1e6;
            let first = micros(taken[0]);
            let beside: Vec<String> = taken[1..]
                .iter()
                .map(|taken| format!("{:.1} ({:.2})", micros(*taken), micros(*taken) / first))
                .collect();
            println!("{name:24}{first:>12.1}{:>20}{:>20}", beside[0], beside[1]);
        }
        Ok(())
    })
}

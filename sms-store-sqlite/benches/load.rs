//! What the store does under load, through the service: `cargo bench -p sms-store-sqlite`.
//!
//! It fills a file with messages, then sends single messages from 32 callers, takes them to their
//! receipts, reads pages beside the writer, and launches a campaign beside another account's sends.
//! The first argument is how many messages to fill in (200,000 unless given).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_executor::block_on;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::contact::ContactInput;
use sms_core::ids::AccountId;
use sms_core::list::ListInput;
use sms_core::prelude::*;
use sms_core::random::SplitMix;
use sms_store_sqlite::SqliteStore;

/// How long each caller pauses while a campaign is launched: 32 of them send some 100 a second.
const PAUSE: Duration = Duration::from_millis(300);

type Failure = Box<dyn std::error::Error>;

const CALLERS: u64 = 32;
const MEASURED: Duration = Duration::from_secs(4);

fn main() -> Result<(), Failure> {
    let argument = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let fill: u64 = argument.unwrap_or(200_000);
    let folder = std::env::temp_dir().join(format!("sms-sqlite-bench-{}", std::process::id()));
    let store = SqliteStore::open(folder.join("sms.db"))?;
    let sms = Sms::builder(store.clone()).build();
    let account = new_account(&sms, "Bench")?;
    block_on(sms.operator().number_create(NumberInput::shared("07700 900001")))?;
    let began = Instant::now();
    fill_in(&sms, account, fill)?;
    println!("filled with {fill} messages in {:.1} s", began.elapsed().as_secs_f64());
    println!("files: {:?}", store.file_sizes()?);
    singles(&sms, account);
    end_to_end(&sms, account);
    pages(&sms, account);
    launch(&sms, account)?;
    let findings = block_on(store.check())?;
    println!("check: {} findings", findings.len());
    drop((sms, store));
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn new_account(sms: &Sms, name: &str) -> Result<AccountId, Failure> {
    let input = NewAccountInput::active(name, 1_000_000_000);
    Ok(block_on(sms.operator().account_create(input))?.id)
}

fn number(random: &mut SplitMix) -> String {
    format!("07{:09}", 100_000_000 + random.below(390_000_000))
}

fn fill_in(sms: &Sms, account: AccountId, count: u64) -> Result<(), Failure> {
    let mut random = SplitMix::new(1);
    let account = sms.account(account, Mode::Live);
    for _ in 0..count / 1_000 {
        let numbers: Vec<String> = (0..1_000).map(|_| number(&mut random)).collect();
        let body = "Your table for two is ready at eight. Reply STOP to opt out of these messages.";
        block_on(account.send(SendRequest::new(body).to(numbers.join(","))))?;
    }
    Ok(())
}

/// Sends from all callers until told to stop; returns the times of the answers.
fn send_all(sms: &Sms, account: AccountId, stop: &AtomicBool, pause: Duration) -> Vec<Duration> {
    let sent = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|seed| {
                scope.spawn(move || {
                    let mut random = SplitMix::new(100 + seed);
                    let account = sms.account(account, Mode::Live);
                    let mut times = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        let to = number(&mut random);
                        let request = SendRequest::new("Your table is ready").to(to);
                        if block_on(account.send(request)).is_ok() {
                            times.push(began.elapsed());
                        }
                        std::thread::sleep(pause);
                    }
                    times
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap_or_default()).collect()
    });
    let mut times: Vec<Duration> = sent;
    times.sort_unstable();
    times
}

fn per_second(count: u64, took: Duration) -> u128 {
    u128::from(count) * 1_000 / took.as_millis().max(1)
}

fn report(what: &str, times: &[Duration], took: Duration) {
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!(
        "{what}: {}/s, p50 {:?}, p99 {:?}, max {:?}",
        per_second(times.len() as u64, took),
        at(50),
        at(99),
        at(100)
    );
}

fn singles(sms: &Sms, account: AccountId) {
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let times = std::thread::scope(|scope| {
        let sending = scope.spawn(|| send_all(sms, account, &stop, Duration::ZERO));
        std::thread::sleep(MEASURED);
        stop.store(true, Ordering::Relaxed);
        sending.join().unwrap_or_default()
    });
    report("single sends", &times, began.elapsed());
}

/// Claims, records and receipts of what waits, while others send.
fn end_to_end(sms: &Sms, account: AccountId) {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let sent = std::thread::scope(|scope| {
        let sending = scope.spawn(|| send_all(sms, account, &stop, Duration::ZERO));
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let Ok(report) = block_on(sms.dispatch_due(500)) else { return };
                done.fetch_add(report.claimed as u64, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = block_on(sms.simulate_due(500));
            }
        });
        std::thread::sleep(MEASURED);
        stop.store(true, Ordering::Relaxed);
        sending.join().unwrap_or_default()
    });
    let took = began.elapsed();
    report("sends beside workers", &sent, took);
    println!("left: {}/s", per_second(done.into_inner(), took));
}

fn pages(sms: &Sms, account: AccountId) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| send_all(sms, account, &stop, Duration::ZERO));
        let handle = sms.account(account, Mode::Live);
        let mut random = SplitMix::new(9);
        let any = MessageFilter::default();
        let by_number = MessageFilter::default().search("07700 900123");
        for (what, filter) in [("newest page", &any), ("page of a number", &by_number)] {
            let mut times = Vec::new();
            for _ in 0..400 {
                let began = Instant::now();
                let _ = block_on(handle.message_list(filter, PageRequest::default()));
                times.push(began.elapsed());
            }
            times.sort_unstable();
            report(what, &times, times.iter().sum());
        }
        let newest = block_on(handle.message_list(&any, PageRequest::default()));
        let ids: Vec<_> =
            newest.into_iter().flat_map(|page| page.items).map(|message| message.id).collect();
        let mut times = Vec::new();
        for _ in 0..400 {
            let id = ids[usize::try_from(random.below(ids.len() as u64)).unwrap_or(0)];
            let began = Instant::now();
            let _ = block_on(handle.message_get(id));
            times.push(began.elapsed());
        }
        times.sort_unstable();
        report("one message", &times, times.iter().sum());
        stop.store(true, Ordering::Relaxed);
    });
}

/// A launch of 100,000 while another account sends.
fn launch(sms: &Sms, other: AccountId) -> Result<(), Failure> {
    let account = new_account(sms, "Campaign")?;
    let handle = sms.account(account, Mode::Live);
    let list = block_on(handle.list_create(ListInput::new("All")))?;
    for part in 0..20 {
        let contact =
            |n: u32| ContactInput::new(format!("07{:09}", 400_000_000 + part * 5_000 + n));
        block_on(handle.contacts_import((0..5_000).map(contact).collect(), Some(list.id)))?;
    }
    let mut input = CampaignInput::new("News", "Open late today", list.id);
    input.ignore_quiet_hours = true;
    let draft = block_on(handle.campaign_create(input))?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| send_all(sms, other, &stop, PAUSE));
        let began = Instant::now();
        let launched = block_on(handle.campaign_launch(draft.id, LaunchOptions::default()));
        let took = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        let times = sending.join().unwrap_or_default();
        println!("launch of 100,000: {took:?} ({})", launched.is_ok());
        report("another account's sends meanwhile", &times, took);
    });
    Ok(())
}

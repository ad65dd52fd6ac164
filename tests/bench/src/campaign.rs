//! A campaign to a long list: launched, then cancelled at once. In a process of its own, so that
//! its memory is told apart.

use std::sync::Arc;
use std::time::Instant;

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::contact::ContactInput;
use sms_core::list::ListInput;
use sms_core::store::Store;
use sms_store_memory::MemoryStore;
use sms_store_postgres::{PgSettings, PgStore};
use sms_store_sqlite::SqliteStore;
use sms_test_postgres::Server as Postgres;
use tokio::process::Command;

use crate::Failed;
use crate::folder::Folder;
use crate::stock::{later, people};
use crate::table::{Row, print};
use crate::usage::{forget_peak_memory, peak_memory};

/// Contacts of an import.
const IMPORT: usize = 20_000;

/// Runs it on each store, each in a child.
pub(crate) async fn each_store(postgres: &Postgres, contacts: usize) -> Result<(), Failed> {
    postgres.create_database("campaign").await;
    let folder = Folder::new("campaign")?;
    let file = folder.path().join("sms.db").display().to_string();
    for place in [None, Some(file), Some(postgres.url("campaign"))] {
        let mut child = Command::new(std::env::current_exe()?);
        child.args(["campaign-alone", "--contacts", &contacts.to_string()]);
        let ended = child.args(place).kill_on_drop(true).status().await?;
        if !ended.success() {
            return Err("the campaign failed".into());
        }
    }
    Ok(())
}

/// What the child does: in memory if it is given no place, on PostgreSQL at an address, and in one
/// file at any other place.
pub(crate) async fn alone(place: Option<String>, contacts: usize) -> Result<(), Failed> {
    let (store, on): (Arc<dyn Store>, _) = match place {
        None => (Arc::new(MemoryStore::new()), "memory store"),
        Some(url) if url.starts_with("postgres") => {
            let store = PgStore::connect(&url, PgSettings::default()).await?;
            store.migrate().await?;
            (Arc::new(store), "PostgreSQL")
        }
        Some(file) => (Arc::new(SqliteStore::open(file)?), "SQLite"),
    };
    let sms = Sms::builder(store).build();
    let (account, _) = people(&sms, 1).await?.remove(0);
    let handle = sms.account(account, Mode::Live);
    let list = ListInput::new("All");
    let list = handle.list_create(list).await?.id;
    let row = |what: &str, messages: usize, started: Instant| {
        let took = started.elapsed().as_secs_f64();
        let pid = std::process::id();
        let note = format!("{took:.1} s; process {:.0} MiB at most", peak_memory(pid));
        print(&Row::new(format!("{what}, {contacts}, {on}"), messages as f64 / took).note(note));
        forget_peak_memory();
    };
    let started = Instant::now();
    for from in (0..contacts).step_by(IMPORT) {
        let rows = (from..contacts.min(from + IMPORT)).map(|index| {
            let mut contact = ContactInput::new(format!("+44770{index:07}"));
            contact.first_name = Some(format!("First{index}"));
            contact
        });
        handle.contacts_import(rows.collect(), Some(list)).await?;
    }
    row("contacts/s imported to a list", contacts, started);
    let body = "Hello {first_name}, your table for two is ready at 19:30.";
    let draft = handle.campaign_create(CampaignInput::new("All", body, list)).await?;
    let options = LaunchOptions::default().schedule_at(later(&sms)).ignore_quiet_hours();
    let started = Instant::now();
    let launched = handle.campaign_launch(draft.id, options).await?;
    let messages = launched.campaign.launch.map_or(0, |launch| launch.recipients);
    row("messages/s of a campaign launched", usize::try_from(messages)?, started);
    let started = Instant::now();
    let cancelled = handle.campaign_cancel(draft.id).await?.messages;
    row("messages/s of it cancelled and refunded", usize::try_from(cancelled)?, started);
    if cancelled != messages || usize::try_from(messages)? != contacts {
        return Err(
            format!("{cancelled} of {messages} messages cancelled, {contacts} contacts").into()
        );
    }
    Ok(())
}

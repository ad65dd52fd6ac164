//! Which starts make the demo account, and how its number stays online afterwards.

use std::sync::Arc;

use sms_core::error::causes;
use sms_core::ids::NumberId;
use sms_core::link::LinkBase;
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_core::{Error, Sms};

use crate::backing::Stopping;
use crate::demo::{self, Demo, Network};
use crate::routes::SIMULATOR;
use crate::settings::{Keeping, Settings};

/// What carries live messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routes {
    /// Nothing but the simulated network.
    OnlySimulated,
    /// Other routes, or the simulated network and others.
    Others,
}

/// What a start makes the demo account of.
#[derive(Debug)]
pub struct DemoStart<'a> {
    /// The settings of the server.
    pub settings: &'a Settings,
    /// Its service.
    pub sms: &'a Sms,
    /// The store of the service.
    pub store: &'a Arc<dyn Store>,
    /// What carries its live messages.
    pub routes: Routes,
    /// The base of its short links.
    pub link_base: &'a LinkBase,
    /// When the history of the account ends.
    pub now: Timestamp,
}

/// The demo account of a start.
#[derive(Debug, Default)]
pub struct Started {
    /// The account, if this start made it.
    pub demo: Option<Demo>,
    /// Its number, to be kept online.
    pub number: Option<NumberId>,
}

/// Whether a start makes a demo account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// The settings ask for it.
    Asked,
    /// Nobody asked: it is made where it can do no harm, for whoever tries the server out.
    Unasked,
    /// No.
    None,
}

/// By default there is a demo only on the machine itself, and only if its messages reach nobody:
/// anybody who reads the server's output has its key.
fn wish(settings: &Settings, routes: Routes) -> Wish {
    let is_shared = matches!(settings.keeping(), Keeping::Postgres(_));
    let is_local = settings.addr.ip().to_canonical().is_loopback();
    match settings.demo {
        Some(true) => Wish::Asked,
        None if routes == Routes::OnlySimulated && is_local && !is_shared => Wish::Unasked,
        None | Some(false) => Wish::None,
    }
}

impl DemoStart<'_> {
    /// Makes the demo account, if this start is to make it, and finds the number of an earlier one.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn run(&self) -> Result<Started, Error> {
        let Self { settings, sms, routes, .. } = *self;
        let demo = match wish(settings, routes) {
            Wish::Asked => self.make_once().await?,
            Wish::Unasked if demo::is_new(sms).await? => demo::make(sms, network(sms)).await?,
            Wish::Unasked | Wish::None => None,
        };
        // The demo account of an earlier start may be in the data.
        let keeps_demo = settings.demo.unwrap_or(matches!(settings.keeping(), Keeping::File(_)));
        let number = match &demo {
            Some(demo) => demo.number,
            None if keeps_demo => demo::number_of_earlier_start(sms, network(sms)).await?,
            None => None,
        };
        Ok(Started { demo, number })
    }

    /// A store gets one demo account, however often and on how many servers it is asked for. It has
    /// a history if the store is new: in a database, other servers may be at work, and a real
    /// network delivers no history.
    async fn make_once(&self) -> Result<Option<Demo>, Error> {
        let Self { settings, sms, store, link_base, now, .. } = *self;
        let network = network(sms);
        let is_own = !matches!(settings.keeping(), Keeping::Postgres(_));
        let made = if is_own && network == Network::Simulated && demo::is_new(sms).await? {
            tracing::info!("writing a month of history for the demo account");
            let store = Arc::clone(store);
            Some(demo::make_with_history(store, now, link_base.clone()).await?)
        } else if demo::was_made(sms).await? {
            None
        } else {
            demo::make(sms, network).await?
        };
        if made.is_none() {
            tracing::info!(
                "the demo account is there already; `sms-server key create` makes another key"
            );
        }
        Ok(made)
    }
}

/// What carries the messages of the demo account.
fn network(sms: &Sms) -> Network {
    if sms.default_route().as_str() == SIMULATOR { Network::Simulated } else { Network::Real }
}

/// The demo's simulated gateway: it checks in regularly, so that its number stays online.
pub async fn keep_online(sms: Sms, number: NumberId, mut stopping: Stopping) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(demo::CHECK_IN_EVERY) => {}
            _ = stopping.changed() => return,
        }
        match sms.operator().number_check_in(number).await {
            // The operator removed it.
            Err(Error::NotFound(_)) => return,
            Err(error) => tracing::warn!(error = %causes(&error), "the demo's check-in failed"),
            Ok(()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn nobody_gets_a_demo_unasked_where_its_key_could_do_harm() {
        let wished = |flags: &[&str], routes: Routes| {
            let parsed = Cli::try_parse_from(std::iter::once(&"sms-server").chain(flags));
            wish(&parsed.unwrap().settings, routes)
        };
        for addr in ["127.0.0.1:0", "127.8.8.8:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            assert_eq!(wished(&["--addr", addr], Routes::OnlySimulated), Wish::Unasked, "{addr}");
            assert_eq!(wished(&["--addr", addr], Routes::Others), Wish::None, "{addr}");
        }
        for addr in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "[2001:db8::1]:0"] {
            assert_eq!(wished(&["--addr", addr], Routes::OnlySimulated), Wish::None, "{addr}");
            assert_eq!(wished(&["--addr", addr, "--demo"], Routes::Others), Wish::Asked, "{addr}");
        }
        assert_eq!(wished(&["--demo=false"], Routes::OnlySimulated), Wish::None);
    }
}

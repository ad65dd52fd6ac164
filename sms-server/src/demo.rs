//! The demo account: everything needed to send a first message, and a month of history if asked.

mod endpoints;
mod history;
mod numbers;
mod plot;
mod script;

use std::sync::Arc;
use std::time::Duration;

use sms_core::account::Mode;
use sms_core::idempotency::Replay;
use sms_core::ids::NumberId;
use sms_core::link::LinkBase;
use sms_core::page::PageRequest;
use sms_core::phone::parse_uk_mobile;
use sms_core::service::Operator;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_core::{Error, Sms};

use self::numbers::{DEDICATED_NUMBER, SHARED_NUMBER};

const CREDITS: u32 = 1_000;
/// Servers that start at the same time create the account once for this key of the operator's.
const IDEMPOTENCY_KEY: &str = "sms-server demo account";

/// How often the demo's simulated gateway checks in, so that its number stays online.
pub const CHECK_IN_EVERY: Duration = Duration::from_mins(1);

/// What carries the demo's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The simulator. The demo itself has to check in for its number.
    Simulated,
    /// A real network.
    Real,
}

/// The demo account's keys and number.
#[derive(Debug)]
pub struct Demo {
    /// What carries its messages.
    pub network: Network,
    /// A live key.
    pub live_key: String,
    /// A test key.
    pub test_key: String,
    /// The account's dedicated number, to be kept online. `None` if a real network does that, or
    /// if an earlier demo account has the number.
    pub number: Option<NumberId>,
}

/// Creates an active account with 1,000 credits, a live and a test key, a shared and a dedicated
/// number. Numbers that exist already stay unchanged. `None` if another server that starts at the
/// same time creates it.
pub async fn make(sms: &Sms, network: Network) -> Result<Option<Demo>, Error> {
    let operator = sms.operator();
    let once = operator.keyed(IDEMPOTENCY_KEY.parse().ok());
    let made =
        once.account_create(NewAccountInput::active(script::NAME, CREDITS).id(script::ID)).await?;
    if made.replay == Replay::Repeated {
        return Ok(None);
    }
    let account = made.value;
    let name = || Some("demo".to_owned());
    let live = operator.api_key_create(account.id, Mode::Live, name()).await?;
    let test = operator.api_key_create(account.id, Mode::Test, name()).await?;
    add_number(&operator, NumberInput::shared(SHARED_NUMBER)).await?;
    let dedicated = NumberInput::dedicated(DEDICATED_NUMBER, account.id);
    let added = add_number(&operator, dedicated).await?;
    let number = added.filter(|_| network == Network::Simulated);
    if let Some(number) = number {
        operator.number_check_in(number).await?;
    }
    let (live_key, test_key) = (live.key.reveal().to_owned(), test.key.reveal().to_owned());
    Ok(Some(Demo { network, live_key, test_key, number }))
}

/// Creates the demo account with the month of history that ends now, on a store that [is
/// new](is_new) and that no worker uses yet. Its messages go to the simulated network.
pub async fn make_with_history(
    store: Arc<dyn Store>,
    now: Timestamp,
    link_base: LinkBase,
) -> Result<Demo, Error> {
    let written = history::write(store, now, link_base, CREDITS).await?;
    let history::Written { live_key, test_key, number } = written;
    Ok(Demo { network: Network::Simulated, live_key, test_key, number: Some(number) })
}

/// Whether a store is new, so that it gets a demo account unasked: it has no account.
pub async fn is_new(sms: &Sms) -> Result<bool, Error> {
    Ok(sms.operator().account_list(PageRequest::default()).await?.items.is_empty())
}

/// Whether a store has a demo account.
pub async fn was_made(sms: &Sms) -> Result<bool, Error> {
    match sms.operator().account_get(script::ID).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The dedicated number of the demo account that an earlier start on the same store created, to be
/// kept online; `None` if there is none, or if a real network carries its messages.
pub async fn number_of_earlier_start(
    sms: &Sms,
    network: Network,
) -> Result<Option<NumberId>, Error> {
    if network == Network::Real {
        return Ok(None);
    }
    let phone = parse_uk_mobile(DEDICATED_NUMBER).ok();
    let numbers = sms.operator().number_list().await?;
    let earlier = numbers.into_iter().find(|number| Some(&number.phone) == phone.as_ref());
    Ok(earlier.filter(|number| number.holder.account().is_some()).map(|number| number.id))
}

async fn add_number(operator: &Operator, input: NumberInput) -> Result<Option<NumberId>, Error> {
    match operator.number_create(input).await {
        Ok(number) => Ok(Some(number.id)),
        Err(Error::NumberExists | Error::NumberQuarantined { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

//! Background work: single calls that a server makes in loops.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sms_core::webhook::attempt::Room;
use sms_core::{Error, Sms};

use super::dice::Dice;
use super::world::World;

/// The most pieces of work in one call.
const MOST: usize = 60;
/// The same for messages, of which a slow route has hundreds in hand.
const MOST_DISPATCHED: usize = 300;

/// One call of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// Hands over up to this many messages.
    Dispatch(usize),
    /// Hands over for so long what it holds from the start.
    Hold(Duration),
    /// Delivers up to this many webhooks at once.
    Deliver(usize),
    /// Claims webhooks by room, and attempts them one after the other.
    DeliverByRoom(usize),
    /// Goes on with replays.
    Replay,
    /// Brings the follow-ups of simulated networks.
    Simulate(usize),
    /// Renews the leases of one server.
    Renew,
    /// Deletes what is past its retention.
    Tidy,
    /// Takes the rent of up to this many numbers.
    ChargeRents(usize),
}

impl Chore {
    /// A chore, with the frequency of a server's loops.
    pub fn draw(dice: &mut Dice) -> Self {
        let kind = dice.weighted(&[
            (1, 7),
            (34, 0),
            (18, 1),
            (14, 2),
            (16, 3),
            (17, 4),
            (1, 5),
            (4, 6),
            (9, 8),
        ]);
        let most = dice.weighted(&[(3, 1), (3, 5), (3, 20), (1, MOST)]);
        match kind {
            0 if most == MOST => Self::Dispatch(MOST_DISPATCHED),
            0 => Self::Dispatch(most),
            1 => Self::Deliver(most),
            2 => Self::DeliverByRoom(most),
            3 => Self::Simulate(most),
            4 => Self::Renew,
            5 => Self::Tidy,
            8 => Self::Replay,
            7 => Self::Hold(Duration::from_secs(dice.between(1, 600))),
            _ => Self::ChargeRents(most),
        }
    }

    /// What it is called in a trace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dispatch(_) => "dispatch_due",
            Self::Hold(_) => "dispatch_held",
            Self::Deliver(_) => "deliver_webhooks",
            Self::DeliverByRoom(_) => "deliveries_claim and attempt",
            Self::Replay => "replays_go_on",
            Self::Simulate(_) => "simulate_due",
            Self::Renew => "renew_leases",
            Self::Tidy => "tidy",
            Self::ChargeRents(_) => "charge_rents",
        }
    }

    /// Makes the call. An error is a violation, unless the store failed.
    pub async fn run(self, world: Arc<World>, sms: Sms) {
        if let Err(error) = self.attempt(&world, &sms).await
            && !world.is_shaken()
        {
            world.check(Err(format!("{} failed: {error}", self.name())));
        }
    }

    async fn attempt(self, world: &World, sms: &Sms) -> Result<(), Error> {
        match self {
            Self::Dispatch(limit) => sms.dispatch_due(limit).await.map(drop).map_err(Error::from),
            Self::Hold(length) => {
                let stop = world.sleep(length);
                let pause = || world.sleep(Duration::from_millis(10));
                sms.dispatch_held(stop, pause, |recorded| {
                    if let Err(error) = recorded
                        && !world.is_shaken()
                    {
                        world.check(Err(format!("held messages: {error}")));
                    }
                })
                .await;
                Ok(())
            }
            Self::Deliver(limit) => sms.deliver_webhooks(limit).await.map(drop),
            Self::DeliverByRoom(total) => {
                let (failing, each) = (total.div_ceil(2), total.div_ceil(3));
                let room = Room { total, failing, each, endpoints: BTreeMap::new() };
                for claimed in sms.deliveries_claim(room).await? {
                    sms.delivery_attempt(claimed).await?;
                    world.turn().await;
                }
                Ok(())
            }
            Self::Replay => sms.replays_go_on().await.map(drop),
            Self::Simulate(limit) => sms.simulate_due(limit).await.map(drop),
            Self::Renew => sms.renew_leases().await,
            Self::Tidy => {
                let limit = world.with(|state| state.tidied_at_once);
                sms.tidy(limit).await.map(drop)
            }
            Self::ChargeRents(limit) => sms.charge_rents(limit).await.map(drop),
        }
    }
}

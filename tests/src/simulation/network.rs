//! The network outside the service: a route that is late, refuses, stalls and loses its answers.
//! Receipts and inbound messages arrive at any time, in any order, and repeatedly.
//!
//! The dice of the world decide at the hand-over of a message what happens to it. The network
//! records that.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::ids::MessageId;
use sms_core::inbound::InboundMessage;
use sms_core::message::{Body, ErrorCode};
use sms_core::phone::E164;
use sms_core::receipt::{Receipt, ReceiptStatus};
use sms_core::route::simulator::Simulator;
use sms_core::route::{
    HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink, all_at_once,
};
use sms_core::time::Timestamp;

use super::air::{News, by_which};
use super::dice::Dice;
use super::sabotage::Sabotage;
use super::trace::Detail;
use super::users::our_number;
use super::wish::person;
use super::world::{State, Weather, World};

/// What the network does with one message.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It is sent, and the answer comes after this many turns and this long.
    Leave { turns: u64, after: Duration },
    /// It is sent, and the answer comes after a long time.
    LeaveUnheard { after: Duration },
    /// It is not sent, and the worker learns that late.
    Stall { after: Duration },
    /// It is throttled.
    Later,
    /// It is sent, and the answer never comes.
    LeaveUntold,
    /// It is not sent, and no answer comes.
    StayUntold,
    /// It is refused.
    Refuse,
    /// It waited too long for its turn.
    GivenBack,
}

impl Fate {
    fn draw(dice: &mut Dice, weather: Weather, message: MessageId) -> Self {
        let none = Duration::ZERO;
        if weather == Weather::Calm {
            return Self::Leave { turns: 0, after: none };
        }
        // One message in forty never gets an answer, at any attempt.
        if message.as_u128().is_multiple_of(40) {
            return if dice.percent(50) { Self::LeaveUntold } else { Self::StayUntold };
        }
        let millis = |dice: &mut Dice, low, high| Duration::from_millis(dice.between(low, high));
        match dice.below(100) {
            0..45 => Self::Leave { turns: 0, after: none },
            45..65 => Self::Leave { turns: dice.between(1, 4), after: none },
            65..80 => Self::Leave { turns: 0, after: millis(dice, 1, 5_000) },
            80..83 => Self::LeaveUnheard { after: millis(dice, 20_000, 120_000) },
            83..84 => Self::LeaveUnheard { after: millis(dice, 300_000, 4_000_000) },
            84..87 => Self::Stall { after: millis(dice, 20_000, 120_000) },
            87..91 => Self::Later,
            91..93 => Self::LeaveUntold,
            93..95 => Self::StayUntold,
            _ => Self::Refuse,
        }
    }

    fn wait(self) -> (u64, Duration) {
        match self {
            Self::Leave { turns, after } => (turns, after),
            Self::LeaveUnheard { after } | Self::Stall { after } => (0, after),
            Self::Later | Self::LeaveUntold | Self::StayUntold | Self::Refuse | Self::GivenBack => {
                (0, Duration::ZERO)
            }
        }
    }

    fn result(self) -> HandOver {
        match self {
            Self::Leave { .. } | Self::LeaveUnheard { .. } => {
                HandOver::Taken { simulated: Vec::new() }
            }
            Self::Stall { .. } | Self::Later => {
                HandOver::TryLater { detail: "the network is busy".to_owned() }
            }
            Self::LeaveUntold | Self::StayUntold => {
                HandOver::Unanswered { detail: "no answer came".to_owned() }
            }
            Self::GivenBack => HandOver::GivenBack,
            Self::Refuse => HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail: None },
        }
    }
}

/// The route into the simulated network.
#[derive(Debug)]
pub struct Network {
    name: RouteName,
    world: Arc<World>,
    sabotage: Option<Sabotage>,
}

impl Network {
    /// A route of this name.
    pub fn new(name: &'static str, world: Arc<World>, sabotage: Option<Sabotage>) -> Self {
        Self { name: RouteName::new(name), world, sabotage }
    }

    /// The time between two messages of a hand-over; `None` if the network is fast. One in four is
    /// slow, so that what waits in the route has to be looked at again.
    fn gap(&self, messages: &[OutboundMessage]) -> Option<Duration> {
        let first = messages.first()?.message.as_u128();
        let is_slow = first.is_multiple_of(4) && self.world.with(|it| it.weather) != Weather::Calm;
        let millis = [20, 50, 100, 300, 700];
        is_slow.then(|| Duration::from_millis(millis[(first / 4 % 5) as usize]))
    }

    fn take(&self, text: &OutboundMessage) -> Fate {
        self.world.judge(|model, moment| model.saw_hand_over(moment, text));
        let now = self.world.now();
        let fate = self.world.with(|state| {
            state.air.handed += 1;
            let fate = Fate::draw(&mut state.dice, state.weather, text.message);
            let leaves = |fate| {
                matches!(fate, Fate::Leave { .. } | Fate::LeaveUnheard { .. } | Fate::LeaveUntold)
            };
            if leaves(fate) {
                promise_receipts(state, text.message, now);
            }
            fate
        });
        self.world.note("takes", Detail::Id(text.message.as_u128()));
        fate
    }
}

#[async_trait]
impl Route for Network {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        all_at_once(async move {
            let mut fates = Vec::with_capacity(messages.len());
            let gap = self.gap(messages);
            for text in messages {
                if let Some(gap) = gap {
                    self.world.sleep(gap).await;
                }
                let is_taken = text.look.is_fresh() || self.sabotage == Some(Sabotage::SubmitsLate);
                fates.push(if is_taken { self.take(text) } else { Fate::GivenBack });
            }
            if self.sabotage == Some(Sabotage::HandsOverTwice)
                && self.world.with(|state| state.air.handed > 100)
            {
                for text in messages {
                    self.take(text);
                }
            }
            let started = self.world.now();
            for fate in &fates {
                let (turns, after) = fate.wait();
                for _ in 0..turns {
                    self.world.turn().await;
                }
                self.world.sleep_until(started.plus(after)).await;
            }
            fates.into_iter().map(Fate::result).collect()
        })
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// Decides which receipts come for a sent message, and when: none, one, or several that may
/// contradict each other.
fn promise_receipts(state: &mut State, message: MessageId, now: Timestamp) {
    let calm = state.weather == Weather::Calm;
    let dice = &mut state.dice;
    let delivered = ReceiptStatus::Delivered;
    let undelivered = ReceiptStatus::Undelivered(match dice.below(3) {
        0 => ErrorCode::UnknownSubscriber,
        1 => ErrorCode::AbsentSubscriber,
        _ => ErrorCode::Expired,
    });
    let receipts: &[ReceiptStatus] = match if calm { 0 } else { dice.below(100) } {
        0..60 => &[delivered],
        60..75 => &[undelivered],
        75..83 => &[delivered, delivered],
        83..88 => &[undelivered, delivered],
        88..92 => &[delivered, undelivered],
        92..95 => &[undelivered, undelivered],
        _ => &[],
    };
    for status in receipts {
        let after = match dice.below(10) {
            0..3 => 0,
            3..8 => dice.between(1, 10_000),
            8 => dice.between(10_000, 600_000),
            _ => dice.between(600_000, 20_000_000),
        };
        let at = now.plus(Duration::from_millis(after));
        state.air.send(at, News::Receipt(Receipt::new(message, *status)));
        state.air.promised.insert(message);
    }
}

/// A person or a machine sends one keyword of an account again and again.
pub fn send_insistence(dice: &mut Dice, state: &mut State, now: Timestamp) {
    let numbers = state.model.numbers.values();
    let words: Vec<(E164, String)> = numbers
        .filter_map(|number| Some((number.phone, number.holder.account()?)))
        .filter_map(|(phone, account)| Some((phone, state.model.accounts.get(&account)?)))
        .flat_map(|(phone, own)| own.keywords.values().map(move |keyword| (phone, keyword)))
        .map(|(phone, keyword)| (phone, keyword.word.as_str().to_owned()))
        .collect();
    let from = if dice.percent(10) { our_number(dice, state) } else { Some(person(dice)) };
    let Some(from) = from else { return };
    let Some((to, word)) = words.get(dice.below(words.len())).cloned() else { return };
    for _ in 0..14 {
        let body = Body::new(word.clone());
        let text = InboundMessage { from: from.into(), to, body, route: by_which(dice) };
        let at = now.plus(Duration::from_millis(dice.between(0, 1_500_000)));
        state.air.send(at, News::Inbound(text));
    }
}

/// The service's own simulator, with every hand-over checked.
#[derive(Debug)]
pub struct Watched {
    inner: Simulator,
    world: Arc<World>,
}

impl Watched {
    /// The simulator under this name.
    pub fn new(name: RouteName, world: Arc<World>) -> Self {
        Self { inner: Simulator::new(name), world }
    }
}

#[async_trait]
impl Route for Watched {
    fn name(&self) -> &RouteName {
        self.inner.name()
    }

    fn kind(&self) -> RouteKind {
        self.inner.kind()
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        for text in messages {
            self.world.judge(|model, moment| model.saw_hand_over(moment, text));
            self.world.with(|state| state.air.handed += 1);
        }
        self.inner.hand_over(messages, sink)
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// Brings one piece of news. It is brought again if the service may not have stored it, or if the
/// task dies before it begins.
pub fn bring(world: Arc<World>, sms: Sms, news: News) -> impl Future<Output = ()> + Send {
    let mut errand = Errand { world, news: Some(news) };
    async move {
        let kept = match errand.news.clone() {
            Some(News::Receipt(receipt)) => sms.receipt(receipt).await,
            Some(News::Inbound(text)) => sms.inbound(text).await,
            Some(News::Part(part)) => sms.inbound_segment(part).await.map(drop),
            None => Ok(()),
        };
        match kept {
            Ok(()) => errand.done(),
            // It is brought again.
            Err(_) if errand.world.is_shaken() => {}
            Err(error) => errand.world.check(Err(format!("news from the network: {error}"))),
        }
    }
}

/// Puts news back if the task that brings it dies.
struct Errand {
    world: Arc<World>,
    news: Option<News>,
}

impl Errand {
    fn done(&mut self) {
        self.news = None;
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        if let Some(news) = self.news.take() {
            let again = self.world.now().plus(Duration::from_secs(5));
            self.world.with(|state| state.air.send(again, news));
        }
    }
}

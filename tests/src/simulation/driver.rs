//! Chooses what happens next, one step at a time.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use futures_util::FutureExt;
use sms_core::Sms;
use sms_core::clock::ManualClock;
use sms_core::inbound::InboundMessage;
use sms_core::message::Body;
use sms_core::page::Limit;
use sms_core::route::RouteName;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;

use super::air::{News, by_which};
use super::chance::Chance;
use super::dice::Dice;
use super::executor::{Executor, Label, Polled, Role};
use super::fault::Shaky;
use super::haze::Haze;
use super::inventory::read_all;
use super::model::reply_limits;
use super::network::{Network, Watched, bring, send_insistence};
use super::receiver::Receiver;
use super::sabotage::{Sabotage, Saboteur};
use super::settings::Settings;
use super::stage::Stage;
use super::summary::Summary;
use super::talk::{Answer, draw_story, named};
use super::trace::{Detail, Trace};
use super::twin::{Difference, Other, Twin};
use super::users::{Caller, Deed, Memory, our_number};
use super::violation::Violation;
use super::wish::person;
use super::workers::Chore;
use super::world::World;
use crate::layer::Layered;

/// The start of every run: 2026-11-21T07:07:10.123Z.
const START: i64 = 1_795_244_830_123;
/// The largest number of tasks.
const MOST_TASKS: usize = 40;
/// The number of servers that share the store.
const REPLICAS: usize = 2;

/// What ends a run.
pub(super) type Step = Result<(), Box<Violation>>;

/// One run.
#[derive(Debug)]
pub struct Driver {
    pub(super) settings: Settings,
    pub(super) world: Arc<World>,
    pub(super) executor: Executor,
    pub(super) dice: Dice,
    pub(super) store: Arc<dyn Store>,
    /// Both stores, if there is a second one.
    twin: Option<Arc<dyn Store>>,
    /// The option that puts the second one beside.
    beside: &'static str,
    difference: Difference,
    chance: Chance,
    replicas: Vec<Sms>,
    memory: Memory,
    step: u64,
    summary: Summary,
}

impl Driver {
    /// Prepares a run with these settings.
    pub fn new(settings: Settings, other: Option<Other>) -> Self {
        let mut dice = Dice::new(settings.seed);
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START)));
        let books: Arc<dyn Store> = Arc::new(MemoryStore::new());
        // The layers between the stage and the memory store may fail or introduce a defect.
        let (difference, chance) = (Difference::default(), Chance::default());
        let beside = other.as_ref().map_or("", |other| other.option);
        let twin = other.map(|other| -> Arc<dyn Store> {
            Arc::new(Twin::new(books.clone(), other, difference.clone(), chance.clone()))
        });
        let beneath = twin.clone().unwrap_or_else(|| books.clone());
        let beneath = match settings.sabotage {
            Some(sabotage) => Arc::new(Layered(Saboteur::new(beneath, sabotage))),
            None => beneath,
        };
        let trace = Trace::new(settings.voice);
        let log = beneath.clone();
        let world = Arc::new(World::new(clock.clone(), books, log, dice.fork(), trace));
        if twin.is_some() {
            world.with(|state| state.tidied_at_once = 1_000_000);
        }
        let haze = Haze::new(world.clone(), beneath, settings.sabotage);
        let stage = Arc::new(Layered(Stage::new(world.clone(), Arc::new(Layered(haze)))));
        let store: Arc<dyn Store> = Arc::new(Layered(Shaky::new(world.clone(), stage)));
        let mut driver = Self {
            settings,
            world,
            executor: Executor::default(),
            dice,
            store,
            twin,
            beside,
            difference,
            chance,
            replicas: Vec::new(),
            memory: Memory::default(),
            step: 0,
            summary: Summary::default(),
        };
        for _ in 0..REPLICAS {
            let sms = driver.replica(clock.clone());
            driver.replicas.push(sms);
        }
        driver
    }

    /// One server, with its own ids and leases, on the shared store.
    fn replica(&mut self, clock: Arc<ManualClock>) -> Sms {
        let world = &self.world;
        let network = Network::new("network", world.clone(), self.settings.sabotage);
        let simulator = Watched::new(RouteName::new("simulator"), world.clone());
        let test = Watched::new(RouteName::test(), world.clone());
        Sms::builder(self.store.clone())
            .clock(clock)
            .random(self.chance.source(self.dice.seed()))
            .route(Arc::new(network))
            .route(Arc::new(simulator))
            .route(Arc::new(test))
            .webhooks(Arc::new(Receiver::new(world.clone())))
            .reply_limits(reply_limits())
            .build()
    }

    /// Runs to the end, or to the first violation.
    pub fn run(mut self) -> Result<Summary, Box<Violation>> {
        self.prepare()?;
        while self.step < self.settings.steps {
            self.next()?;
            if self.step.is_multiple_of(self.settings.audit_every) {
                self.audit()?;
            }
        }
        self.end()?;
        self.audit()?;
        self.compare_all()?;
        let world = &self.world;
        let millis = world.now().as_millis() - START;
        Ok(world.with(|state| Summary {
            steps: self.step,
            handed: state.air.handed,
            faults: state.faults,
            visits: state.visits.count,
            millis: millis.unsigned_abs(),
            tally: state.model.tally,
            hash: state.trace.hash(),
            ..self.summary
        }))
    }

    /// Creates the accounts and numbers that every run begins with.
    fn prepare(&mut self) -> Step {
        let sms = self.replicas[0].clone();
        let world = self.world.clone();
        let setup = async move {
            let operator = sms.operator();
            operator.number_create(NumberInput::shared("07700 900001")).await?;
            for (name, number) in [("Bistro", "07700 900011"), ("Garage", "07700 900012")] {
                let account = operator.account_create(NewAccountInput::active(name, 500)).await?;
                let number = NumberInput::dedicated(number, account.id);
                let number = operator.number_create(number).await?;
                operator.number_check_in(number.id).await?;
            }
            operator.account_create(NewAccountInput::active("Florist", 60)).await.map(drop)
        };
        let checked = async move {
            if let Err(error) = setup.await {
                world.check(Err(format!("nothing can begin: {error}")));
            }
        };
        self.start("begin", Role::User, 0, checked.boxed())?;
        loop {
            let Some(label) = self.executor.ready().next() else { break };
            self.poll(label)?;
        }
        // Some stores never fail, some rarely, some often.
        let shakiness = self.dice.pick(&[0, 0, 1, 5, 20]).unwrap_or_default();
        self.world.with(|state| state.shakiness = shakiness);
        Ok(())
    }

    /// One step.
    fn next(&mut self) -> Step {
        let ready = self.executor.ready().count();
        let room = self.executor.labels().count() < MOST_TASKS;
        let polls = if ready > 0 { 640 } else { 0 };
        let starts = if room { 230 } else { 0 };
        match self.dice.weighted(&[(polls, 0), (starts, 1), (70, 2), (6, 3), (1, 4)]) {
            0 => {
                let index = self.dice.below(ready);
                let label = self.executor.ready().nth(index);
                label.map_or(Ok(()), |label| self.poll(label))
            }
            1 => self.start_something(),
            2 => self.move_clock(),
            3 => {
                let labels: Vec<Label> = self.executor.labels().collect();
                self.dice.pick(&labels).map_or(Ok(()), |label| self.kill(label))
            }
            _ => self.restart(),
        }
    }

    /// Polls a task once.
    pub(super) fn poll(&mut self, label: Label) -> Step {
        self.begin_step(label);
        let polled = self.executor.poll(label.id);
        match polled {
            Polled::Waiting => {}
            Polled::Done => self.world.note("ends", Detail::Name(label.name)),
            Polled::Panicked(words) => {
                self.world.check(Err(format!("{} panicked: {words}", label.name)));
            }
        }
        self.end_step()
    }

    /// Starts a task.
    pub(super) fn start(
        &mut self,
        name: &'static str,
        role: Role,
        replica: usize,
        task: futures_util::future::BoxFuture<'static, ()>,
    ) -> Step {
        let label = self.executor.start(name, role, replica, task);
        self.summary.tasks += 1;
        self.begin_step(label);
        self.world.note("starts", Detail::Name(name));
        self.end_step()
    }

    /// Starts a chore on some replica.
    pub(super) fn start_chore(&mut self, chore: Chore) -> Step {
        let replica = self.dice.below(REPLICAS);
        let task = chore.run(self.world.clone(), self.replicas[replica].clone());
        self.start(chore.name(), Role::Worker, replica, task.boxed())
    }

    /// Starts a task in which a follower goes on to the end of the event log.
    pub(super) fn start_following(&mut self, follower: usize) -> Step {
        let replica = self.dice.below(REPLICAS);
        let caller = Caller { world: self.world.clone(), sms: self.replicas[replica].clone() };
        let task = async move {
            while caller.follow_events(follower, Limit::default()).await == Some(true) {}
        };
        self.start("follow events to the end", Role::User, replica, task.boxed())
    }

    /// Starts a task that brings the network's news, if any is due.
    pub(super) fn start_news(&mut self) -> Step {
        let now = self.world.now();
        let news = self.world.with(|state| state.air.take(now));
        let careless = self.settings.sabotage == Some(Sabotage::LosesReceipts);
        if careless && matches!(news, Some(News::Receipt(_))) && self.dice.percent(10) {
            return Ok(());
        }
        news.map_or(Ok(()), |news| self.start_bringing(news))
    }

    /// A person sends a message to one of our numbers.
    fn start_answer(&mut self) -> Step {
        let dice = &mut self.dice;
        let now = self.world.now();
        let text = self.world.with(|state| {
            let to = our_number(dice, state)?;
            // Sometimes one of our own numbers sends to another, or it is no number.
            let from = match dice.below(100) {
                0..4 => our_number(dice, state)?.into(),
                4..6 => named(dice)?,
                _ => person(dice).into(),
            };
            if dice.percent(8) {
                send_insistence(dice, state, now);
                return None;
            }
            if dice.percent(35) {
                let parts = draw_story(dice, &from, to, now);
                state.air.send_story(dice, now, parts);
                return None;
            }
            let body = Body::new(Answer::draw(dice));
            Some(InboundMessage { from, to, body, route: by_which(dice) })
        });
        text.map_or(Ok(()), |text| self.start_bringing(News::Inbound(text)))
    }

    fn start_bringing(&mut self, news: News) -> Step {
        let replica = self.dice.below(REPLICAS);
        let task = bring(self.world.clone(), self.replicas[replica].clone(), news);
        self.start("bring news", Role::Network, replica, task.boxed())
    }

    fn start_something(&mut self) -> Step {
        match self.dice.below(100) {
            0..44 => {
                let deed = Deed::draw(&mut self.dice, &self.world, &mut self.memory);
                let Some(deed) = deed else { return Ok(()) };
                let replica = self.dice.below(REPLICAS);
                let sms = self.replicas[replica].clone();
                let name = deed.name();
                let task = deed.run(Caller { world: self.world.clone(), sms });
                self.start(name, Role::User, replica, task.boxed())
            }
            44..86 => {
                let chore = Chore::draw(&mut self.dice);
                self.start_chore(chore)
            }
            86..96 => self.start_news(),
            _ => self.start_answer(),
        }
    }

    /// Moves the clock: a little, to the next due moment, or far.
    fn move_clock(&mut self) -> Step {
        let now = self.world.now();
        let ahead =
            |dice: &mut Dice, low, high| now.plus(Duration::from_millis(dice.between(low, high)));
        let dice = &mut self.dice;
        let to = match dice.below(1_000) {
            0..560 => ahead(dice, 1, 2_000),
            560..880 => self.next_due().filter(|at| *at > now).unwrap_or(now),
            880..975 => ahead(dice, 2_000, 60_000),
            975..993 => ahead(dice, 60_000, 20_000_000),
            993..995 => ahead(dice, 20_000_000, 200_000_000),
            995..996 => ahead(dice, 200_000_000, 900_000_000),
            // So far that rent falls due again, perhaps twice.
            _ => ahead(dice, 2_600_000_000, 6_000_000_000),
        };
        self.clock_to(to)
    }

    /// Moves the clock on to `to`.
    pub(super) fn clock_to(&mut self, to: Timestamp) -> Step {
        self.step += 1;
        self.world.with(|state| (state.step, state.task) = (self.step, 0));
        self.world.advance_to(to);
        self.world.note("the clock moves", Detail::None);
        self.end_step()
    }

    /// The earliest moment at which anything is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let work = self.world.with(|state| {
            let text = state.model.queue.first().map(|(at, _)| *at);
            let delivery = state.model.next_delivery();
            [text, delivery, state.model.next_replay(), state.air.next()]
        });
        let others = [self.world.next_timer(), self.world.next_comeback()];
        work.into_iter().chain(others).flatten().min()
    }

    /// Drops a task wherever it waits.
    fn kill(&mut self, label: Label) -> Step {
        self.begin_step(label);
        self.world.note("dies", Detail::Name(label.name));
        self.executor.kill(label.id);
        self.summary.kills += 1;
        self.end_step()
    }

    /// A server dies with all its tasks, and a new one replaces it.
    fn restart(&mut self) -> Step {
        let replica = self.dice.below(REPLICAS);
        self.step += 1;
        self.world.with(|state| (state.step, state.task) = (self.step, 0));
        self.world.note("a replica dies", Detail::Count(replica));
        let before = self.executor.labels().count();
        self.executor.kill_replica(replica);
        self.summary.kills += (before - self.executor.labels().count()) as u64;
        self.replicas[replica] = self.replica(self.world.clock());
        self.end_step()
    }

    fn begin_step(&mut self, label: Label) {
        self.step += 1;
        self.world.with(|state| (state.step, state.task) = (self.step, label.id));
    }

    /// Ends the run if this step had a violation.
    fn end_step(&mut self) -> Step {
        let difference = self.difference.take();
        match difference.or_else(|| self.world.with(|state| state.violation.take())) {
            Some(what) => self.broken(what),
            None => Ok(()),
        }
    }

    /// Compares the full contents of both stores, if there are two.
    fn compare_all(&mut self) -> Step {
        let Some(twin) = self.twin.clone() else { return Ok(()) };
        let read = read_all(&*twin, self.world.now()).now_or_never();
        match read {
            Some(Ok(count)) => self.world.note("reads all", Detail::Count(count)),
            other => return self.broken(format!("the stores cannot be read: {other:?}")),
        }
        self.end_step()
    }

    /// Compares everything.
    fn audit(&mut self) -> Step {
        self.world.judge(|model, moment| model.audit(moment));
        self.end_step()
    }

    /// Ends the run with this violation.
    pub(super) fn broken(&self, what: String) -> Step {
        let trace = self.world.with(|state| state.trace.last_lines());
        let Settings { seed, steps, sabotage, .. } = self.settings;
        let sabotage = sabotage.and_then(|sabotage| sabotage.to_possible_value());
        let sabotage = sabotage.map(|value| format!(" --sabotage {}", value.get_name()));
        let beside = self.beside;
        let options = format!("{}{beside}", sabotage.unwrap_or_default());
        let at = self.world.now();
        Err(Box::new(Violation { seed, steps, step: self.step, at, what, options, trace }))
    }
}

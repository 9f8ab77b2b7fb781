//! A fleet of simulated computers and the thread that drives its clock and its sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

use super::SimError;
use super::clock::{Clock, TICK};
use super::computer::{Computer, Core};
use super::config::ComputerConfig;
use super::net::Net;
use super::sched::Workers;
use super::world::World;

/// How long computers get to switch off, and then workers to leave.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Computers that share a clock, one I/O thread and a few Lua threads. Dropping it switches all of them off.
pub struct SimFleet {
    computers: BTreeMap<u32, Arc<Computer>>,
    workers: Arc<Workers>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl SimFleet {
    /// Prepares the disks, starts the threads and switches the computers on.
    ///
    /// # Errors
    /// A disk that cannot be used, a number used twice, or no thread to be had.
    pub fn start(configs: Vec<ComputerConfig>) -> Result<SimFleet, SimError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SimError::Start)?;
        let handle = runtime.handle().clone();
        let mut runtime = OwnRuntime(Some(runtime));
        let workers = Arc::new(Workers::default());
        let core = Arc::new(Core {
            workers: workers.clone(),
            clock: Arc::new(Clock::default()),
            net: Net::new(handle),
            world: World::default(),
        });
        let mut computers = BTreeMap::new();
        for config in configs {
            let id = config.id;
            if computers
                .insert(id, Computer::new(config, core.clone())?)
                .is_some()
            {
                return Err(SimError::DuplicateId(id));
            }
        }
        let (stop, stopped) = oneshot::channel();
        let ticking = tick(core.clone(), stopped);
        let thread = std::thread::Builder::new()
            .name("sim-io".into())
            .spawn(move || runtime.run(ticking))
            .map_err(SimError::Start)?;
        let fleet = SimFleet {
            computers,
            workers,
            stop: Some(stop),
            thread: Some(thread),
        };
        fleet.workers.start().map_err(SimError::Start)?;
        for computer in fleet.computers.values().filter(|c| c.config().turned_on) {
            computer.turn_on();
        }
        Ok(fleet)
    }

    /// The computer with that number.
    ///
    /// # Errors
    /// [`SimError::UnknownComputer`].
    pub fn computer(&self, id: u32) -> Result<&Arc<Computer>, SimError> {
        self.computers.get(&id).ok_or(SimError::UnknownComputer(id))
    }

    /// All computers, by number.
    pub fn computers(&self) -> impl Iterator<Item = &Arc<Computer>> {
        self.computers.values()
    }

    /// Switches all computers off (their sockets close) and ends the threads; returns when that is done, after
    /// at most some seconds.
    pub async fn shutdown(self) {
        // The last steps join threads, which must not hold up the caller's runtime.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }

    fn stop_all(&mut self) {
        for computer in self.computers.values() {
            computer.turn_off();
        }
        for computer in self.computers.values() {
            computer.block_until(STOP_LIMIT, |c| !c.is_on());
        }
        if !self.workers.stop(STOP_LIMIT) {
            tracing::warn!("a simulated computer did not stop; its thread is left behind");
        }
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The fleet's runtime, which may also be dropped inside another one: when a disk cannot be used, for example.
struct OwnRuntime(Option<tokio::runtime::Runtime>);

impl OwnRuntime {
    fn run(&mut self, what: impl Future<Output = ()>) {
        if let Some(runtime) = &self.0 {
            runtime.block_on(what);
        }
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for SimFleet {
    fn drop(&mut self) {
        self.stop_all();
    }
}

/// Twenty times a second until the fleet ends; lost time is made up for.
async fn tick(core: Arc<Core>, mut stopped: oneshot::Receiver<()>) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    ticks.tick().await;
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                core.clock.advance();
                core.world.tick();
                core.workers.relieve();
            }
            _ = &mut stopped => return,
        }
    }
}

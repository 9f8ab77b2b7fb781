//! One simulated computer: its power switch, its queue of 256 events, its screen.

mod outside;
mod run;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

use super::SimError;
use super::clock::Clock;
use super::config::ComputerConfig;
use super::disk::Disk;
use super::event::Event;
use super::faults::Faults;
use super::hardware::Hardware;
use super::limits::Limits;
use super::net::{Net, Socket};
use super::sched::Workers;
use super::screen::Screen;
use super::vm::Vm;
use super::world::World;

/// Events that fit into a computer's queue; further ones are dropped without a word.
const QUEUE_LIMIT: usize = 256;
/// HTTP requests that are under way at once; further ones wait.
const MAX_REQUESTS: usize = 16;
/// How often a waiting caller looks again if nothing was announced.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What the computers of a fleet share.
pub(crate) struct Core {
    pub(crate) workers: Arc<Workers>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) net: Net,
    pub(crate) world: World,
}

/// What the switch is asked for; the last wish wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    On,
    Off,
    Reboot,
    /// As if the chunk was unloaded: off, nothing is sent any more.
    Kill,
}

#[derive(Default)]
struct Inner {
    on: bool,
    /// A wish for it was taken, and it is about to be on.
    boots: bool,
    wish: Option<Wish>,
    queue: VecDeque<Event>,
    dropped: u64,
    in_line: bool,
    /// Counts boots, so that nothing of a former life reaches the next.
    session: u64,
    boot_tick: u64,
    label: Option<String>,
    /// Number → tick at which it is due, and the frozen ticks that were counted in.
    timers: HashMap<u32, (u64, u64)>,
    next_timer: u32,
    sockets: Vec<Weak<Socket>>,
    last_error: Option<String>,
    program: Option<bool>,
    /// Ticks of this boot that a pause of the game took or will take.
    frozen_ticks: u64,
}

/// A simulated computer. Cheap to share; all methods may be called from any thread.
pub struct Computer {
    config: ComputerConfig,
    core: Arc<Core>,
    disk: Arc<Disk>,
    inner: Mutex<Inner>,
    screen: Mutex<Screen>,
    hardware: Hardware,
    faults: Faults,
    http_slots: Arc<Semaphore>,
    vm: Mutex<Option<Vm>>,
    limits: Limits,
    memory: AtomicU64,
    me: Weak<Computer>,
    changed: watch::Sender<u64>,
}

impl Computer {
    pub(crate) fn new(config: ComputerConfig, core: Arc<Core>) -> Result<Arc<Computer>, SimError> {
        config.prepare_disk()?;
        let disk = Disk::open_folder(&config.disk, config.disk_capacity).map_err(|source| {
            SimError::Disk {
                path: config.disk.clone(),
                source,
            }
        })?;
        let inner = Inner {
            label: config.label.clone(),
            ..Inner::default()
        };
        let hardware = Hardware::default();
        for attached in &config.attached {
            hardware.attach(attached, &core.world);
        }
        core.add_turtle(&config);
        Ok(Arc::new_cyclic(|me| Computer {
            core,
            disk: Arc::new(disk),
            inner: Mutex::new(inner),
            screen: Mutex::new(Screen::new(config.kind.screen_size(), config.keep_output)),
            hardware,
            faults: Faults::default(),
            http_slots: Arc::new(Semaphore::new(MAX_REQUESTS)),
            vm: Mutex::new(None),
            limits: Limits::new(config.yield_limit, config.stop_limit),
            memory: AtomicU64::new(0),
            me: me.clone(),
            changed: watch::Sender::new(0),
            config,
        }))
    }

    /// The computer's number, as `os.getComputerID()` returns it.
    pub fn id(&self) -> u32 {
        self.config.id
    }

    /// The settings that this computer was made with.
    pub fn config(&self) -> &ComputerConfig {
        &self.config
    }

    /// Its label, which programs may change.
    pub fn label(&self) -> Option<String> {
        self.lock().label.clone()
    }

    /// True from the moment it is switched on until it is off.
    pub fn is_on(&self) -> bool {
        let inner = self.lock();
        inner.on || inner.boots || matches!(inner.wish, Some(Wish::On | Wish::Reboot))
    }

    /// The screen's lines, without trailing spaces.
    pub fn screen_lines(&self) -> Vec<String> {
        self.screen().text()
    }

    /// The screen's lines joined by line feeds.
    pub fn screen_text(&self) -> String {
        self.screen_lines().join("\n")
    }

    /// What stopped the computer last, if it did not stop by itself: the text of `Error running computer`.
    pub fn last_error(&self) -> Option<String> {
        self.lock().last_error.clone()
    }

    /// Events that were dropped since the fleet started because the queue was full.
    pub fn dropped_events(&self) -> u64 {
        self.lock().dropped
    }

    /// Bytes that its Lua machine used after the last slice; 0 while it is off.
    pub fn lua_memory(&self) -> u64 {
        // A slice that just ends may still write its figure after the computer went off.
        if self.is_on() {
            self.memory.load(Ordering::Relaxed)
        } else {
            0
        }
    }

    /// True if at least one WebSocket is open.
    pub fn is_connected(&self) -> bool {
        self.lock()
            .sockets
            .iter()
            .any(|s| s.upgrade().is_some_and(|s| s.is_open()))
    }

    /// WebSockets that are open or being opened.
    pub fn open_sockets(&self) -> usize {
        self.lock()
            .sockets
            .iter()
            .filter(|s| s.upgrade().is_some_and(|s| s.holds_place()))
            .count()
    }

    /// Puts an event into the queue, like a key press or a signal would come. Returns false if it was dropped:
    /// the computer is off or 256 events wait already. JSON `null` is nil.
    pub fn queue_event(&self, name: &str, args: Vec<serde_json::Value>) -> bool {
        let session = self.lock().session;
        self.push(
            session,
            Event::Named {
                name: name.to_owned(),
                args,
            },
        )
    }

    /// Types text as if at the keyboard; a line feed is the Enter key.
    pub fn type_text(&self, text: &str) {
        for c in text.chars() {
            if c == '\n' {
                self.queue_event("key", vec![257.into(), false.into()]);
                self.queue_event("key_up", vec![257.into()]);
            } else {
                self.queue_event("char", vec![c.to_string().into()]);
            }
        }
    }

    /// Switches the computer on; does nothing if it is on.
    pub fn turn_on(&self) {
        self.wish(Wish::On);
    }

    /// Switches it off: sockets are closed, Lua's state and the queue are lost.
    pub fn turn_off(&self) {
        self.wish(Wish::Off);
    }

    /// Off and on again.
    pub fn reboot(&self) {
        self.wish(Wish::Reboot);
    }

    /// A crash, like the unloading of its chunk: connections break at once, what was not yet sent is lost.
    pub fn kill(&self) {
        self.wish(Wish::Kill);
    }

    /// Waits until `condition` holds.
    ///
    /// # Errors
    /// [`SimError::Timeout`] after `limit`, with the screen as it was then.
    pub async fn wait_until(
        &self,
        limit: Duration,
        what: &str,
        condition: impl Fn(&Computer) -> bool,
    ) -> Result<(), SimError> {
        let until = tokio::time::Instant::now() + limit;
        let mut changed = self.changed.subscribe();
        while !condition(self) {
            if tokio::time::Instant::now() >= until {
                return Err(self.timeout(what));
            }
            let look = (tokio::time::Instant::now() + LOOK_AGAIN).min(until);
            let _ = tokio::time::timeout_at(look, changed.changed()).await;
        }
        Ok(())
    }

    /// Waits until `text` stands on the screen; see [`Computer::wait_until`].
    pub async fn wait_for_text(&self, text: &str, limit: Duration) -> Result<(), SimError> {
        self.wait_until(limit, &format!("the text {text:?}"), |c| {
            c.screen_text().contains(text)
        })
        .await
    }

    /// Waits until the computer is off; see [`Computer::wait_until`].
    pub async fn wait_off(&self, limit: Duration) -> Result<(), SimError> {
        self.wait_until(limit, "the computer to be off", |c| !c.is_on())
            .await
    }

    /// Blocks the calling thread until `condition` holds; false after `limit`.
    pub(crate) fn block_until(
        &self,
        limit: Duration,
        condition: impl Fn(&Computer) -> bool,
    ) -> bool {
        let until = Instant::now() + limit;
        while !condition(self) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    fn timeout(&self, what: &str) -> SimError {
        SimError::Timeout {
            computer: self.id(),
            what: what.to_owned(),
            screen: self.screen_text(),
        }
    }
}

/// What the natives, the clock and the sockets use.
impl Computer {
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    pub(crate) fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn http_slots(&self) -> Arc<Semaphore> {
        self.http_slots.clone()
    }

    pub(crate) fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn session(&self) -> u64 {
        self.lock().session
    }

    pub(crate) fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    pub(crate) fn ticks_since_boot(&self) -> u64 {
        let now = self.core.clock.now();
        let inner = self.lock();
        let frozen = inner
            .frozen_ticks
            .saturating_sub(self.faults.pause_left(now));
        now.saturating_sub(inner.boot_tick + frozen)
    }

    pub(crate) fn set_label(&self, label: Option<String>) {
        self.lock().label = label;
    }

    /// The program that [`super::run_program_to_end`] gave has ended: `ok` is what the shell said.
    pub(crate) fn set_program_result(&self, ok: bool) {
        self.lock().program = Some(ok);
    }

    pub(crate) fn program_result(&self) -> Option<bool> {
        self.lock().program
    }

    /// Puts an event into the queue of boot number `session`; false if it was dropped.
    pub(crate) fn push(&self, session: u64, event: Event) -> bool {
        let mut inner = self.lock();
        if !inner.on || inner.session != session {
            return false;
        }
        if inner.queue.len() >= QUEUE_LIMIT {
            inner.dropped += 1;
            return false;
        }
        inner.queue.push_back(event);
        self.line_up(inner);
        true
    }

    /// Remembers a socket so that it is closed with the computer; false if four are open already.
    pub(crate) fn add_socket(&self, socket: &Arc<Socket>, limit: usize) -> bool {
        let mut inner = self.lock();
        inner
            .sockets
            .retain(|s| s.upgrade().is_some_and(|s| s.holds_place()));
        if inner.sockets.len() >= limit {
            return false;
        }
        inner.sockets.push(Arc::downgrade(socket));
        true
    }

    pub(crate) fn wish(&self, wish: Wish) {
        let mut inner = self.lock();
        inner.wish = Some(wish);
        if wish != Wish::On {
            self.limits.abort();
        }
        self.line_up(inner);
    }

    fn line_up(&self, mut inner: MutexGuard<'_, Inner>) {
        if !inner.in_line {
            inner.in_line = true;
            drop(inner);
            if let Some(me) = self.me.upgrade() {
                self.core.workers.enqueue(me);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The block world that the computers of one process share: turtles move in it, dig it and find chests in it.
//!
//! It is small and honest rather than complete: ground below height 0, chests, items that lie about. What a turtle
//! is asked to do waits in a queue and is done on the clock's ticks, as in the game; the answer comes as an event
//! through the computer's queue of 256, where it can be lost.

mod command;
mod inventory;
mod item;
mod place;
mod turtle;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::computer::Computer;
use super::event::{Arg, Event};
pub(crate) use command::Command;
pub(crate) use inventory::{Inventory, transfer};
pub(crate) use item::{Stack, stack_limit};
pub(crate) use place::Way;
pub use place::{Facing, Place};
pub(crate) use turtle::Turtle;

/// Main-thread tasks that may wait for one computer.
const MAX_TASKS: usize = 5000;
/// Slots of a chest in the world.
pub(crate) const CHEST_SLOTS: usize = 27;

/// An inventory that several may reach: a chest in the world or on the wired network.
pub(crate) type SharedInventory = Arc<Mutex<Inventory>>;

/// What a peripheral's method comes to: values, or the text of an error.
pub(crate) type TaskResult = Result<Vec<Arg>, String>;

/// Work for the game's main thread, done at the next tick.
struct Task {
    computer: Weak<Computer>,
    session: u64,
    id: u64,
    work: Box<dyn FnOnce() -> TaskResult + Send>,
}

/// Blocks, turtles and what waits for the next tick.
#[derive(Default)]
pub(crate) struct World {
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    /// Blocks that differ from how the world was made; `None` is air.
    changed: HashMap<Place, Option<String>>,
    chests: HashMap<Place, SharedInventory>,
    /// Items on the ground.
    lying: HashMap<Place, Vec<Stack>>,
    /// Chests of the wired network, by name.
    network: HashMap<String, SharedInventory>,
    turtles: BTreeMap<u32, Turtle>,
    /// Turtles that have something to do.
    active: BTreeSet<u32>,
    tasks: VecDeque<Task>,
    next_task: u64,
}

impl Inner {
    /// The block at a place, turtles included; `None` is air.
    pub(super) fn block(&self, at: Place) -> Option<String> {
        if let Some(turtle) = self.turtles.values().find(|t| t.place == at) {
            return Some(turtle.block_name().to_owned());
        }
        match self.changed.get(&at) {
            Some(block) => block.clone(),
            None => item::natural(at.x, at.y, at.z).map(str::to_owned),
        }
    }

    pub(super) fn set_block(&mut self, at: Place, block: Option<String>) {
        if block.as_deref().is_some_and(item::is_chest) {
            self.chests
                .entry(at)
                .or_insert_with(|| Arc::new(Mutex::new(Inventory::new(CHEST_SLOTS))));
        } else {
            self.chests.remove(&at);
        }
        self.changed.insert(at, block);
    }
}

impl World {
    /// Puts a turtle into the world; one that is there already (the computer is switched on again) stays.
    pub(crate) fn add_turtle(&self, id: u32, make: impl FnOnce() -> Turtle) {
        self.lock().turtles.entry(id).or_insert_with(make);
    }

    /// Puts a block at a place, `minecraft:air` to clear it.
    pub(crate) fn set_block(&self, at: Place, block: &str) {
        let block = (block != "minecraft:air").then(|| block.to_owned());
        self.lock().set_block(at, block);
    }

    /// The block at a place.
    pub(crate) fn block(&self, at: Place) -> Option<String> {
        self.lock().block(at)
    }

    /// The chest at a place.
    pub(crate) fn chest(&self, at: Place) -> Option<SharedInventory> {
        self.lock().chests.get(&at).cloned()
    }

    /// The chest of that name on the wired network; it is made with `slots` when it is first named.
    pub(crate) fn network_chest(&self, name: &str, slots: usize) -> SharedInventory {
        let mut inner = self.lock();
        let fresh = || Arc::new(Mutex::new(Inventory::new(slots)));
        inner
            .network
            .entry(name.to_owned())
            .or_insert_with(fresh)
            .clone()
    }

    /// Reads or changes a turtle.
    pub(crate) fn with_turtle<R>(&self, id: u32, what: impl FnOnce(&mut Turtle) -> R) -> Option<R> {
        self.lock().turtles.get_mut(&id).map(what)
    }

    /// Queues a turtle's command; the number that its `turtle_response` will carry, or why it was refused.
    pub(crate) fn command(
        &self,
        computer: &Arc<Computer>,
        command: Command,
    ) -> Result<u32, &'static str> {
        let mut inner = self.lock();
        let Some(turtle) = inner.turtles.get_mut(&computer.id()) else {
            return Err("This computer is no turtle");
        };
        let number = turtle.enqueue(command)?;
        turtle.owner = Arc::downgrade(computer);
        inner.active.insert(computer.id());
        Ok(number)
    }

    /// Queues work for the main thread; the number that its `task_complete` will carry. `None` if 5000 wait.
    pub(crate) fn task(
        &self,
        computer: &Arc<Computer>,
        work: impl FnOnce() -> TaskResult + Send + 'static,
    ) -> Option<u64> {
        let mut inner = self.lock();
        let mine = Arc::downgrade(computer);
        let waiting = inner
            .tasks
            .iter()
            .filter(|t| Weak::ptr_eq(&t.computer, &mine));
        if waiting.count() >= MAX_TASKS {
            return None;
        }
        inner.next_task += 1;
        let id = inner.next_task;
        inner.tasks.push_back(Task {
            computer: mine,
            session: computer.session(),
            id,
            work: Box::new(work),
        });
        Some(id)
    }

    /// One tick: main-thread work is done, every turtle that is not busy with an animation does one command.
    pub(crate) fn tick(&self) {
        let mut inner = self.lock();
        if inner.tasks.is_empty() && inner.active.is_empty() {
            return;
        }
        let tasks = std::mem::take(&mut inner.tasks);
        let mut answers = Vec::new();
        for id in inner.active.clone() {
            answers.extend(inner.turtle_tick(id));
        }
        drop(inner);
        for (computer, event) in answers {
            if let Some(computer) = computer.upgrade() {
                computer.push(computer.session(), event);
            }
        }
        for task in tasks {
            let Some(computer) = task.computer.upgrade() else {
                continue;
            };
            let mut args = vec![Arg::Number(task.id as f64)];
            match (task.work)() {
                Ok(values) => {
                    args.push(Arg::Bool(true));
                    args.extend(values);
                }
                Err(text) => args.extend([Arg::Bool(false), Arg::Bytes(text.into_bytes())]),
            }
            computer.push(task.session, Event::world("task_complete", args));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn turtle_tick(&mut self, id: u32) -> Option<(Weak<Computer>, Event)> {
        let mut turtle = self.turtles.remove(&id)?;
        let answer = turtle.tick(self);
        if turtle.is_idle() {
            self.active.remove(&id);
        }
        let owner = turtle.owner.clone();
        self.turtles.insert(id, turtle);
        answer.map(|event| (owner, event))
    }
}

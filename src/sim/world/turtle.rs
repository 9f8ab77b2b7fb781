//! A turtle: where it stands, what it holds, and the queue of what it was told to do.

use std::collections::VecDeque;
use std::sync::Weak;

use super::Inner;
use super::command::{Command, Done};
use super::inventory::Inventory;
use super::place::{Facing, Place};
use crate::sim::computer::Computer;
use crate::sim::event::{Arg, Event};

/// Commands may wait until there are more than this.
const MAX_QUEUE: usize = 16;
/// Slots a turtle has.
pub(crate) const SLOTS: usize = 16;

/// A turtle's body. It outlives reboots of its computer.
pub(crate) struct Turtle {
    pub(crate) place: Place,
    pub(crate) facing: Facing,
    pub(crate) inventory: Inventory,
    /// From 0 on.
    pub(crate) selected: usize,
    pub(crate) fuel: u32,
    pub(crate) fuel_limit: u32,
    /// Tools on the left and the right side.
    pub(crate) tools: [Option<String>; 2],
    pub(super) owner: Weak<Computer>,
    advanced: bool,
    queue: VecDeque<(u32, Command)>,
    issued: u32,
    /// Ticks until the animation of the last command is over.
    busy: u32,
}

impl Turtle {
    pub(crate) fn new(place: Place, facing: Facing, advanced: bool, fuel: u32) -> Turtle {
        let fuel_limit = if advanced { 100_000 } else { 20_000 };
        Turtle {
            place,
            facing,
            inventory: Inventory::new(SLOTS),
            selected: 0,
            fuel: fuel.min(fuel_limit),
            fuel_limit,
            tools: [Some("minecraft:diamond_pickaxe".to_owned()), None],
            owner: Weak::new(),
            advanced,
            queue: VecDeque::new(),
            issued: 0,
            busy: 0,
        }
    }

    /// What other turtles see.
    pub(super) fn block_name(&self) -> &'static str {
        if self.advanced {
            "computercraft:turtle_advanced"
        } else {
            "computercraft:turtle_normal"
        }
    }

    /// Notes a command. The check is the mod's: a seventeenth is still taken, an eighteenth not.
    pub(super) fn enqueue(&mut self, command: Command) -> Result<u32, &'static str> {
        if self.queue.len() > MAX_QUEUE {
            return Err("Too many ongoing turtle commands");
        }
        self.issued = self.issued.wrapping_add(1);
        self.queue.push_back((self.issued, command));
        Ok(self.issued)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.busy == 0
    }

    /// One tick: a command if none is being shown; the answer goes out at once, the animation follows.
    pub(super) fn tick(&mut self, world: &mut Inner) -> Option<Event> {
        if self.busy > 0 {
            self.busy -= 1;
        }
        if self.busy > 0 {
            return None;
        }
        let (number, command) = self.queue.pop_front()?;
        let Done {
            ok,
            values,
            animation,
        } = command.execute(self, world);
        self.busy = animation;
        let mut args = vec![Arg::Number(f64::from(number)), Arg::Bool(ok)];
        args.extend(values);
        Some(Event::world("turtle_response", args))
    }
}

//! What a turtle can be told to do.

use super::item::{Stack, after_burning, breaks, drop_of, fuel_value, is_block, is_tool};
use super::place::{Place, Way};
use super::turtle::{SLOTS, Turtle};
use super::{Inner, SharedInventory};
use crate::sim::event::Arg;
use std::sync::PoisonError;

/// Ticks that a movement, a turn or a swing is shown: 0.4 s.
const ANIMATION: u32 = 8;
/// Heights a turtle may reach.
const HEIGHTS: std::ops::Range<i64> = -64..320;

/// One command with its arguments; slots count from 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Move(Way),
    Turn { left: bool },
    Dig { way: Way, side: Option<usize> },
    Attack { way: Way, side: Option<usize> },
    Place(Way),
    Drop(Way, u32),
    Suck(Way, u32),
    Detect(Way),
    Compare(Way),
    Inspect(Way),
    Select(usize),
    CompareTo(usize),
    TransferTo(usize, u32),
    Refuel(u32),
    Equip(usize),
}

/// How a command ended.
pub(super) struct Done {
    pub(super) ok: bool,
    pub(super) values: Vec<Arg>,
    /// Ticks in which the turtle does nothing else.
    pub(super) animation: u32,
}

fn success(animation: u32) -> Done {
    Done {
        ok: true,
        values: Vec::new(),
        animation,
    }
}

fn failure(text: &str) -> Done {
    Done {
        ok: false,
        values: vec![Arg::from(text)],
        animation: 0,
    }
}

/// An answer without a text.
fn whether(ok: bool) -> Done {
    Done {
        ok,
        values: Vec::new(),
        animation: 0,
    }
}

impl Command {
    pub(super) fn execute(self, turtle: &mut Turtle, world: &mut Inner) -> Done {
        let there = |turtle: &Turtle, way| turtle.place.step(turtle.facing, way);
        match self {
            Command::Move(way) => go(turtle, world, there(turtle, way)),
            Command::Turn { left } => {
                turtle.facing = turtle.facing.turned(left);
                success(ANIMATION)
            }
            Command::Dig { way, side } => dig(turtle, world, there(turtle, way), side),
            Command::Attack { side, .. } => match tool(turtle, side) {
                Some(_) => failure("Nothing to attack here"),
                None => failure("No tool to attack with"),
            },
            Command::Place(way) => place(turtle, world, there(turtle, way)),
            Command::Drop(way, count) => drop_items(turtle, world, there(turtle, way), count),
            Command::Suck(way, count) => suck(turtle, world, there(turtle, way), count),
            Command::Detect(way) => whether(world.block(there(turtle, way)).is_some()),
            Command::Compare(way) => {
                let held = turtle
                    .inventory
                    .get(turtle.selected)
                    .map(|s| s.name.clone());
                whether(world.block(there(turtle, way)) == held)
            }
            Command::Inspect(way) => inspect(world, there(turtle, way)),
            Command::Select(slot) => {
                turtle.selected = slot;
                success(0)
            }
            Command::CompareTo(slot) => {
                let name = |slot| turtle.inventory.get(slot).map(|s| &s.name);
                whether(name(slot) == name(turtle.selected))
            }
            Command::TransferTo(slot, count) => transfer_to(turtle, slot, count),
            Command::Refuel(count) => refuel(turtle, count),
            Command::Equip(side) => equip(turtle, side),
        }
    }
}

fn go(turtle: &mut Turtle, world: &Inner, to: Place) -> Done {
    if !HEIGHTS.contains(&to.y) {
        return failure(if to.y < 0 {
            "Too low to move"
        } else {
            "Too high to move"
        });
    }
    if world.block(to).is_some() {
        return failure("Movement obstructed");
    }
    if turtle.fuel < 1 {
        return failure("Out of fuel");
    }
    turtle.fuel -= 1;
    turtle.place = to;
    success(ANIMATION)
}

/// The tool of a side, or of any.
fn tool(turtle: &Turtle, side: Option<usize>) -> Option<&String> {
    match side {
        Some(side) => turtle.tools.get(side)?.as_ref(),
        None => turtle.tools.iter().flatten().next(),
    }
}

fn dig(turtle: &mut Turtle, world: &mut Inner, at: Place, side: Option<usize>) -> Done {
    let Some(tool) = tool(turtle, side) else {
        return failure("No tool to dig with");
    };
    let Some(block) = world.block(at) else {
        return failure("Nothing to dig here");
    };
    if block == "minecraft:bedrock" {
        return failure("Cannot break unbreakable block");
    }
    if block.starts_with("computercraft:") {
        return failure("Cannot break protected block");
    }
    if !breaks(tool, &block) {
        return failure("Cannot break block with this tool");
    }
    let inside = world.chests.get(&at).cloned();
    world.set_block(at, None);
    let mut loot = vec![Stack::new(drop_of(&block), 1)];
    if let Some(chest) = inside {
        loot.extend(locked(&chest).filled().map(|(_, stack)| stack.clone()));
    }
    for stack in loot {
        let kept = turtle
            .inventory
            .store(turtle.selected, &stack.name, stack.count);
        if kept < stack.count {
            let rest = Stack::new(stack.name, stack.count - kept);
            world.lying.entry(at).or_default().push(rest);
        }
    }
    success(ANIMATION)
}

fn place(turtle: &mut Turtle, world: &mut Inner, at: Place) -> Done {
    let Some(stack) = turtle.inventory.get(turtle.selected) else {
        return failure("No items to place");
    };
    if !is_block(&stack.name) {
        return failure("Cannot place item here");
    }
    if world.block(at).is_some() || !HEIGHTS.contains(&at.y) {
        return failure("Cannot place block here");
    }
    let block = stack.name.clone();
    turtle.inventory.take(turtle.selected, 1);
    world.set_block(at, Some(block));
    success(ANIMATION)
}

fn drop_items(turtle: &mut Turtle, world: &mut Inner, at: Place, count: u32) -> Done {
    if count == 0 {
        return success(ANIMATION);
    }
    let Some(stack) = turtle.inventory.take(turtle.selected, count) else {
        return failure("No items to drop");
    };
    let gone = match world.chests.get(&at) {
        Some(chest) => locked(chest).store(0, &stack.name, stack.count),
        None => {
            world.lying.entry(at).or_default().push(stack.clone());
            stack.count
        }
    };
    turtle
        .inventory
        .put(turtle.selected, &stack.name, stack.count - gone);
    if gone > 0 {
        success(ANIMATION)
    } else {
        failure("No space for items")
    }
}

fn suck(turtle: &mut Turtle, world: &mut Inner, at: Place, count: u32) -> Done {
    if count == 0 {
        return success(ANIMATION);
    }
    let chest = world.chests.get(&at).cloned();
    let found = match &chest {
        Some(chest) => locked(chest).take_first(count),
        None => world.take_lying(at, count),
    };
    let Some(stack) = found else {
        return failure("No items to take");
    };
    let kept = turtle
        .inventory
        .store(turtle.selected, &stack.name, stack.count);
    let rest = stack.count - kept;
    if rest > 0 {
        match &chest {
            Some(chest) => drop(locked(chest).store(0, &stack.name, rest)),
            None => world
                .lying
                .entry(at)
                .or_default()
                .push(Stack::new(stack.name, rest)),
        }
    }
    if kept > 0 {
        success(ANIMATION)
    } else {
        failure("No space for items")
    }
}

fn inspect(world: &Inner, at: Place) -> Done {
    let Some(block) = world.block(at) else {
        return failure("No block to inspect");
    };
    let field = |name: &str, value: Arg| (Arg::from(name), value);
    let about = vec![
        field("name", Arg::from(block.as_str())),
        field("state", Arg::Table(Vec::new())),
        field("tags", Arg::Table(Vec::new())),
    ];
    Done {
        values: vec![Arg::Table(about)],
        ..success(0)
    }
}

fn transfer_to(turtle: &mut Turtle, slot: usize, count: u32) -> Done {
    if slot == turtle.selected || count == 0 {
        return success(ANIMATION);
    }
    let Some(stack) = turtle.inventory.take(turtle.selected, count) else {
        return success(ANIMATION);
    };
    let moved = turtle
        .inventory
        .put(slot.min(SLOTS - 1), &stack.name, stack.count);
    turtle
        .inventory
        .put(turtle.selected, &stack.name, stack.count - moved);
    if moved > 0 {
        success(ANIMATION)
    } else {
        failure("No space for items")
    }
}

fn refuel(turtle: &mut Turtle, count: u32) -> Done {
    let Some(stack) = turtle.inventory.get(turtle.selected) else {
        return failure("No items to combust");
    };
    let Some(value) = fuel_value(&stack.name) else {
        return failure("Items not combustible");
    };
    // Burning nothing asks only whether it would burn.
    let Some(burnt) = turtle.inventory.take(turtle.selected, count) else {
        return success(0);
    };
    let gained = value.saturating_mul(burnt.count);
    turtle.fuel = turtle.fuel.saturating_add(gained).min(turtle.fuel_limit);
    if let Some(left) = after_burning(&burnt.name) {
        turtle.inventory.store(turtle.selected, left, burnt.count);
    }
    success(ANIMATION)
}

fn equip(turtle: &mut Turtle, side: usize) -> Done {
    let held = turtle
        .inventory
        .get(turtle.selected)
        .map(|s| s.name.clone());
    if held.as_deref().is_some_and(|name| !is_tool(name)) {
        return failure("Not a valid upgrade");
    }
    if held.is_some() {
        turtle.inventory.take(turtle.selected, 1);
    }
    if let Some(tool) = turtle.tools.get_mut(side) {
        let old = std::mem::replace(tool, held);
        if let Some(old) = old {
            turtle.inventory.store(turtle.selected, &old, 1);
        }
    }
    success(ANIMATION)
}

impl Inner {
    fn take_lying(&mut self, at: Place, count: u32) -> Option<Stack> {
        let lying = self.lying.get_mut(&at)?;
        let mut stack = lying.pop()?;
        if stack.count > count {
            lying.push(Stack::new(stack.name.clone(), stack.count - count));
            stack.count = count;
        }
        if lying.is_empty() {
            self.lying.remove(&at);
        }
        Some(stack)
    }
}

fn locked(chest: &SharedInventory) -> std::sync::MutexGuard<'_, super::Inventory> {
    chest.lock().unwrap_or_else(PoisonError::into_inner)
}

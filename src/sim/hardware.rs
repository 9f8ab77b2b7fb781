//! What is attached to a computer: chests, monitors, redstone. `config` names it, `native` reaches it.

mod monitor;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::event::Arg;
use super::screen::Screen;
use super::world::{CHEST_SLOTS, SharedInventory, Stack, TaskResult, World, stack_limit, transfer};
pub(crate) use monitor::Monitor;

/// The sides in the order in which `redstone.getSides()` lists them.
pub(crate) const SIDES: [&str; 6] = ["bottom", "top", "back", "front", "right", "left"];

/// A device and the name under which programs find it: a side (`top`), or `TYPE_N` on the wired network, where
/// computers of one process that name the same chest share it.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    /// `bottom`, `top`, `back`, `front`, `right`, `left`, or a name like `minecraft:chest_0`.
    pub name: String,
    /// What it is.
    pub device: Device,
}

/// A peripheral that can be attached.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    /// A chest of 27 slots with what lies in it: slot (from 1), item, count.
    Chest(Vec<(usize, String, u32)>),
    /// A monitor, in blocks.
    Monitor {
        /// Blocks side by side, 1 to 8.
        width: u32,
        /// Blocks one above the other, 1 to 6.
        height: u32,
    },
}

/// A device as natives use it.
#[derive(Clone)]
pub(crate) enum Part {
    Chest(SharedInventory),
    Monitor(Arc<Mutex<Monitor>>),
}

/// All that is attached to one computer.
#[derive(Default)]
pub(crate) struct Hardware {
    parts: Mutex<BTreeMap<String, Part>>,
    redstone: Mutex<[Side; 6]>,
}

/// Redstone of one side.
#[derive(Clone, Copy, Default)]
pub(crate) struct Side {
    /// What comes in and what the computer gives out: 0 to 15.
    pub(crate) input: u8,
    pub(crate) output: u8,
    /// The same for bundled cables: a bit for each colour.
    pub(crate) bundled_input: u16,
    pub(crate) bundled_output: u16,
}

const CHEST_METHODS: [&str; 6] = [
    "size",
    "list",
    "getItemDetail",
    "getItemLimit",
    "pushItems",
    "pullItems",
];

impl Part {
    pub(crate) fn types(&self) -> &'static [&'static str] {
        match self {
            Part::Chest(_) => &["minecraft:chest", "inventory"],
            Part::Monitor(_) => &["monitor"],
        }
    }

    /// Methods that are answered by the main thread; a monitor's are in `bios/hardware.lua`.
    pub(crate) fn methods(&self) -> &'static [&'static str] {
        match self {
            Part::Chest(_) => &CHEST_METHODS,
            Part::Monitor(_) => &[],
        }
    }
}

impl Hardware {
    /// Attaches a device, in place of what had its name.
    pub(crate) fn attach(&self, attached: &Attached, world: &World) {
        let part = match &attached.device {
            Device::Chest(items) => {
                let chest = if SIDES.contains(&attached.name.as_str()) {
                    SharedInventory::default()
                } else {
                    world.network_chest(&attached.name, CHEST_SLOTS)
                };
                fill(&chest, items);
                Part::Chest(chest)
            }
            Device::Monitor { width, height } => {
                Part::Monitor(Arc::new(Mutex::new(Monitor::new(*width, *height))))
            }
        };
        self.lock().insert(attached.name.clone(), part);
    }

    /// Takes a device away; false if there was none.
    pub(crate) fn detach(&self, name: &str) -> bool {
        self.lock().remove(name).is_some()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Part> {
        self.lock().get(name).cloned()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// The screen of a monitor.
    pub(crate) fn on_monitor<R>(
        &self,
        name: &str,
        what: impl FnOnce(&mut Screen) -> R,
    ) -> Option<R> {
        match self.get(name)? {
            Part::Monitor(monitor) => Some(what(&mut locked(&monitor).screen)),
            Part::Chest(_) => None,
        }
    }

    /// Reads or changes the redstone of a side.
    pub(crate) fn side<R>(&self, name: &str, what: impl FnOnce(&mut Side) -> R) -> Option<R> {
        let at = SIDES.iter().position(|side| *side == name)?;
        let mut sides = self.redstone.lock().unwrap_or_else(PoisonError::into_inner);
        Some(what(&mut sides[at]))
    }

    /// What a computer gives out ends when it is off.
    pub(crate) fn power_off(&self) {
        let mut sides = self.redstone.lock().unwrap_or_else(PoisonError::into_inner);
        for side in sides.iter_mut() {
            (side.output, side.bundled_output) = (0, 0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Part>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks what several computers may share.
pub(crate) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fill(chest: &SharedInventory, items: &[(usize, String, u32)]) {
    let mut chest = locked(chest);
    if chest.size() == 0 {
        *chest = super::world::Inventory::new(CHEST_SLOTS);
    }
    for (slot, name, count) in items {
        chest.set(
            slot.saturating_sub(1),
            Some(Stack::new(name.clone(), *count)),
        );
    }
}

/// A method of a chest, with its arguments checked for type already.
pub(crate) struct ChestCall {
    pub(crate) method: String,
    /// Slot from 1 on: the only argument of `getItemDetail`, the first slot of a transfer.
    pub(crate) slot: i64,
    pub(crate) limit: Option<i64>,
    pub(crate) to_slot: Option<i64>,
    /// The other inventory: `None` if there is no such peripheral, `Some(None)` if it holds no items.
    pub(crate) other: Option<Option<SharedInventory>>,
    pub(crate) other_name: String,
}

impl ChestCall {
    /// Does it; this runs on a tick.
    pub(crate) fn run(self, chest: &SharedInventory) -> TaskResult {
        match self.method.as_str() {
            "size" => Ok(vec![Arg::Number(locked(chest).size() as f64)]),
            "list" => {
                let chest = locked(chest);
                let entries = chest
                    .filled()
                    .map(|(i, stack)| (Arg::Number((i + 1) as f64), basic(stack)));
                Ok(vec![Arg::Table(entries.collect())])
            }
            "getItemDetail" => {
                let chest = locked(chest);
                let slot = in_range(self.slot, chest.size(), "Slot")?;
                Ok(vec![chest.get(slot).map_or(Arg::Nil, detailed)])
            }
            "getItemLimit" => {
                let chest = locked(chest);
                let slot = in_range(self.slot, chest.size(), "Slot")?;
                let limit = chest.get(slot).map_or(64, Stack::limit);
                Ok(vec![Arg::Number(f64::from(limit))])
            }
            _ => self.transfer(chest),
        }
    }

    fn transfer(self, chest: &SharedInventory) -> TaskResult {
        let pushes = self.method == "pushItems";
        let role = if pushes { "Target" } else { "Source" };
        let name = &self.other_name;
        let other = match self.other {
            Some(Some(other)) => other,
            Some(None) => return Err(format!("{role} '{name}' is not an inventory")),
            None => return Err(format!("{role} '{name}' does not exist")),
        };
        let (from, to) = if pushes {
            (chest, &other)
        } else {
            (&other, chest)
        };
        // One after the other: they may be the same.
        let from_size = locked(from).size();
        let to_size = locked(to).size();
        let slot = in_range(self.slot, from_size, "From slot")?;
        let to_slot = self
            .to_slot
            .map(|s| in_range(s, to_size, "To slot"))
            .transpose()?;
        let count = u32::try_from(
            self.limit
                .unwrap_or(i64::from(u32::MAX))
                .clamp(0, i64::from(u32::MAX)),
        )
        .unwrap_or(u32::MAX);
        let moved = if Arc::ptr_eq(from, to) {
            within(&mut locked(from), slot, to_slot, count)
        } else {
            // Always in the same order, so that two computers cannot wait for each other.
            let (mut from, mut to) = if Arc::as_ptr(from) < Arc::as_ptr(to) {
                let first = locked(from);
                (first, locked(to))
            } else {
                let second = locked(to);
                (locked(from), second)
            };
            transfer(&mut from, slot, &mut to, to_slot, count)
        };
        Ok(vec![Arg::Number(f64::from(moved))])
    }
}

/// A transfer inside of one inventory.
fn within(chest: &mut super::world::Inventory, slot: usize, to: Option<usize>, count: u32) -> u32 {
    let Some(stack) = chest.take(slot, count) else {
        return 0;
    };
    let moved = match to {
        Some(to) => chest.put(to, &stack.name, stack.count),
        None => chest.store(0, &stack.name, stack.count),
    };
    chest.put(slot, &stack.name, stack.count - moved);
    moved
}

fn in_range(slot: i64, size: usize, what: &str) -> Result<usize, String> {
    usize::try_from(slot - 1)
        .ok()
        .filter(|slot| *slot < size)
        .ok_or_else(|| format!("{what} out of range (between 1 and {size})"))
}

/// What `list` and `getItemDetail` of a turtle tell of a stack.
pub(crate) fn basic(stack: &Stack) -> Arg {
    Arg::Table(fields(stack))
}

/// What `getItemDetail` of a chest tells of a stack.
pub(crate) fn detailed(stack: &Stack) -> Arg {
    let mut all = fields(stack);
    let plain = stack.name.split(':').next_back().unwrap_or(&stack.name);
    let shown = plain.split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    });
    let shown: Vec<String> = shown.collect();
    all.push((
        Arg::from("displayName"),
        Arg::from(shown.join(" ").as_str()),
    ));
    all.push((
        Arg::from("maxCount"),
        Arg::Number(f64::from(stack_limit(&stack.name))),
    ));
    all.push((Arg::from("tags"), Arg::Table(Vec::new())));
    Arg::Table(all)
}

fn fields(stack: &Stack) -> Vec<(Arg, Arg)> {
    vec![
        (Arg::from("name"), Arg::from(stack.name.as_str())),
        (Arg::from("count"), Arg::Number(f64::from(stack.count))),
    ]
}

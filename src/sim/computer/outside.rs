//! What the world does to a computer: timers, peripherals, redstone, faults.

use std::sync::Weak;

use super::{Computer, Core, Wish};
use crate::sim::clock::TimerKind;
use crate::sim::config::{ComputerConfig, Kind};
use crate::sim::event::{Arg, Event};
use crate::sim::faults::{FaultKind, Half, in_ticks};
use crate::sim::hardware::Attached;
use crate::sim::world::{Facing, Place, Stack, Turtle};

/// Blocks between turtles that were given no place.
const APART: i64 = 4;

impl Core {
    /// Puts a turtle into the world if the computer is one.
    pub(super) fn add_turtle(&self, config: &ComputerConfig) {
        if config.kind != Kind::Turtle {
            return;
        }
        self.world.add_turtle(config.id, || {
            let own = Place {
                x: i64::from(config.id) * APART,
                y: 0,
                z: 0,
            };
            let (place, facing) = config.turtle.place.unwrap_or((own, Facing::North));
            let mut turtle = Turtle::new(place, facing, config.advanced, config.turtle.fuel);
            for (slot, name, count) in &config.turtle.items {
                let stack = Stack::new(name.clone(), *count);
                turtle.inventory.set(slot.saturating_sub(1), Some(stack));
            }
            turtle
        });
    }
}

/// For tests and for whoever plays the world.
impl Computer {
    /// Attaches a peripheral, in place of what had its name; programs get the event `peripheral`.
    pub fn attach(&self, attached: &Attached) {
        self.hardware.attach(attached, &self.core.world);
        self.queue_event("peripheral", vec![attached.name.clone().into()]);
    }

    /// Takes a peripheral away; programs get the event `peripheral_detach`.
    pub fn detach(&self, name: &str) {
        if self.hardware.detach(name) {
            self.queue_event("peripheral_detach", vec![name.into()]);
        }
    }

    /// The lines that a monitor shows, without trailing spaces; `None` if there is none of that name.
    pub fn monitor_lines(&self, name: &str) -> Option<Vec<String>> {
        self.hardware.on_monitor(name, |screen| screen.text())
    }

    /// A player touches a monitor at a column and a line, from 1 on.
    pub fn touch_monitor(&self, name: &str, column: u32, line: u32) {
        self.queue_event(
            "monitor_touch",
            vec![name.into(), column.into(), line.into()],
        );
    }

    /// Sets the redstone that comes in at a side (0 to 15); programs get the event `redstone`.
    pub fn set_redstone_input(&self, side: &str, strength: u8) {
        if self
            .hardware
            .side(side, |s| s.input = strength.min(15))
            .is_some()
        {
            self.queue_event("redstone", vec![]);
        }
    }

    /// The redstone that it gives out at a side; 0 for a side that does not exist.
    pub fn redstone_output(&self, side: &str) -> u8 {
        self.hardware.side(side, |s| s.output).unwrap_or(0)
    }

    /// Where a turtle stands, and what its fuel level is; `None` if it is no turtle.
    pub fn turtle(&self) -> Option<(Place, Facing, u32)> {
        self.core
            .world
            .with_turtle(self.id(), |t| (t.place, t.facing, t.fuel))
    }

    /// Puts a block into the world of its fleet, `minecraft:air` to take one away.
    pub fn set_block(&self, at: Place, block: &str) {
        self.core.world.set_block(at, block);
    }

    /// The block at a place of its fleet's world; `None` is air.
    pub fn block(&self, at: Place) -> Option<String> {
        self.core.world.block(at)
    }

    /// Makes something go wrong with it now.
    pub fn suffer(&self, kind: FaultKind) {
        let now = self.core.clock.now();
        let until = |time| now + in_ticks(time);
        match kind {
            FaultKind::Drop => self.drop_connections(),
            FaultKind::Hold(time) => {
                self.faults.hold(Half::Read, until(time));
                self.faults.hold(Half::Write, until(time));
            }
            FaultKind::StopReading(time) => self.faults.hold(Half::Read, until(time)),
            FaultKind::Reboot => self.wish(Wish::Reboot),
            FaultKind::Crash(time) => {
                self.wish(Wish::Kill);
                self.later(in_ticks(time), TimerKind::PowerOn);
            }
            FaultKind::Pause(time) => self.pause(in_ticks(time)),
            FaultKind::DiskFull(time) => {
                self.disk.fill_up(true);
                self.later(in_ticks(time), TimerKind::DiskFree);
            }
            FaultKind::HttpFails(time) => self.faults.fail_http(until(time)),
        }
    }

    fn drop_connections(&self) {
        let sockets = self.lock().sockets.clone();
        for socket in sockets.iter().filter_map(Weak::upgrade) {
            socket.lose();
        }
    }

    fn pause(&self, ticks: u64) {
        let more = self.faults.pause(self.core.clock.now(), ticks);
        self.lock().frozen_ticks += more;
        self.later(ticks, TimerKind::Thaw);
    }

    /// Something that happens to the computer whatever boot it is in.
    fn later(&self, ticks: u64, kind: TimerKind) {
        self.core.clock.add(ticks, self.me.clone(), 0, 0, kind);
    }
}

/// What the clock and the natives use.
impl Computer {
    pub(crate) fn start_timer(&self, ticks: u64, kind: TimerKind) -> u32 {
        let mut inner = self.lock();
        let id = inner.next_timer;
        inner.next_timer = inner.next_timer.wrapping_add(1);
        let at = self
            .core
            .clock
            .add(ticks, self.me.clone(), inner.session, id, kind);
        let frozen = inner.frozen_ticks;
        inner.timers.insert(id, (at, frozen));
        id
    }

    pub(crate) fn cancel_timer(&self, id: u32) {
        let mut inner = self.lock();
        if let Some((at, _)) = inner.timers.remove(&id) {
            self.core.clock.remove(at, &self.me, inner.session, id);
        }
    }

    /// Something is due at this tick.
    pub(crate) fn fire_timer(&self, session: u64, id: u32, kind: TimerKind) {
        let name = match kind {
            TimerKind::Timer => "timer",
            TimerKind::Alarm => "alarm",
            TimerKind::Thaw => return self.line_up(self.lock()),
            TimerKind::PowerOn => return self.wish(Wish::On),
            TimerKind::DiskFree => return self.disk.fill_up(false),
        };
        let mut inner = self.lock();
        let Some((_, counted)) = inner
            .timers
            .remove(&id)
            .filter(|_| inner.session == session)
        else {
            return;
        };
        // A pause since then moves it back by as much.
        let owed = inner.frozen_ticks.saturating_sub(counted);
        if owed > 0 {
            let at = self
                .core
                .clock
                .add(owed, self.me.clone(), session, id, kind);
            let frozen = inner.frozen_ticks;
            inner.timers.insert(id, (at, frozen));
            return;
        }
        drop(inner);
        self.push(session, Event::world(name, [Arg::Number(f64::from(id))]));
    }

    /// The peripherals of a turtle that stand in the world around it, by side.
    pub(crate) fn chest_beside(&self, side: &str) -> Option<crate::sim::world::SharedInventory> {
        use crate::sim::world::Way;
        let way = match side {
            "front" => Way::Forward,
            "back" => Way::Back,
            "top" => Way::Up,
            "bottom" => Way::Down,
            _ => return None,
        };
        let world = &self.core.world;
        let at = world.with_turtle(self.id(), |t| t.place.step(t.facing, way))?;
        world.chest(at)
    }
}

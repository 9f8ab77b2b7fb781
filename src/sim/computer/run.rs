//! What a worker does with a computer: the power switch, boots, one event after the other.

use std::sync::atomic::Ordering;
use std::sync::{PoisonError, Weak};
use std::time::{Duration, Instant};

use super::{Computer, Wish};
use crate::sim::vm::{Slice, Vm};

/// How long one computer runs before another one gets its turn.
const SLICE: Duration = Duration::from_millis(10);

impl Computer {
    /// Runs the computer for a while; true if there is more to do at once.
    pub(crate) fn run_slice(&self) -> bool {
        let mut vm = self.vm.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + SLICE;
        let mut more = true;
        while more && Instant::now() < until {
            more = self.step(&mut vm);
        }
        if let Some(vm) = vm.as_mut().filter(|_| !more) {
            vm.tidy();
        }
        self.memory.store(
            vm.as_ref().map_or(0, |vm| vm.memory() as u64),
            Ordering::Relaxed,
        );
        drop(vm);
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
        more
    }

    /// Obeys the switch or delivers one event; false if there is nothing to do (and it left the line).
    fn step(&self, vm: &mut Option<Vm>) -> bool {
        let mut inner = self.lock();
        if let Some(wish) = inner.wish.take() {
            let on = inner.on;
            // Whoever looks in between finds it neither off nor waiting for the switch.
            inner.boots = wish == Wish::Reboot || (wish == Wish::On && !on);
            drop(inner);
            self.obey(wish, on, vm);
            return true;
        }
        // While the game is paused events pile up; the end of the pause puts the computer in line again.
        if self.faults.pause_left(self.core.clock.now()) > 0 {
            inner.in_line = false;
            return false;
        }
        let Some(event) = inner.queue.pop_front() else {
            inner.in_line = false;
            return false;
        };
        drop(inner);
        if let Some(running) = vm {
            self.limits.begin();
            let slice = running.deliver(event);
            self.after(slice, vm);
        }
        true
    }

    fn obey(&self, wish: Wish, on: bool, vm: &mut Option<Vm>) {
        if wish != Wish::On {
            self.stop(vm, wish == Wish::Kill);
        }
        if wish == Wish::Reboot || (wish == Wish::On && !on) {
            self.boot(vm);
        }
    }

    fn boot(&self, vm: &mut Option<Vm>) {
        self.disk.recount();
        self.screen().reset();
        {
            let mut inner = self.lock();
            inner.session += 1;
            inner.on = true;
            inner.boots = false;
            inner.boot_tick = self.core.clock.now();
            inner.frozen_ticks = self.faults.pause_left(inner.boot_tick);
            inner.last_error = None;
            // A wish that came meanwhile still ends this boot at once.
            if inner.wish.is_none() {
                self.limits.reset();
            }
        }
        self.limits.begin();
        let Some(me) = self.me.upgrade() else { return };
        match Vm::build(&me) {
            Ok(fresh) => {
                let slice = vm.insert(fresh).begin();
                self.after(slice, vm);
            }
            Err(error) => self.crash(vm, error.to_string()),
        }
    }

    fn after(&self, slice: Slice, vm: &mut Option<Vm>) {
        if self.limits.overran() {
            return self.crash(vm, "Too long without yielding".into());
        }
        match slice {
            Slice::Waiting => {}
            // Whoever asked for the power switch is served by the next step.
            Slice::Ended(_) if self.lock().wish.is_some() => {}
            Slice::Ended(None) => self.stop(vm, false),
            Slice::Ended(Some(message)) => self.crash(vm, message),
        }
    }

    fn crash(&self, vm: &mut Option<Vm>, message: String) {
        self.stop(vm, false);
        let mut screen = self.screen();
        screen.reset();
        for (y, text) in [(1, "Error running computer"), (2, message.as_str())] {
            screen.cursor = (1, y);
            screen.write(text.as_bytes());
        }
        drop(screen);
        self.lock().last_error = Some(message);
    }

    fn stop(&self, vm: &mut Option<Vm>, at_once: bool) {
        let (queue, sockets) = {
            let mut inner = self.lock();
            inner.on = false;
            inner.timers.clear();
            (
                std::mem::take(&mut inner.queue),
                std::mem::take(&mut inner.sockets),
            )
        };
        self.hardware.power_off();
        for socket in sockets.iter().filter_map(Weak::upgrade) {
            if at_once {
                socket.sever();
            } else {
                socket.close();
            }
        }
        // Values of the queue belong to the machine: they go first, and outside of the lock.
        drop(queue);
        *vm = None;
    }
}

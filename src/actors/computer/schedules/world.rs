//! Everything between the server and its computers, and what is checked.

use super::super::*;
use super::machine::{Disk, Machine, Witness};
use super::server::{Server, Write, client_id, tool_specs};
use crate::domain::ids::Generation;
use crate::wire::frames::decode;
use crate::wire::frames::incoming::{ClientMessage, Hello, ReceiptState};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

mod network;
mod verdict;

#[derive(Debug, Clone, Copy)]
pub enum Step {
    Place(u8),
    /// Everybody does their part for so many rounds; handlers run on.
    Flow(u8),
    TaskReads,
    Commit,
    /// The next message of a connection reaches the server.
    Up(u8),
    /// The next message of a connection reaches its computer.
    Down(u8),
    /// A message without a number reaches the computer before those with one.
    Overtake(u8),
    /// The next message reaches the computer, without its number, and stays where it is.
    Duplicate(u8),
    HandlerEnds(u8),
    /// A connection dies; so many quarters of what is under way still arrive, downwards and upwards.
    Cut(u8, u8, u8),
    Seconds(u8),
    Reboot(u8),
    /// The next message is the computer's last: each write is cut off after so many bytes.
    CrashWriting(u8, u16),
    DiskFull(bool),
    BackUpDisk,
    RestoreDisk,
    /// A second live copy of the computer.
    Clone,
    EndClone,
    /// Programs do not answer probes.
    Lag(bool),
    ServerKill,
    BackUpServer,
    RestoreServer,
    Resume,
    Stop,
    Cancel(u8),
    EndTask(u8),
}

struct Conn {
    machine: usize,
    boot: u32,
    attempt: usize,
    down: VecDeque<Value>,
    up: VecDeque<String>,
    /// Who still holds its end open.
    server: bool,
    computer: bool,
    /// Nothing more gets in; what is in still arrives.
    cut: bool,
    boot_id: Option<String>,
    numbered: u64,
}

pub struct World {
    server: Server,
    /// The computer, and its copy.
    machines: [Option<(u32, Machine)>; 2],
    conns: Vec<Conn>,
    current: Option<usize>,
    witness: Arc<Mutex<Witness>>,
    boots: u32,
    calls: u64,
    disk_backup: Option<Disk>,
    journal_backup: Option<super::server::Journal>,
    lag: bool,
    cloned: bool,
    stopped_at: Option<Duration>,
    cancelled: BTreeSet<CallId>,
    /// Grows whenever another program start speaks, or the journal is put back: then calls may become unknown.
    faults: u64,
    at_intent: HashMap<CallId, (u64, Duration)>,
    last_boot: Option<String>,
}

const MAX_CALLS: u64 = 40;

impl World {
    pub fn new() -> Self {
        let mut world = World {
            server: Server::new(),
            machines: [None, None],
            conns: Vec::new(),
            current: None,
            witness: Arc::default(),
            boots: 0,
            calls: 0,
            disk_backup: None,
            journal_backup: None,
            lag: false,
            cloned: false,
            stopped_at: None,
            cancelled: BTreeSet::new(),
            faults: 0,
            at_intent: HashMap::new(),
            last_boot: None,
        };
        world.boot(0, &Disk::new());
        world
    }

    fn fresh(calls: &mut u64) -> CallId {
        *calls += 1;
        let task = TaskId::from_unique(&format!("{calls}")).unwrap();
        CallId::derive(&task, Generation(1), 1, 0)
    }

    fn boot(&mut self, at: usize, disk: &Disk) {
        self.boots += 1;
        let now = self.server.now.as_secs_f64();
        let machine = Machine::start(disk, self.boots, now, &self.witness);
        self.machines[at] = Some((self.boots, machine));
    }

    /// The power goes; what it had sent may still arrive.
    fn power_off(&mut self, at: usize) -> Disk {
        for conn in self
            .conns
            .iter_mut()
            .filter(|c| c.machine == at && c.computer)
        {
            conn.computer = false;
            conn.cut = true;
            conn.down.clear();
        }
        let machine = self.machines[at].take();
        machine
            .map(|(_, machine)| machine.disk())
            .unwrap_or_default()
    }

    fn machine_at(&self, which: u8) -> Option<usize> {
        let live: Vec<usize> = (0..2).filter(|at| self.machines[*at].is_some()).collect();
        live.get(usize::from(which) % live.len().max(1)).copied()
    }

    fn conn_at(&self, which: u8, wanted: impl Fn(&Conn) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.conns.len())
            .filter(|at| wanted(&self.conns[*at]))
            .collect();
        all.get(usize::from(which) % all.len().max(1)).copied()
    }

    pub fn step(&mut self, step: Step) {
        let alive = |c: &Conn| c.server || c.computer;
        match step {
            Step::Place(kind) => {
                if self.calls < MAX_CALLS {
                    let call_id = Self::fresh(&mut self.calls);
                    // Effects are what this is about.
                    let tool = ["dig", "dig", "write", "look"][usize::from(kind)];
                    self.server.place(call_id, tool);
                }
            }
            Step::Flow(rounds) => (0..rounds).for_each(|_| self.flow()),
            Step::TaskReads => self.server.task_reads(),
            Step::Commit => self.commit(),
            Step::Up(which) => {
                if let Some(at) = self.conn_at(which, alive) {
                    self.up(at);
                }
            }
            Step::Down(which) => {
                if let Some(at) = self.conn_at(which, alive) {
                    self.down(at, 0);
                }
            }
            Step::Overtake(which) => {
                if let Some(at) = self.conn_at(which, alive) {
                    let control = |m: &Value| m.get("n").is_none();
                    let first = self.conns[at].down.iter().position(control);
                    self.down(at, first.unwrap_or(0));
                }
            }
            Step::Duplicate(which) => {
                if let Some(at) = self.conn_at(which, alive)
                    && let Some(mut copy) = self.conns[at].down.front().cloned()
                    && copy["type"] != "welcome"
                {
                    copy.as_object_mut().unwrap().remove("n");
                    self.conns[at].down.push_front(copy);
                    self.down(at, 0);
                }
            }
            Step::HandlerEnds(which) => {
                if let Some(at) = self.machine_at(which) {
                    self.machines[at].as_ref().unwrap().1.finish_one();
                }
            }
            Step::Cut(which, down, up) => {
                if let Some(at) = self.conn_at(which, |c| !c.cut) {
                    let conn = &mut self.conns[at];
                    conn.cut = true;
                    conn.down.truncate(conn.down.len() * usize::from(down) / 3);
                    conn.up.truncate(conn.up.len() * usize::from(up) / 3);
                }
            }
            Step::Seconds(seconds) => self.pass(f64::from(seconds)),
            Step::Reboot(which) => {
                if let Some(at) = self.machine_at(which) {
                    let disk = self.power_off(at);
                    self.boot(at, &disk);
                }
            }
            Step::CrashWriting(which, bytes) => self.crash_writing(which, bytes),
            Step::DiskFull(full) => {
                for (_, machine) in self.machines.iter().flatten() {
                    machine.limit_writes(full.then_some(40));
                }
            }
            Step::BackUpDisk => {
                self.disk_backup = self.machines[0].as_ref().map(|(_, m)| m.disk());
            }
            Step::RestoreDisk => {
                if let Some(disk) = self.disk_backup.clone() {
                    self.power_off(0);
                    self.boot(0, &disk);
                }
            }
            Step::Clone => {
                if let Some((_, machine)) = &self.machines[0]
                    && self.machines[1].is_none()
                {
                    let disk = machine.disk();
                    self.cloned = true;
                    self.boot(1, &disk);
                }
            }
            Step::EndClone => {
                self.power_off(1);
            }
            Step::Lag(lag) => self.lag = lag,
            Step::ServerKill => {
                let journal = self.server.journal.clone();
                self.start_server(journal);
            }
            Step::BackUpServer => self.journal_backup = Some(self.server.journal.clone()),
            Step::RestoreServer => {
                if let Some(journal) = self.journal_backup.clone() {
                    self.faults += 1;
                    self.start_server(journal);
                }
            }
            Step::Resume => {
                self.stopped_at = None;
                self.server.resume();
            }
            Step::Stop => {
                self.stopped_at = Some(self.server.now);
                self.server
                    .with(|lane, now, acts| lane.stop_calls(now, acts));
            }
            Step::Cancel(which) => {
                if let Some(call_id) = self.pick(which) {
                    self.cancelled.insert(call_id.clone());
                    self.server
                        .with(|lane, now, acts| lane.cancel(&call_id, now, acts));
                }
            }
            Step::EndTask(which) => {
                if let Some(call_id) = self.pick(which) {
                    self.server.end_task(&call_id);
                }
            }
        }
        self.collect();
    }

    fn pick(&self, which: u8) -> Option<CallId> {
        let calls = &self.server.journal.decided;
        calls
            .keys()
            .nth(usize::from(which) % calls.len().max(1))
            .cloned()
    }

    fn crash_writing(&mut self, which: u8, bytes: u16) {
        let wanted = |c: &Conn| c.computer && !c.down.is_empty();
        let Some(at) = self.conn_at(which, wanted) else {
            return;
        };
        let machine = self.conns[at].machine;
        if let Some((_, machine)) = &self.machines[machine] {
            // What it had said before is on its way already.
            machine.limit_writes(Some(u32::from(bytes)));
        }
        let said = self.conns[at].up.len();
        self.down(at, 0);
        self.conns[at].up.truncate(said);
        let disk = self.power_off(machine);
        self.boot(machine, &disk);
    }

    fn start_server(&mut self, journal: super::server::Journal) {
        for conn in self.conns.iter_mut().filter(|c| c.server) {
            conn.server = false;
            conn.cut = true;
            conn.up.clear();
        }
        self.current = None;
        let calls = &mut self.calls;
        self.server.start_again(journal, || Self::fresh(calls));
        if self.stopped_at.is_some() {
            self.server
                .with(|lane, now, acts| lane.stop_calls(now, acts));
        }
    }

    fn pass(&mut self, seconds: f64) {
        self.server.now += Duration::from_secs_f64(seconds);
        self.server.with(|lane, now, acts| lane.tick(now, acts));
        for (_, machine) in self.machines.iter().flatten() {
            machine.wait(seconds);
        }
    }

    fn flow(&mut self) {
        self.connect();
        self.server.task_reads();
        self.commit();
        self.server.settle_late();
        self.collect();
        for at in 0..self.conns.len() {
            self.up(at);
            self.down(at, 0);
        }
        self.pass(0.05);
        self.collect();
    }

    fn commit(&mut self) {
        self.server.commit();
        for write in std::mem::take(&mut self.server.committed) {
            match write {
                Write::Intent(intended) => {
                    // The computer may have died between the turn and its intent.
                    let died = intended.boot_id != self.last_boot;
                    let faults = self.faults - u64::from(died && self.faults > 0);
                    let now = (faults, self.server.now);
                    self.at_intent.insert(intended.call_id, now);
                }
                Write::Outcome(call_id, report) if report.outcome == Outcome::Unknown => {
                    self.check_excuse(&call_id, &report);
                }
                _ => {}
            }
        }
    }
}

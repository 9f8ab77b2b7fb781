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

    /// Sockets that were asked for are opened.
    fn connect(&mut self) {
        for at in 0..2 {
            let Some((boot, machine)) = &mut self.machines[at] else {
                continue;
            };
            let Some(attempt) = machine.attempt() else {
                continue;
            };
            self.conns.push(Conn {
                machine: at,
                boot: *boot,
                attempt,
                down: VecDeque::new(),
                up: VecDeque::new(),
                server: true,
                computer: true,
                cut: false,
                boot_id: None,
                numbered: 0,
            });
            machine.accept(attempt);
        }
        self.collect();
    }

    /// What the server and the computers said gets onto its way.
    fn collect(&mut self) {
        for message in std::mem::take(&mut self.server.sent) {
            let Some(at) = self.current else { continue };
            let is_control = message.is_control();
            self.push_down(at, serde_json::to_value(message).unwrap(), is_control);
        }
        for at in 0..2 {
            let Some((boot, machine)) = &self.machines[at] else {
                continue;
            };
            let of = |c: &&mut Conn, attempt: usize| {
                c.machine == at && c.boot == *boot && c.attempt == attempt
            };
            for (attempt, frame) in machine.take_out() {
                let conn = self.conns.iter_mut().find(|c| of(c, attempt));
                if let Some(conn) = conn.filter(|c| !c.cut && c.server) {
                    conn.up.push_back(frame);
                }
            }
            for attempt in machine.take_shut() {
                if let Some(conn) = self.conns.iter_mut().find(|c| of(c, attempt)) {
                    conn.computer = false;
                    conn.cut = true;
                    conn.down.clear();
                }
            }
        }
    }

    fn push_down(&mut self, at: usize, mut message: Value, is_control: bool) {
        let conn = &mut self.conns[at];
        if conn.cut {
            return;
        }
        if !is_control {
            conn.numbered += 1;
            message["n"] = conn.numbered.into();
        }
        conn.down.push_back(message);
    }

    /// A message reaches the computer, or the news that there will be no more.
    fn down(&mut self, at: usize, index: usize) {
        let conn = &mut self.conns[at];
        let message = conn.down.remove(index);
        if !conn.computer {
            return;
        }
        let Some((boot, machine)) = &self.machines[conn.machine] else {
            return;
        };
        assert_eq!(*boot, conn.boot);
        match message {
            Some(message) => machine.message(conn.attempt, &message.to_string()),
            None if conn.cut => {
                conn.computer = false;
                machine.closed(conn.attempt);
            }
            None => {}
        }
        self.collect();
    }

    /// A message reaches the server, or the news that there will be no more.
    fn up(&mut self, at: usize) {
        let conn = &mut self.conns[at];
        let frame = conn.up.pop_front();
        if !conn.server {
            return;
        }
        match frame {
            Some(frame) => self.server_hears(at, &frame),
            None if conn.cut => {
                conn.server = false;
                if self.current == Some(at) {
                    self.current = None;
                    self.server.with(|lane, now, acts| lane.detach(now, acts));
                }
            }
            None => {}
        }
        self.collect();
    }

    fn server_hears(&mut self, at: usize, frame: &str) {
        let is_current = self.current == Some(at);
        let known = self.conns[at].boot_id.is_some();
        match decode(frame, false).unwrap().message {
            ClientMessage::Hello(hello) => self.hello(at, &hello),
            ClientMessage::CommandResult(result) if known => {
                let outcome = match (result.ok, result.receipt) {
                    (true, _) => Outcome::Done,
                    (false, Some(ReceiptState::NotStarted)) => Outcome::NotStarted,
                    (false, Some(ReceiptState::Unknown)) => Outcome::Unknown,
                    (false, _) => Outcome::Failed,
                };
                let report = CallReport {
                    result: result.result,
                    error: result.error,
                    code: result.code,
                    outcome,
                    ..done()
                };
                let call_id = result.call_id;
                self.server
                    .with(|lane, now, acts| lane.answered(&call_id, report, now, acts));
            }
            ClientMessage::CallReceipt(receipt) if is_current => {
                let state = match receipt.state {
                    ReceiptState::NotStarted => Receipt::NotStarted,
                    ReceiptState::Started => Receipt::Started,
                    ReceiptState::Unknown => Receipt::Unknown,
                    ReceiptState::Done => {
                        let ok = receipt.ok.unwrap_or(receipt.error.is_none());
                        Receipt::Done(CallReport {
                            outcome: if ok { Outcome::Done } else { Outcome::Failed },
                            result: receipt.result,
                            error: receipt.error,
                            code: receipt.code,
                            ..done()
                        })
                    }
                };
                let call_id = receipt.call_id;
                self.server
                    .with(|lane, now, acts| lane.receipt(&call_id, state, now, acts));
            }
            _ => {}
        }
    }

    /// The registry's judgement (wire contract, "Identity").
    fn hello(&mut self, at: usize, hello: &Hello) {
        let boot_id = hello.boot_id.clone();
        if let Some(former) = self.current {
            let old = &self.conns[former];
            let answers = !old.cut && old.computer && !self.lag;
            if old.boot_id.as_ref() != Some(&boot_id) && answers {
                let conn = &mut self.conns[at];
                conn.cut = true;
                conn.server = false;
                conn.up.clear();
                return;
            }
            let old = &mut self.conns[former];
            old.cut = true;
        }
        if self.last_boot.as_ref() != Some(&boot_id) {
            self.faults += 1;
            self.last_boot = Some(boot_id.clone());
        }
        let ours = hello.server_id.as_deref() == Some("srv");
        let epoch = self.server.journal.epoch;
        self.server.journal.last_boot = Some(boot_id.clone());
        self.conns[at].boot_id = Some(boot_id.clone());
        self.current = Some(at);
        let tools = tool_specs();
        let rev = |name: &str| tools.get(name).map(|tool| tool.rev().to_owned());
        let accepted: BTreeMap<&str, _> = tools.names().map(|name| (name, rev(name))).collect();
        let welcome = json!({
            "type": "welcome", "protocol": 1, "client_id": client_id(), "server_id": "srv",
            "journal_epoch": epoch, "session_secret": "s", "window": 8, "max_frame_bytes": 131_072,
            "commands": {"accepted": accepted, "refused": []},
        });
        self.push_down(at, welcome, true);
        let link = Link {
            boot_id,
            legacy: false,
            high_seq: hello.high_seq.filter(|_| ours),
            later_epoch: ours && hello.journal_epoch.is_some_and(|known| known > epoch),
        };
        self.server
            .with(|lane, now, acts| lane.attach(link, now, acts));
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

    /// `unknown` only where the computer died, was put back or copied, could not be reached in time, or was told to
    /// stop.
    fn check_excuse(&self, call_id: &CallId, report: &CallReport) {
        let (faults, since) = self.at_intent[call_id];
        let late = self.server.now >= since + LaneLimits::default().default_timeout;
        let excused = match report.code.as_deref() {
            Some("timeout") => late,
            Some("cancelled") => self.cancelled.contains(call_id),
            Some("stopped") => true,
            _ => self.faults > faults,
        };
        assert!(excused, "{call_id} is unknown without a reason: {report:?}");
        self.check_entries();
    }

    /// Also calls of a journal that is gone.
    fn check_entries(&self) {
        let witness = self.witness.lock().unwrap();
        let effects = self.server.placed.iter().filter(|(_, tool)| *tool == "dig");
        for (call_id, _) in effects {
            let entered = witness.entered.get(call_id.as_str()).copied();
            assert!(
                entered.unwrap_or(0) <= 1,
                "{call_id} was entered {entered:?} times"
            );
        }
    }

    /// From now on nothing fails and everybody does their part: everything ends.
    pub fn finish(&mut self, clone_survives: bool) {
        if self.machines[1].is_some() {
            self.power_off(usize::from(!clone_survives));
        }
        self.lag = false;
        self.stopped_at = None;
        for (_, machine) in self.machines.iter().flatten() {
            machine.limit_writes(None);
        }
        for round in 0..1500 {
            // An operator has a look now and then.
            if round % 50 == 0 {
                self.server.resume();
            }
            for (_, machine) in self.machines.iter().flatten() {
                machine.finish_one();
            }
            self.flow();
            self.pass(0.2);
            self.collect();
            if round > 20 && self.is_over() {
                break;
            }
        }
        self.check_end();
    }

    fn is_over(&self) -> bool {
        let machines = self.machines.iter().flatten();
        let confirmed = machines.map(|(_, m)| m.unconfirmed()).sum::<usize>() == 0;
        let quiet = self
            .conns
            .iter()
            .all(|c| c.up.is_empty() && c.down.is_empty());
        self.current.is_some() && confirmed && quiet && self.server.is_idle()
    }

    fn check_end(&self) {
        let journal = &self.server.journal;
        let open: Vec<&CallId> = journal
            .decided
            .keys()
            .filter(|id| !journal.outcomes.contains_key(*id) && !journal.not_placed.contains(*id))
            .collect();
        assert!(
            open.is_empty(),
            "calls without an end: {open:?} {:#?}",
            self.server.lane
        );
        assert!(self.server.is_idle(), "{:#?}", self.server.lane);
        let held: usize = self
            .machines
            .iter()
            .flatten()
            .map(|(_, m)| m.unconfirmed())
            .sum();
        assert_eq!(held, 0, "results that nobody took: {:#?}", self.server.lane);
        self.check_entries();
        let witness = self.witness.lock().unwrap();
        for (call_id, report) in &journal.outcomes {
            if journal.decided[call_id] != "dig" {
                continue;
            }
            let entered = witness.entered.get(call_id.as_str()).copied().unwrap_or(0);
            let not_done = report.code.as_deref() == Some("verified_not_done");
            match report.outcome {
                Outcome::NotStarted => assert_eq!(entered, 0, "{call_id} had not started"),
                Outcome::Done => assert_eq!(entered, 1, "{call_id} was done"),
                Outcome::Failed if not_done && !self.cloned => assert_eq!(entered, 0, "{call_id}"),
                Outcome::Failed | Outcome::Unknown => {}
            }
        }
    }

    /// How the effects ended.
    pub fn tally(&self) -> BTreeMap<&'static str, usize> {
        let journal = &self.server.journal;
        let mut tally = BTreeMap::new();
        for (call_id, report) in &journal.outcomes {
            if journal.decided[call_id] == "dig" {
                *tally.entry(report.outcome.as_str()).or_default() += 1;
            }
        }
        tally
    }
}

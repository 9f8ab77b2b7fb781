//! Random schedules against a model of the computer, a journal, tasks and a lossy network.

use super::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Place(u8),
    /// The oldest fact reaches its task.
    TaskReads,
    /// The oldest journal write becomes durable.
    Commit,
    ToComputer,
    FromComputer,
    HandlerEnds,
    Drop,
    Connect,
    Reboot,
    ServerKill,
    Cancel(u8),
    Seconds(u8),
    Repeat,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u8..3).prop_map(Step::Place),
        10 => Just(Step::TaskReads),
        10 => Just(Step::Commit),
        8 => Just(Step::ToComputer),
        8 => Just(Step::FromComputer),
        6 => Just(Step::HandlerEnds),
        2 => Just(Step::Drop),
        4 => Just(Step::Connect),
        1 => Just(Step::Reboot),
        1 => Just(Step::ServerKill),
        1 => any::<u8>().prop_map(Step::Cancel),
        2 => (0u8..40).prop_map(Step::Seconds),
        1 => Just(Step::Repeat),
    ];
    prop::collection::vec(step, 0..200)
}

#[derive(Debug, Clone)]
enum Said {
    Result(CallId, CallReport),
    Receipt(CallId, Receipt),
}

#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Started,
    Done(CallReport),
    Unknown,
}

#[derive(Debug, Clone)]
enum Write {
    Intent(CallId),
    Outcome(CallId, CallReport),
}

#[derive(Debug, Default)]
struct World {
    // The computer.
    boot: u32,
    high_seq: u64,
    receipts: BTreeMap<CallId, Kept>,
    running: Option<(CallId, EffectClass)>,
    inbox: VecDeque<crate::wire::frames::outgoing::CommandCall>,
    entered: HashMap<CallId, u32>,
    // The network, of the present connection.
    down: VecDeque<ServerMessage>,
    up: VecDeque<Said>,
    // Tasks and journal.
    facts: VecDeque<CallFact>,
    writes: VecDeque<Write>,
    intended: BTreeMap<CallId, CallIntended>,
    outcomes: BTreeMap<CallId, Outcome>,
    ended: BTreeSet<CallId>,
    placed: BTreeMap<CallId, String>,
    seqs: HashMap<u64, CallId>,
    effects_sent: HashMap<CallId, u32>,
    not_started: HashMap<CallId, u32>,
    now: Duration,
}

fn new_lane(world: &World) -> Lane<Task> {
    let seqs = world.intended.values().filter_map(|i| i.seq);
    let mut lane = Lane::new(
        ClientId::parse("cc").unwrap(),
        seqs.max().unwrap_or(0),
        0,
        LaneLimits::default(),
    );
    lane.set_last_boot(Some(format!("boot-{}", world.boot)));
    lane.set_tools(tools(), world.now, &mut Vec::new());
    lane
}

impl World {
    fn apply(&mut self, lane: &Lane<Task>, acts: Vec<Act<Task>>) {
        for act in acts {
            match act {
                Act::Tell { fact, .. } => self.facts.push_back(fact),
                Act::Send(message) => {
                    assert!(lane.is_connected(), "nothing is sent without a connection");
                    if let ServerMessage::CommandCall(call) = &message
                        && call.seq.is_some()
                    {
                        let sent = self.effects_sent.entry(call.call_id.clone()).or_default();
                        *sent += 1;
                        let allowed = 1 + self.not_started.get(&call.call_id).unwrap_or(&0);
                        assert!(*sent <= allowed, "an effect was sent again unasked");
                    }
                    self.down.push_back(message);
                }
                Act::LookUp(_) | Act::Note(_) => {}
            }
        }
        let open =
            |c: &&Call<Task>| c.effect == EffectClass::Effect && matches!(c.stage, Stage::Open(_));
        assert!(
            lane.calls.values().filter(open).count() <= 1,
            "two effects in flight"
        );
    }

    fn task_reads(&mut self) {
        let Some(fact) = self.facts.pop_front() else {
            return;
        };
        let call_id = fact.call_id;
        match fact.what {
            CallNews::TurnGranted {
                client_id,
                seq,
                tool_rev,
                effect,
                timeout_ms,
            } => {
                if self.intended.contains_key(&call_id) || self.ended.contains(&call_id) {
                    return;
                }
                if let Some(seq) = seq {
                    let owner = self.seqs.entry(seq).or_insert_with(|| call_id.clone());
                    // A number that was granted and never journalled dies with the server.
                    assert_eq!(owner, &call_id, "a lane number was used twice");
                }
                self.intended.insert(
                    call_id.clone(),
                    CallIntended {
                        call_id: call_id.clone(),
                        client_id,
                        seq,
                        tool: self.placed[&call_id].clone(),
                        tool_rev,
                        effect,
                        args: json!({}),
                        args_hash: String::new(),
                        timeout_ms,
                    },
                );
                self.writes.push_back(Write::Intent(call_id));
            }
            CallNews::Settled(report) => {
                self.ended.insert(call_id.clone());
                self.writes.push_back(Write::Outcome(call_id, report));
            }
            CallNews::NotPlaced(_) => {
                self.ended.insert(call_id);
            }
            _ => {}
        }
    }

    fn commit(&mut self, lane: &mut Lane<Task>) {
        let mut acts = Vec::new();
        match self.writes.pop_front() {
            Some(Write::Intent(call_id)) => lane.dispatch(&call_id, self.now, &mut acts),
            Some(Write::Outcome(call_id, report)) => {
                let new = report.outcome;
                let old = self.outcomes.insert(call_id.clone(), new);
                assert!(
                    old.is_none() || old == Some(Outcome::Unknown) || old == Some(new),
                    "an outcome changed from {old:?} to {new:?}"
                );
                lane.outcome_stored(&call_id, self.now, &mut acts);
            }
            None => {}
        }
        self.apply(lane, acts);
    }

    fn computer_reads(&mut self) {
        match self.down.pop_front() {
            Some(ServerMessage::CommandCall(call)) => self.inbox.push_back(*call),
            Some(ServerMessage::CallStatus(call)) => {
                let waits = self.inbox.iter().any(|c| c.call_id == call.call_id);
                let receipt = match self.receipts.get(&call.call_id) {
                    Some(Kept::Started) => Receipt::Started,
                    Some(Kept::Done(report)) => Receipt::Done(report.clone()),
                    Some(Kept::Unknown) => Receipt::Unknown,
                    None if waits => Receipt::Started,
                    None if call.seq.is_some_and(|seq| seq <= self.high_seq) => Receipt::Unknown,
                    None => Receipt::NotStarted,
                };
                if receipt == Receipt::NotStarted {
                    *self.not_started.entry(call.call_id.clone()).or_default() += 1;
                }
                self.up.push_back(Said::Receipt(call.call_id, receipt));
            }
            Some(ServerMessage::ResultStored(stored)) => {
                self.receipts.remove(&stored.call_id);
            }
            _ => {}
        }
        self.start_next();
    }

    fn start_next(&mut self) {
        if self.running.is_some() {
            return;
        }
        let Some(call) = self.inbox.pop_front() else {
            return;
        };
        let effect = match call.seq {
            Some(_) => EffectClass::Effect,
            None => EffectClass::Read,
        };
        if let Some(seq) = call.seq {
            if self.receipts.contains_key(&call.call_id) || seq <= self.high_seq {
                let unknown = ended(Outcome::Unknown, ErrorCode::ReceiptUnknown);
                self.up.push_back(Said::Result(call.call_id, unknown));
                return;
            }
            self.high_seq = seq;
            self.receipts.insert(call.call_id.clone(), Kept::Started);
            let entered = self.entered.entry(call.call_id.clone()).or_default();
            *entered += 1;
            assert_eq!(*entered, 1, "a handler was entered twice");
        }
        self.running = Some((call.call_id, effect));
    }

    fn handler_ends(&mut self) {
        if let Some((call_id, effect)) = self.running.take() {
            if effect == EffectClass::Effect {
                self.receipts.insert(call_id.clone(), Kept::Done(done()));
            }
            self.up.push_back(Said::Result(call_id, done()));
        }
        self.start_next();
    }

    fn repeat_results(&mut self) {
        for (call_id, kept) in &self.receipts {
            if let Kept::Done(report) = kept {
                self.up
                    .push_back(Said::Result(call_id.clone(), report.clone()));
            }
        }
    }

    fn drop_connection(&mut self) {
        self.down.clear();
        self.up.clear();
    }

    fn reboot(&mut self) {
        self.drop_connection();
        self.boot += 1;
        self.running = None;
        self.inbox.clear();
        for kept in self.receipts.values_mut() {
            if *kept == Kept::Started {
                *kept = Kept::Unknown;
            }
        }
    }

    fn server_reads(&mut self, lane: &mut Lane<Task>) {
        let mut acts = Vec::new();
        match self.up.pop_front() {
            Some(Said::Result(call_id, report)) => {
                lane.answered(&call_id, report, self.now, &mut acts);
            }
            Some(Said::Receipt(call_id, receipt)) => {
                lane.receipt(&call_id, receipt, self.now, &mut acts);
            }
            None => {}
        }
        self.apply(lane, acts);
    }

    fn connect(&mut self, lane: &mut Lane<Task>) {
        self.drop_connection();
        let mut acts = Vec::new();
        let link = Link {
            high_seq: Some(self.high_seq),
            ..link(&format!("boot-{}", self.boot))
        };
        lane.attach(link, self.now, &mut acts);
        self.apply(lane, acts);
    }

    /// The process dies: what was not durable is gone; tasks start again from the journal.
    fn kill_server(&mut self) -> Lane<Task> {
        self.drop_connection();
        self.facts.clear();
        for write in std::mem::take(&mut self.writes) {
            match write {
                Write::Intent(call_id) => {
                    self.intended.remove(&call_id);
                    self.seqs.retain(|_, owner| owner != &call_id);
                }
                Write::Outcome(call_id, _) if !self.outcomes.contains_key(&call_id) => {
                    self.ended.remove(&call_id);
                }
                Write::Outcome(..) => {}
            }
        }
        let mut lane = new_lane(self);
        let mut acts = Vec::new();
        for call_id in self.placed.clone().keys() {
            if self.outcomes.contains_key(call_id) || self.ended.contains(call_id) {
                continue;
            }
            let n = position(call_id);
            match self.intended.get(call_id) {
                Some(intended) => {
                    let intended = intended.clone();
                    lane.adopt(
                        task_id(),
                        Generation(2),
                        intended,
                        Task(n),
                        self.now,
                        &mut acts,
                    );
                }
                None => {
                    let tool = self.placed[call_id].clone();
                    lane.place(reservation(n, &tool), self.now, &mut acts);
                }
            }
        }
        self.apply(&lane, acts);
        lane
    }
}

fn run(steps: Vec<Step>) {
    let mut world = World::default();
    let mut lane = new_lane(&world);
    world.connect(&mut lane);
    let mut next = 0;
    for step in steps {
        let now = world.now;
        let mut acts = Vec::new();
        match step {
            Step::Place(kind) => {
                next += 1;
                let tool = ["dig", "write", "look"][kind as usize];
                world.placed.insert(id(next), tool.to_owned());
                lane.place(reservation(next, tool), now, &mut acts);
            }
            Step::TaskReads => world.task_reads(),
            Step::Commit => world.commit(&mut lane),
            Step::ToComputer => world.computer_reads(),
            Step::FromComputer => world.server_reads(&mut lane),
            Step::HandlerEnds => world.handler_ends(),
            Step::Drop => {
                world.drop_connection();
                lane.detach(now, &mut acts);
            }
            Step::Connect => world.connect(&mut lane),
            Step::Reboot => {
                world.reboot();
                lane.detach(now, &mut acts);
            }
            Step::ServerKill => lane = world.kill_server(),
            Step::Cancel(n) => lane.cancel(&id(u64::from(n)), now, &mut acts),
            Step::Seconds(seconds) => {
                world.now += at(u64::from(seconds));
                lane.tick(world.now, &mut acts);
            }
            Step::Repeat if lane.is_connected() => world.repeat_results(),
            Step::Repeat => {}
        }
        world.apply(&lane, acts);
    }
    finish(world, lane);
}

/// Everybody does their part from now on: everything ends.
fn finish(mut world: World, mut lane: Lane<Task>) {
    world.connect(&mut lane);
    for _ in 0..2000 {
        world.task_reads();
        world.commit(&mut lane);
        world.computer_reads();
        world.server_reads(&mut lane);
        world.handler_ends();
        world.now += Duration::from_millis(200);
        let mut acts = Vec::new();
        lane.tick(world.now, &mut acts);
        world.apply(&lane, acts);
    }
    let open: Vec<u64> = world
        .placed
        .keys()
        .filter(|c| !world.ended.contains(*c))
        .map(position)
        .collect();
    assert_eq!(open, [] as [u64; 0], "calls without an end: {lane:#?}");
    assert_eq!(lane.running(), 0, "{lane:#?}");
    for (call_id, outcome) in &world.outcomes {
        let entered = world.entered.get(call_id).copied().unwrap_or(0);
        let is_effect = world.placed[call_id] == "dig";
        if is_effect && *outcome == Outcome::NotStarted {
            assert_eq!(entered, 0, "not_started was entered");
        }
        if is_effect && *outcome == Outcome::Done {
            assert_eq!(entered, 1, "done was not entered");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn whatever_happens_an_effect_is_entered_at_most_once_and_every_call_ends(steps in steps()) {
        run(steps);
    }
}

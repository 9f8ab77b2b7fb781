//! Connections: what is under way, who holds which end, and what the server makes of what arrives.

use super::*;

impl World {
    /// Sockets that were asked for are opened.
    pub(super) fn connect(&mut self) {
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
    pub(super) fn collect(&mut self) {
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

    pub(super) fn push_down(&mut self, at: usize, mut message: Value, is_control: bool) {
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
    pub(super) fn down(&mut self, at: usize, index: usize) {
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
    pub(super) fn up(&mut self, at: usize) {
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

    pub(super) fn server_hears(&mut self, at: usize, frame: &str) {
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
    pub(super) fn hello(&mut self, at: usize, hello: &Hello) {
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
            boot_id: boot_id.into(),
            legacy: false,
            high_seq: hello.high_seq.filter(|_| ours),
            later_epoch: ours && hello.journal_epoch.is_some_and(|known| known > epoch),
        };
        self.server
            .with(|lane, now, acts| lane.attach(link, now, acts));
    }
}

//! One run: lives of the server one after another, until the kills are done; then peace, until the tasks are.

mod blows;

use super::computers::Computer;
use super::errands::{Errands, Promised};
use super::feed::{self, Feed, Load};
use super::looks::{self, Mileage};
use super::parts::{Fate, Part};
use super::plan::{Death, Life, Plan, Trouble};
use super::process::Process;
use super::proxy::Wire;
use super::report::Tally;
use super::stage::Stage;
use crate::cli::{Exit, Failure};
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Between two looks at everything.
const LOOK: Duration = Duration::from_millis(4);
/// How long a server may take to say that it listens.
const UP_WITHIN: Duration = Duration::from_secs(60);
/// How long computers and work may take to come back before the next blow falls all the same.
const BACK_WITHIN: Duration = Duration::from_secs(20);
/// How long a point may let wait for itself once work goes on; then the server is killed by hand.
const POINT_WITHIN: Duration = Duration::from_millis(1500);
/// How long the tasks may take to come to their ends in peace.
const END_WITHIN: Duration = Duration::from_secs(120);
/// How long processes get to end when they are asked to.
const STOP_WITHIN: Duration = Duration::from_secs(15);
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// How a run ended.
pub struct Ended {
    pub tally: Tally,
    /// Tasks that the server confirmed, by number.
    pub accepted: BTreeMap<usize, String>,
    /// Calls that were in flight when their computer died.
    pub explained: HashSet<String>,
    pub promised: Rc<Promised>,
    /// False if somebody stopped it.
    pub finished: bool,
}

/// A run.
pub struct Run {
    stage: Stage,
    load: Load,
    plan: Plan,
    kills: Arc<AtomicU64>,
    stop: Rc<Cell<bool>>,
    feed: Rc<Feed>,
    server_at: watch::Sender<Option<SocketAddr>>,
    server: Option<Process>,
    server_disk_full: Option<Instant>,
    computers: Vec<Computer>,
    tally: Tally,
    explained: HashSet<String>,
    mileage: Mileage,
    /// No more processes are told to die.
    is_over: bool,
    told_at: Instant,
}

/// What the present life of the server has come to.
struct Course {
    up_at: Instant,
    /// The work done before.
    mileage: Mileage,
    back: bool,
    /// When the next blow falls.
    due: Option<Instant>,
}

enum Blow {
    Trouble(Trouble),
    Computer(usize),
    Server,
}

fn unreadable(error: rusqlite::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("the journal cannot be looked at: {error}"),
    )
}

impl Run {
    /// Lays the wires and prepares the disks.
    ///
    /// # Errors
    /// The system refuses.
    pub async fn new(
        stage: Stage,
        load: Load,
        seed: u64,
        kills: Arc<AtomicU64>,
        stop: Rc<Cell<bool>>,
    ) -> Result<Self, Failure> {
        let server_at = watch::Sender::new(None);
        let mut computers = Vec::new();
        for number in 0..load.computers {
            let disk = stage.prepare_disk(number);
            disk.map_err(|error| {
                Failure::new(Exit::Data, format!("cannot write a disk: {error}"))
            })?;
            let wire = Wire::start(server_at.subscribe()).await?;
            computers.push(Computer::new(number, wire));
        }
        Ok(Run {
            stage,
            load,
            plan: Plan::new(seed, load.computers),
            kills,
            stop,
            feed: Rc::new(Feed::default()),
            server_at,
            server: None,
            server_disk_full: None,
            computers,
            tally: Tally::default(),
            explained: HashSet::new(),
            mileage: Mileage::default(),
            is_over: false,
            told_at: Instant::now(),
        })
    }

    /// Kills until enough are dead, then waits for the tasks.
    ///
    /// # Errors
    /// A process or the journal could not be had; what the server breaks is no error here.
    pub async fn carry_out(mut self) -> Result<Ended, Failure> {
        let client = crate::llm::http_client("http://127.0.0.1", Duration::from_secs(2))
            .map_err(|error| Failure::new(Exit::Failed, error))?;
        let promised = Rc::new(Promised::default());
        let errands = Errands {
            feed: self.feed.clone(),
            load: self.load,
            data: self.stage.data(),
            kills: self.kills.clone(),
            promised: promised.clone(),
            client: client.clone(),
            wakes: Cell::new(0),
        };
        let giving = actix_rt::spawn(feed::give(self.feed.clone(), self.load, client));
        let running = actix_rt::spawn(errands.run());
        let ended = self.all_lives().await;
        giving.abort();
        running.abort();
        ended?;
        self.end_all().await;
        Ok(Ended {
            tally: self.tally,
            accepted: self.feed.accepted.borrow().clone(),
            explained: self.explained,
            promised,
            finished: !self.stop.get(),
        })
    }

    async fn all_lives(&mut self) -> Result<(), Failure> {
        // The first life has to see everybody arrive.
        let mut life = Life {
            clock_ms: 0,
            troubles: Vec::new(),
            computers: Vec::new(),
            death: Death::After(Duration::ZERO),
            with: None,
        };
        while !self.enough() {
            if self.raise_server(&life).await? {
                self.live(&life).await?;
            }
            self.server_died(&life).await?;
            life = self.plan.life();
        }
        self.is_over = true;
        if self.stop.get() {
            return Ok(());
        }
        let peace = Life {
            death: Death::After(Duration::ZERO),
            ..life
        };
        if self.raise_server(&peace).await? {
            self.wait_for_ends().await?;
        }
        Ok(())
    }

    fn enough(&self) -> bool {
        self.stop.get() || self.tally.kills >= self.load.kills
    }

    /// Starts the server; false if it died before it said that it listens.
    async fn raise_server(&mut self, life: &Life) -> Result<bool, Failure> {
        let armed = match life.death {
            Death::At(point, count) => Some((point, count)),
            Death::After(_) => None,
        };
        let begun = Instant::now();
        let mut server = self.stage.server(armed, life.clock_ms)?;
        let address = loop {
            let left = UP_WITHIN.saturating_sub(begun.elapsed());
            match tokio::time::timeout(left, server.lines.recv()).await {
                Ok(Some(line)) => {
                    let address = line.split_once("listens on http://");
                    if let Some((_, address)) = address {
                        break address.trim().parse().ok();
                    }
                }
                // It closes its output a moment before it can be seen to be dead.
                Ok(None) => {
                    wait_for_death(&mut server).await;
                    break None;
                }
                Err(_) => break None,
            }
        };
        let died = server.is_dead();
        self.server = Some(server);
        let Some(address) = address else {
            if died && armed.is_some() {
                return Ok(false);
            }
            let text = "the server did not come up; its words are in server.log";
            return Err(Failure::new(Exit::Failed, text));
        };
        self.tally.starts_ms.push(millis(begun.elapsed()));
        self.server_at.send_replace(Some(address));
        self.feed.server.set(Some(address));
        Ok(true)
    }

    /// From the server's start until its death.
    async fn live(&mut self, life: &Life) -> Result<(), Failure> {
        let mut course = Course {
            up_at: Instant::now(),
            mileage: self.mileage,
            back: false,
            due: None,
        };
        let mut blows: Vec<(Blow, Duration)> = Vec::new();
        for trouble in &life.troubles {
            blows.push((Blow::Trouble(*trouble), Duration::ZERO));
        }
        for (computer, after) in &life.computers {
            blows.push((Blow::Computer(*computer), *after));
        }
        blows.push(match life.death {
            Death::At(..) => (Blow::Server, POINT_WITHIN),
            Death::After(after) => (Blow::Server, after),
        });
        let mut blows = blows.into_iter().peekable();
        while !self.enough() {
            if self.look(&mut course).await? {
                return Ok(());
            }
            let overdue = course.up_at.elapsed() > BACK_WITHIN;
            let ready = overdue || (course.back && self.mileage.open > 0);
            let Some((_, after)) = blows.peek() else {
                return Ok(());
            };
            if course.due.is_none() && ready {
                course.due = Some(Instant::now() + *after);
            }
            if course.due.is_some_and(|due| due <= Instant::now()) {
                course.due = None;
                match blows.next() {
                    Some((Blow::Trouble(trouble), _)) => self.trouble(trouble),
                    Some((Blow::Computer(computer), _)) => self.kill_computer(computer).await?,
                    Some((Blow::Server, _)) | None => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Looks at everybody once, and waits a moment. True if the server is dead.
    async fn look(&mut self, course: &mut Course) -> Result<bool, Failure> {
        actix_rt::time::sleep(LOOK).await;
        self.tell_progress();
        if self
            .server_disk_full
            .is_some_and(|until| until <= Instant::now())
        {
            self.server_disk_full = None;
            self.server.iter().for_each(|server| {
                server.fill_disk(false);
            });
        }
        // Before they are looked at: who is seen to be back has calls of its own from then on.
        self.explain_deaths()?;
        self.look_at_computers().await?;
        if self.server.as_mut().is_none_or(Process::is_dead) {
            return Ok(true);
        }
        self.mileage = looks::mileage(&self.stage.data()).map_err(unreadable)?;
        self.feed.ended.set(self.mileage.ended);
        if !course.back && self.is_back(course) {
            course.back = true;
            // A first life has nothing to recover from.
            if course.mileage.effects > 0 {
                self.tally
                    .recoveries_ms
                    .push(millis(course.up_at.elapsed()));
            }
        }
        Ok(false)
    }

    /// Whether every computer that has booted is back and effects go on.
    fn is_back(&self, course: &Course) -> bool {
        let goes_on =
            self.mileage.effects > course.mileage.effects || self.mileage.ended >= self.load.tasks;
        // At the very beginning everybody is waited for; later nobody who is booting.
        let is_first = course.mileage == Mileage::default();
        let mut expected = self.computers.iter().filter(|c| is_first || c.is_up());
        goes_on && expected.all(|computer| computer.wire.is_talking())
    }

    /// The server is dead, or dies now.
    async fn server_died(&mut self, life: &Life) -> Result<(), Failure> {
        let Some(mut server) = self.server.take() else {
            return Ok(());
        };
        let by_itself = server.is_dead();
        if !by_itself && self.enough() {
            // Enough are dead: this one may live on in peace.
            self.server = Some(server);
            return self.send_home().await;
        }
        server.kill();
        drop(server);
        self.server_disk_full = None;
        self.server_at.send_replace(None);
        self.feed.server.set(None);
        let open = looks::open_calls(&self.stage.data()).map_err(unreadable)?;
        self.explain_deaths()?;
        let place = match life.death {
            Death::At(point, _) if by_itself => format!("server {}", point.name()),
            _ if by_itself => "server by itself".to_owned(),
            _ => "server at any moment".to_owned(),
        };
        self.count_kill(&place, open.len());
        if let Some(number) = life.with
            && !self.enough()
        {
            self.kill_computer(number).await?;
        }
        self.mileage = looks::mileage(&self.stage.data()).map_err(unreadable)?;
        Ok(())
    }

    /// Ends a server that may be armed still, gently; the next one is not.
    async fn send_home(&mut self) -> Result<(), Failure> {
        if let Some(mut server) = self.server.take() {
            server.fill_disk(false);
            server.terminate();
            wait_for_death(&mut server).await;
        }
        self.server_at.send_replace(None);
        self.feed.server.set(None);
        Ok(())
    }

    /// In peace: until all tasks have ended.
    async fn wait_for_ends(&mut self) -> Result<(), Failure> {
        let mut course = Course {
            up_at: Instant::now(),
            mileage: self.mileage,
            back: false,
            due: None,
        };
        while !self.is_all_done() {
            if self.stop.get() || course.up_at.elapsed() > END_WITHIN {
                return Ok(());
            }
            if self.look(&mut course).await? {
                let text = "the server died in peace; its words are in server.log";
                return Err(Failure::new(Exit::Failed, text));
            }
        }
        Ok(())
    }

    /// Every task has ended, and every fork that is due.
    fn is_all_done(&self) -> bool {
        let (done, load) = (self.mileage, self.load);
        let forks = (0..load.tasks).filter(|task| Part::of(*task).fate == Fate::Forked);
        done.ended >= load.tasks && done.open + done.living == 0 && done.forks >= forks.count()
    }

    async fn end_all(&mut self) {
        // Its last words are no blow.
        let _ = self.send_home().await;
        for computer in &self.computers {
            computer.terminate();
        }
        let begun = Instant::now();
        while begun.elapsed() < STOP_WITHIN && self.computers.iter().any(|c| !c.is_dead()) {
            actix_rt::time::sleep(LOOK).await;
            self.computers.iter_mut().for_each(|computer| {
                computer.look();
            });
        }
    }

    fn tell_progress(&mut self) {
        if self.told_at.elapsed() < PROGRESS_EVERY {
            return;
        }
        self.told_at = Instant::now();
        say!(
            "{} of {} kills ({} in flight), {} of {} tasks ended, {} effects",
            self.tally.kills,
            self.load.kills,
            self.tally.kills_in_flight,
            self.mileage.ended,
            self.load.tasks,
            self.mileage.effects / 2
        );
    }
}

async fn wait_for_death(process: &mut Process) {
    let begun = Instant::now();
    while !process.is_dead() && begun.elapsed() < STOP_WITHIN {
        actix_rt::time::sleep(LOOK).await;
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

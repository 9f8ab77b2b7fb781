//! What the computers' side of the server counts: for the log now, for metrics later.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// One number that only grows. Threads count apart: a number that all of them write travels between the cores with every
/// message.
#[derive(Debug, Default)]
pub struct Count([Stripe; STRIPES]);

const STRIPES: usize = 4;

/// As far apart as what cores fetch together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe(AtomicU64);

thread_local! {
    static STRIPE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES
    };
}

impl Count {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    pub fn add(&self, more: u64) {
        let stripe = STRIPE.with(|stripe| *stripe);
        self.0[stripe].0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.iter().map(|s| s.0.load(Ordering::Relaxed)).sum()
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// Counters of one server, shared by all connections and computers.
        #[derive(Debug, Default)]
        pub struct FleetCounts { $($(#[$doc])* pub $name: Count),* }

        impl FleetCounts {
            /// Every counter by its name.
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get())),*]
            }
        }
    };
}

counts! {
    /// WebSockets that were accepted.
    connections;
    /// Handshakes and registrations that were refused.
    refused;
    /// Connections that were closed because three pings were lost.
    lost;
    /// Connections that were closed because their computer did not read.
    slow_readers;
    /// Connections that were closed because of too much bad input.
    too_many_errors;
    /// Messages from computers.
    messages;
    /// Messages that could not be read, or asked for what may not be.
    bad_messages;
    /// Results and receipts of calls that are not open, or not this computer's.
    strays;
    /// Messages to computers that were too large and could not be shortened.
    undeliverable;
    /// Updates of tasks that were not told because too much waited for their computer between threads.
    updates_dropped;
    /// Messages in chunks that were refused, or whose rest did not come in time.
    chunks_dropped;
    /// Tools that were refused.
    tools_refused;
    /// Requests, events and registrations beyond the rate.
    over_rate;
    /// Events of the world that were taken.
    world_events;
}

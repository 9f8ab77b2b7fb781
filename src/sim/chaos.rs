//! Faults by plan: which computer suffers what, and when, from a seed. The same seed gives the same plan.

use std::collections::BTreeMap;
use std::time::Duration;

use super::SimFleet;
use super::faults::{Fault, FaultKind};

/// What kind of trouble to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chaos {
    /// Decides everything: the same seed and the same computers give the same faults at the same times.
    pub seed: u64,
    /// Faults a minute, over the whole fleet.
    pub per_minute: f64,
}

/// An endless list of faults in the order of their times.
#[derive(Clone, Debug)]
pub struct ChaosPlan {
    random: Random,
    computers: Vec<u32>,
    /// Seconds between faults on average.
    gap: f64,
    at: f64,
}

/// How often each kind of fault was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Chaos {
    /// The plan for these computers; it is empty if there are none or the rate is not above zero.
    pub fn plan(&self, computers: impl IntoIterator<Item = u32>) -> ChaosPlan {
        let mut computers: Vec<u32> = computers.into_iter().collect();
        computers.sort_unstable();
        let gap = if self.per_minute > 0.0 {
            60.0 / self.per_minute
        } else {
            f64::INFINITY
        };
        ChaosPlan {
            random: Random(self.seed),
            computers,
            gap,
            at: 0.0,
        }
    }
}

impl Iterator for ChaosPlan {
    type Item = (Duration, Fault);

    fn next(&mut self) -> Option<(Duration, Fault)> {
        if self.computers.is_empty() || !self.gap.is_finite() {
            return None;
        }
        // Exponential gaps: faults come in bunches too, as in life.
        self.at += -self.gap * (1.0 - self.random.unit()).ln();
        let at = Duration::try_from_secs_f64(self.at).ok()?;
        let which = self.random.below(self.computers.len() as u64) as usize;
        let kind = self.kind();
        let computer = *self.computers.get(which)?;
        Some((at, Fault { computer, kind }))
    }
}

impl ChaosPlan {
    fn kind(&mut self) -> FaultKind {
        let roll = self.random.below(100);
        let mut for_seconds =
            |low: f64, high: f64| Duration::from_secs_f64(low + (high - low) * self.random.unit());
        match roll {
            0..25 => FaultKind::Drop,
            25..45 => FaultKind::Hold(for_seconds(0.2, 6.0)),
            45..55 => FaultKind::StopReading(for_seconds(1.0, 20.0)),
            55..65 => FaultKind::Reboot,
            65..77 => FaultKind::Crash(for_seconds(0.5, 15.0)),
            77..87 => FaultKind::Pause(for_seconds(1.0, 45.0)),
            87..93 => FaultKind::DiskFull(for_seconds(2.0, 30.0)),
            _ => FaultKind::HttpFails(for_seconds(2.0, 20.0)),
        }
    }
}

impl Tally {
    /// Counts one.
    pub fn count(&mut self, kind: FaultKind) {
        *self.0.entry(kind.name()).or_default() += 1;
    }

    /// All that were counted.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// For example `3 faults: 2 reboot, 1 crash`.
    pub fn summary(&self) -> String {
        let kinds: Vec<String> = self
            .0
            .iter()
            .map(|(name, n)| format!("{n} {name}"))
            .collect();
        match self.total() {
            0 => "no faults".into(),
            1 => format!("1 fault: {}", kinds.join(", ")),
            n => format!("{n} faults: {}", kinds.join(", ")),
        }
    }
}

impl SimFleet {
    /// Makes the faults of a plan as their times come, from now on; `told` hears of each before it happens. Returns
    /// only when the plan ends.
    pub async fn endure(&self, plan: ChaosPlan, mut told: impl FnMut(Duration, &Fault)) {
        let begun = tokio::time::Instant::now();
        for (at, fault) in plan {
            tokio::time::sleep_until(begun + at).await;
            if let Ok(computer) = self.computer(fault.computer) {
                told(at, &fault);
                computer.suffer(fault.kind);
            }
        }
    }
}

/// SplitMix64: small, even, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to `limit - 1`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// From 0 to just below 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan_whatever_the_order_of_the_computers() {
        let chaos = Chaos {
            seed: 7,
            per_minute: 60.0,
        };
        let first: Vec<_> = chaos.plan([3, 1, 2]).take(500).collect();
        let again: Vec<_> = chaos.plan([1, 2, 3]).take(500).collect();
        assert_eq!(first, again);
        let other: Vec<_> = Chaos { seed: 8, ..chaos }
            .plan([1, 2, 3])
            .take(500)
            .collect();
        assert_ne!(first, other);
        assert!(first.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn a_plan_keeps_its_rate_and_knows_every_kind() {
        let chaos = Chaos {
            seed: 1,
            per_minute: 30.0,
        };
        let plan: Vec<_> = chaos.plan(0..10).take(3000).collect();
        let minutes = plan.last().unwrap().0.as_secs_f64() / 60.0;
        assert!((90.0..110.0).contains(&minutes), "{minutes}");
        let mut tally = Tally::default();
        plan.iter().for_each(|(_, fault)| tally.count(fault.kind));
        assert_eq!(tally.0.len(), 8, "{}", tally.summary());
        assert!(tally.summary().starts_with("3000 faults: "));
        assert_eq!(
            Chaos {
                per_minute: 0.0,
                ..chaos
            }
            .plan(0..10)
            .next(),
            None
        );
        assert_eq!(chaos.plan([]).next(), None);
    }
}

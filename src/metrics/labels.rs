//! Families of counters and histograms, and label values that come from outside.

use super::names::Name;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// What stands for all values beyond the bound.
const OTHER: &str = "other";

/// Bytes of a value from outside.
const MAX_VALUE: usize = 64;

pub(super) type Value = Cow<'static, str>;
pub(super) type Labels<const N: usize> = [(&'static str, Value); N];

/// The labels of a metric with their values, in the order of its definition.
pub(super) fn labels<const N: usize>(of: &Name, values: [Value; N]) -> Labels<N> {
    debug_assert_eq!(of.labels.len(), N, "{}", of.name);
    let mut values = values.into_iter();
    std::array::from_fn(|at| {
        let label = of.labels.get(at).copied().unwrap_or_default();
        (label, values.next().unwrap_or_default())
    })
}

/// A counter without labels.
pub(super) fn counter(of: &Name, registry: &mut Registry) -> Counter {
    let counter = Counter::default();
    registry.register(of.stem(), of.help(), counter.clone());
    counter
}

/// A histogram without labels.
pub(super) fn histogram(of: &Name, buckets: Buckets, registry: &mut Registry) -> Histogram {
    let histogram = buckets.new_metric();
    registry.register(of.stem(), of.help(), histogram.clone());
    histogram
}

/// Counters of one name.
#[derive(Debug)]
pub(super) struct Counters<const N: usize> {
    of: &'static Name,
    family: Family<Labels<N>, Counter>,
}

impl<const N: usize> Counters<N> {
    pub(super) fn new(of: &'static Name, registry: &mut Registry) -> Self {
        let family = Family::default();
        registry.register(of.stem(), of.help(), family.clone());
        Counters { of, family }
    }

    /// Tells these from the beginning: what grows from nothing to 1 is no growth to Prometheus.
    pub(super) fn with_zeros(self, rows: impl IntoIterator<Item = [Value; N]>) -> Self {
        for values in rows {
            self.add(values, 0);
        }
        self
    }

    pub(super) fn add(&self, values: [Value; N], more: u64) {
        let labels = labels(self.of, values);
        self.family.get_or_create(&labels).inc_by(more);
    }

    pub(super) fn one(&self, values: [Value; N]) {
        self.add(values, 1);
    }
}

/// Upper bounds of the buckets, in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buckets(pub(super) &'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// Histograms of one name.
#[derive(Debug)]
pub(super) struct Histograms<const N: usize> {
    of: &'static Name,
    family: Family<Labels<N>, Histogram, Buckets>,
}

impl<const N: usize> Histograms<N> {
    pub(super) fn new(of: &'static Name, buckets: Buckets, registry: &mut Registry) -> Self {
        let family = Family::new_with_constructor(buckets);
        registry.register(of.stem(), of.help(), family.clone());
        Histograms { of, family }
    }

    pub(super) fn observe(&self, values: [Value; N], seconds: f64) {
        let labels = labels(self.of, values);
        self.family.get_or_create(&labels).observe(seconds);
    }
}

/// Values that others choose, such as names of models: the first ones are told apart, all later ones are `other`.
#[derive(Debug)]
pub(super) struct Bounded {
    most: usize,
    known: RwLock<HashSet<String>>,
}

impl Bounded {
    pub(super) fn new(most: usize) -> Self {
        let known = RwLock::default();
        Bounded { most, known }
    }

    /// The value as a label.
    pub(super) fn value(&self, value: &str) -> Value {
        let value = &value[..value.floor_char_boundary(MAX_VALUE)];
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.contains(value) {
            return Cow::Owned(value.to_owned());
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most && !known.contains(value) {
            return Cow::Borrowed(OTHER);
        }
        known.insert(value.to_owned());
        Cow::Owned(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_the_bound_are_one() {
        let models = Bounded::new(2);
        assert_eq!(models.value("a"), "a");
        assert_eq!(models.value("b"), "b");
        assert_eq!(models.value("c"), "other");
        assert_eq!(models.value("a"), "a");
        assert_eq!(models.value("d"), "other");
    }

    #[test]
    fn a_long_value_is_cut_at_a_character() {
        let long = "ü".repeat(MAX_VALUE);
        let value = Bounded::new(1).value(&long).into_owned();
        assert_eq!(value.len(), MAX_VALUE);
    }
}

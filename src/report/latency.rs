use std::time::Duration;

use serde::Serialize;

/// How long attempts took, in whole milliseconds up to a minute: flat in memory however many there are.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Vec<u32>,
    number: u64,
    longest: Duration,
    sum: Duration,
}

/// Percentiles of latencies, in milliseconds; `null` before any answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencySummary {
    pub p50: Option<u64>,
    pub p95: Option<u64>,
    pub max: Option<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: vec![0; Self::BUCKETS], number: 0, longest: Duration::ZERO, sum: Duration::ZERO }
    }
}

impl Latencies {
    /// One a millisecond, and the last for all that took longer than the total timeout allows.
    const BUCKETS: usize = 60_002;

    pub fn add(&mut self, took: Duration) {
        let bucket = usize::try_from(took.as_millis()).unwrap_or(usize::MAX).min(Self::BUCKETS - 1);
        self.counts[bucket] += 1;
        self.number += 1;
        self.longest = self.longest.max(took);
        self.sum += took;
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    pub fn summary(&self) -> LatencySummary {
        let max = (self.number > 0).then(|| u64::try_from(self.longest.as_millis()).unwrap_or(u64::MAX));
        LatencySummary { p50: self.percentile(50), p95: self.percentile(95), max }
    }

    /// The smallest latency that `percent` of them do not exceed.
    fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = (self.number * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            seen >= rank
        });
        bucket.filter(|_| self.number > 0).map(|bucket| bucket as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_values_that_so_many_do_not_exceed() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.summary(), LatencySummary { p50: None, p95: None, max: None });
        for milliseconds in 1..=100 {
            latencies.add(Duration::from_millis(milliseconds));
        }
        assert_eq!(latencies.summary(), LatencySummary { p50: Some(50), p95: Some(95), max: Some(100) });
        latencies.add(Duration::from_secs(600));
        assert_eq!(latencies.summary().max, Some(600_000));
    }
}

use serde::Deserialize;

/// One number, any between two, both included, or many about one and few far above it, as the times of answers are:
/// `120`, `{ from = 20, to = 400 }` or `{ median = 110, p95 = 160 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a number, `{ from = …, to = … }`, or `{ median = …, p95 = … }`", deny_unknown_fields)]
pub enum Spread {
    Fixed(u64),
    Between {
        from: u64,
        to: u64,
    },
    /// Lognormal: half of them are at most `median`, 95 of a hundred at most `p95`.
    About {
        median: u64,
        p95: u64,
    },
}

/// How many standard deviations 95 of a hundred are at most above the mean.
const P95: f64 = 1.645;

impl Spread {
    /// The number that `hash` stands for: the same one for the same hash.
    pub(super) fn pick(self, hash: u64) -> u64 {
        match self {
            Self::Fixed(number) => number,
            Self::Between { from, to } => from + hash % (to.saturating_sub(from) + 1),
            Self::About { median, p95 } => {
                let deviation = (p95 as f64 / median as f64).ln() / P95;
                (median as f64 * (deviation * normal(hash)).exp()).round() as u64
            }
        }
    }

    pub(super) fn is_ordered(self) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Between { from, to } => from <= to,
            Self::About { median, p95 } => 0 < median && median <= p95,
        }
    }
}

/// One well mixed number out of two: the last step of SplitMix64.
pub(super) fn mix(seed: u64, salt: u64) -> u64 {
    let mut z = seed ^ salt.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What `hash` stands for among numbers that are spread normally about 0 with a deviation of 1 (Box and Muller's way).
fn normal(hash: u64) -> f64 {
    let share = |salt| (mix(hash, salt) >> 11) as f64 / (1_u64 << 53) as f64;
    (-2.0 * (1.0 - share(0)).ln()).sqrt() * (std::f64::consts::TAU * share(1)).cos()
}

/// Whether a hash falls within a share of all hashes; a share of 1 holds every one.
pub(super) fn falls_within(hash: u64, share: f64) -> bool {
    // 53 bits are what a double holds exactly.
    ((hash >> 11) as f64) < share * (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_about_a_median_are_spread_as_they_say() {
        let about = Spread::About { median: 110, p95: 160 };
        let mut picked: Vec<u64> = (0..10_000).map(|number| about.pick(mix(7, number))).collect();
        picked.sort_unstable();
        let at = |percent: usize| picked[picked.len() * percent / 100];
        assert!((108..=112).contains(&at(50)) && (157..=163).contains(&at(95)), "{} and {}", at(50), at(95));
        assert!(!Spread::About { median: 110, p95: 100 }.is_ordered() && !Spread::About { median: 0, p95: 9 }.is_ordered());
    }
}

use serde::Deserialize;

/// One number, or any between two, both included: `120` or `{ from = 20, to = 400 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a number, or `{ from = …, to = … }`", deny_unknown_fields)]
pub enum Spread {
    Fixed(u64),
    Between { from: u64, to: u64 },
}

impl Spread {
    /// The number that `hash` stands for: the same one for the same hash.
    pub(super) fn pick(self, hash: u64) -> u64 {
        match self {
            Self::Fixed(number) => number,
            Self::Between { from, to } => from + hash % (to.saturating_sub(from) + 1),
        }
    }

    pub(super) fn is_ordered(self) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Between { from, to } => from <= to,
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

/// Whether a hash falls within a share of all hashes; a share of 1 holds every one.
pub(super) fn falls_within(hash: u64, share: f64) -> bool {
    // 53 bits are what a double holds exactly.
    ((hash >> 11) as f64) < share * (1_u64 << 53) as f64
}

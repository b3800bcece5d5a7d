use serde::Deserialize;

/// What happens to an answer on the wire.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Wire {
    /// The connection is reset before any byte of an answer.
    ResetBeforeAnswer {},
    /// The connection is reset between head and body.
    ResetAfterHead {},
    /// Nothing is ever answered; the connection stays open until the client leaves.
    Hang {},
    /// The head comes, the body never.
    HangAfterHead {},
    /// The connection ends after this share of the body, which its content length said would be whole.
    CutBody {
        #[serde(default = "half")]
        share: f64,
    },
    /// No content length: the body ends with the connection, after this share of it. A share of 1 is legal.
    CutUnframed {
        #[serde(default = "half")]
        share: f64,
    },
    /// A chunked body whose last chunk never comes.
    CutChunked { at: ChunkCut },
    /// A chunked body in good order.
    Chunked {},
    /// More bytes than the content length said.
    Surplus {
        #[serde(default = "surplus")]
        bytes: usize,
    },
    /// The body a few bytes at a time.
    Trickle { bytes: usize, every_ms: u64 },
    /// The head a few bytes at a time.
    SlowHead { bytes: usize, every_ms: u64 },
    /// A head of this size.
    LongHead { kib: usize },
    /// A body that unpacks to this size.
    GzipBomb { mib: usize },
    /// A plain body labelled as packed.
    GzipLabel {},
    /// A body of this size.
    Oversize { mib: usize, framing: Framing },
    /// The connection is closed after a whole answer that said it would stay.
    CloseAfter {},
}

/// Where a chunked body is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkCut {
    MidChunk,
    ChunkEdge,
}

/// Whether a head says how long its body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    Declared,
    Undeclared,
}

impl Wire {
    /// Whether the client can read the whole answer without harm.
    pub(super) fn is_harmless(&self) -> bool {
        match self {
            Self::Chunked {} | Self::Trickle { .. } | Self::SlowHead { .. } | Self::CloseAfter {} => true,
            Self::CutUnframed { share } => *share >= 1.0,
            Self::ResetBeforeAnswer {}
            | Self::ResetAfterHead {}
            | Self::Hang {}
            | Self::HangAfterHead {}
            | Self::CutBody { .. }
            | Self::CutChunked { .. }
            | Self::Surplus { .. }
            | Self::LongHead { .. }
            | Self::GzipBomb { .. }
            | Self::GzipLabel {}
            | Self::Oversize { .. } => false,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::ResetBeforeAnswer {} => "reset_before_answer",
            Self::ResetAfterHead {} => "reset_after_head",
            Self::Hang {} => "hang",
            Self::HangAfterHead {} => "hang_after_head",
            Self::CutBody { .. } => "cut_body",
            Self::CutUnframed { .. } => "cut_unframed",
            Self::CutChunked { .. } => "cut_chunked",
            Self::Chunked {} => "chunked",
            Self::Surplus { .. } => "surplus",
            Self::Trickle { .. } => "trickle",
            Self::SlowHead { .. } => "slow_head",
            Self::LongHead { .. } => "long_head",
            Self::GzipBomb { .. } => "gzip_bomb",
            Self::GzipLabel {} => "gzip_label",
            Self::Oversize { .. } => "oversize",
            Self::CloseAfter {} => "close_after",
        }
    }
}

fn half() -> f64 {
    0.5
}

fn surplus() -> usize {
    64
}

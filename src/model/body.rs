/// The body of a page as received, without the key, compressed to be kept.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptBody {
    /// Compressed with zstd.
    pub zstd: Vec<u8>,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// BLAKE3 of the uncompressed body.
    pub blake3: [u8; 32],
}

/// The fastest level: these bodies repeat their field names in every row and shrink to a tenth at any level.
const LEVEL: i32 = 1;

impl KeptBody {
    /// Compresses a body. Costs the time the writer must not spend: call it where the page was read.
    pub fn of(raw: &[u8]) -> Self {
        let zstd = zstd::bulk::compress(raw, LEVEL).expect("compressing in memory fails of memory only");
        Self { zstd, raw_bytes: raw.len() as u64, blake3: *blake3::hash(raw).as_bytes() }
    }

    /// The body as received; `None` when what was kept is damaged.
    pub fn raw(&self) -> Option<Vec<u8>> {
        let raw = zstd::bulk::decompress(&self.zstd, usize::try_from(self.raw_bytes).ok()?).ok()?;
        (*blake3::hash(&raw).as_bytes() == self.blake3).then_some(raw)
    }
}

impl std::fmt::Debug for KeptBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptBody({} bytes, {} kept)", self.raw_bytes, self.zstd.len())
    }
}

use std::cell::RefCell;

use zstd::bulk::Compressor;

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

thread_local! {
    /// Its tables are as large as a body: made once for a thread, not for each page.
    static COMPRESSOR: RefCell<Compressor<'static>> =
        RefCell::new(Compressor::new(LEVEL).expect("making a compressor fails of memory only"));
}

impl KeptBody {
    /// Compresses a body. Costs the time the writer must not spend: call it where the page was read.
    pub fn of(raw: &[u8]) -> Self {
        let zstd = COMPRESSOR.with_borrow_mut(|compressor| compressor.compress(raw));
        let mut zstd = zstd.expect("compressing in memory fails of memory only");
        // It was given room for a body that does not shrink, and waits for the writer.
        zstd.shrink_to_fit();
        Self { zstd, raw_bytes: raw.len() as u64, blake3: *blake3::hash(raw).as_bytes() }
    }

    /// The body as received; `None` when what was kept is damaged.
    pub fn raw(&self) -> Option<Vec<u8>> {
        // A size that is damaged must not be what memory is asked for.
        if zstd::zstd_safe::get_frame_content_size(&self.zstd).ok()? != Some(self.raw_bytes) {
            return None;
        }
        let raw = zstd::bulk::decompress(&self.zstd, usize::try_from(self.raw_bytes).ok()?).ok()?;
        (*blake3::hash(&raw).as_bytes() == self.blake3).then_some(raw)
    }
}

impl std::fmt::Debug for KeptBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptBody({} bytes, {} kept)", self.raw_bytes, self.zstd.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_comes_back_as_it_was_or_not_at_all() {
        let body = KeptBody::of(b"<response/>");
        assert_eq!(body.raw().as_deref(), Some(&b"<response/>"[..]));
        assert_eq!(KeptBody::of(b"").raw().as_deref(), Some(&b""[..]));
        let check = |damaged: KeptBody| assert_eq!(damaged.raw(), None, "{damaged:?}");
        check(KeptBody { blake3: [0; 32], ..body.clone() });
        check(KeptBody { zstd: body.zstd[1..].to_vec(), ..body.clone() });
        check(KeptBody { zstd: Vec::new(), ..body.clone() });
        check(KeptBody { raw_bytes: 10, ..body.clone() });
        check(KeptBody { raw_bytes: u64::MAX / 2, ..body });
    }
}

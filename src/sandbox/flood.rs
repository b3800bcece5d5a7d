//! Bodies that are far too large.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A gzip file of a few kilobytes a mebibyte that unpacks to `mib` mebibytes of blanks.
///
/// Its checksum is not right: whoever reads as far as the trailer has unpacked all of it already.
pub(super) fn gzip_bomb(mib: usize) -> Vec<u8> {
    let size = mib << 20;
    let mut bits = Bits { bytes: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], held: 0, count: 0 };
    // One last block with the fixed codes of RFC 1951, section 3.2.6. Huffman codes are packed from their first bit on.
    bits.push(0b011, 3);
    let blank = reversed(0x30 + u32::from(b' '), 8);
    bits.push(blank, 8);
    // "The 258 bytes that began one byte ago" is code 285 without further bits, then distance code 0.
    let rest = size.saturating_sub(1);
    for _ in 0..rest / 258 {
        bits.push(reversed(0b1100_0101, 8), 13);
    }
    for _ in 0..rest % 258 {
        bits.push(blank, 8);
    }
    // The end of the block, and zeros to the end of its last byte.
    bits.push(0, 7);
    bits.push(0, 7);
    let mut bytes = bits.bytes;
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(size as u32).to_le_bytes());
    bytes
}

/// Writes so many mebibytes of blanks, without holding them.
pub(super) async fn pour_blanks(stream: &mut TcpStream, mib: usize) -> io::Result<()> {
    let blanks = vec![b' '; 64 * 1024];
    for _ in 0..mib * 16 {
        stream.write_all(&blanks).await?;
    }
    Ok(())
}

struct Bits {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    fn push(&mut self, bits: u32, count: u32) {
        self.held |= bits << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }
}

fn reversed(code: u32, bits: u32) -> u32 {
    code.reverse_bits() >> (32 - bits)
}

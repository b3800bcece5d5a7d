use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::answer::{Reply, reason};
use super::flood::{gzip_bomb, pour_blanks};
use super::journal::Presence;
use super::wire::{ChunkCut, Framing, Wire};

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Close,
    Reset,
    /// Open until the client leaves.
    Linger,
}

/// Puts an answer on the wire. `date` is the header's; `keeps_alive` is what the client asked for.
pub(super) async fn send(
    stream: &mut TcpStream,
    reply: &Reply,
    wire: Option<&Wire>,
    keeps_alive: bool,
    date: &str,
    presence: &mut Presence,
) -> io::Result<After> {
    let head = Head { reply, date, keeps_alive };
    let body = reply.body.as_slice();
    let length = |bytes: usize| format!("content-length: {bytes}\r\n");
    let after = if keeps_alive { After::Keep } else { After::Close };
    let part = |share: f64| (body.len() as f64 * share.clamp(0.0, 1.0)) as usize;
    if !matches!(wire, Some(Wire::ResetBeforeAnswer {} | Wire::Hang {})) {
        presence.answers(reply.status);
    }
    match wire {
        None => {
            let head = head.with(&length(body.len()));
            finish(stream, head.as_bytes(), body, presence).await?;
            return Ok(after);
        }
        Some(Wire::ResetBeforeAnswer {}) => return Ok(After::Reset),
        Some(Wire::Hang {}) => return Ok(After::Linger),
        Some(Wire::ResetAfterHead {}) => {
            stream.write_all(head.with(&length(body.len())).as_bytes()).await?;
            return Ok(After::Reset);
        }
        Some(Wire::HangAfterHead {}) => {
            stream.write_all(head.with(&length(body.len())).as_bytes()).await?;
            return Ok(After::Linger);
        }
        Some(Wire::CutBody { share }) => {
            let head = head.with(&length(body.len()));
            finish(stream, head.as_bytes(), &body[..part(*share)], presence).await?;
        }
        Some(Wire::CutUnframed { share }) => {
            let head = Head { keeps_alive: false, ..head }.with("");
            finish(stream, head.as_bytes(), &body[..part(*share)], presence).await?;
        }
        Some(Wire::CutChunked { at }) => {
            let mut chunks = chunked(body);
            let last_chunk = b"0\r\n\r\n".len();
            chunks.truncate(match at {
                ChunkCut::MidChunk => chunks.len().saturating_sub(last_chunk + body.len() / 4),
                ChunkCut::ChunkEdge => chunks.len() - last_chunk,
            });
            finish(stream, head.with(CHUNKED).as_bytes(), &chunks, presence).await?;
        }
        Some(Wire::Chunked {}) => {
            finish(stream, head.with(CHUNKED).as_bytes(), &chunked(body), presence).await?;
            return Ok(after);
        }
        Some(Wire::Surplus { bytes }) => {
            let surplus = [body, &vec![b' '; *bytes]].concat();
            finish(stream, head.with(&length(body.len())).as_bytes(), &surplus, presence).await?;
        }
        Some(Wire::Trickle { bytes, every_ms }) => {
            stream.write_all(head.with(&length(body.len())).as_bytes()).await?;
            trickle(stream, body, *bytes, *every_ms, presence).await?;
            return Ok(after);
        }
        Some(Wire::SlowHead { bytes, every_ms }) => {
            let whole = [head.with(&length(body.len())).as_bytes(), body].concat();
            let head_length = whole.len() - body.len();
            for piece in whole[..head_length].chunks((*bytes).max(1)) {
                stream.write_all(piece).await?;
                sleep(Duration::from_millis(*every_ms)).await;
            }
            finish(stream, &[], &whole[head_length..], presence).await?;
            return Ok(after);
        }
        Some(Wire::LongHead { kib }) => {
            // A line of 1 KiB each: longer ones would be refused for another reason.
            let line = format!("x-filler: {}\r\n", "a".repeat(1024 - "x-filler: \r\n".len()));
            let head = head.with(&format!("{}{}", line.repeat(*kib), length(body.len())));
            finish(stream, head.as_bytes(), body, presence).await?;
            return Ok(after);
        }
        Some(Wire::GzipBomb { mib }) => {
            let bomb = gzip_bomb(*mib);
            let head = head.with(&format!("content-encoding: gzip\r\n{}", length(bomb.len())));
            finish(stream, head.as_bytes(), &bomb, presence).await?;
            return Ok(after);
        }
        Some(Wire::GzipLabel {}) => {
            let head = head.with(&format!("content-encoding: gzip\r\n{}", length(body.len())));
            finish(stream, head.as_bytes(), body, presence).await?;
            return Ok(after);
        }
        Some(Wire::Oversize { mib, framing }) => {
            let head = match framing {
                Framing::Declared => head.with(&length(*mib << 20)),
                Framing::Undeclared => Head { keeps_alive: false, ..head }.with(""),
            };
            stream.write_all(head.as_bytes()).await?;
            pour_blanks(stream, *mib).await?;
        }
        Some(Wire::CloseAfter {}) => {
            finish(stream, head.with(&length(body.len())).as_bytes(), body, presence).await?;
        }
    }
    Ok(After::Close)
}

const CHUNKED: &str = "transfer-encoding: chunked\r\n";

struct Head<'a> {
    reply: &'a Reply,
    date: &'a str,
    keeps_alive: bool,
}

impl Head<'_> {
    /// The head as text, with more header lines before its end.
    fn with(&self, more: &str) -> String {
        let Reply { status, content_type, headers, .. } = self.reply;
        let connection = if self.keeps_alive { "keep-alive" } else { "close" };
        let own: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "HTTP/1.1 {status} {}\r\ndate: {}\r\ncontent-type: {content_type}\r\nconnection: {connection}\r\n{own}{more}\r\n",
            reason(*status),
            self.date
        )
    }
}

/// The last bytes of an answer go into the socket's buffer at once, so that leaving just before them is leaving in time.
const TAIL: usize = 16 * 1024;

/// Writes head and body; the request counts as answered just before the last bytes.
async fn finish(stream: &mut TcpStream, head: &[u8], body: &[u8], presence: &mut Presence) -> io::Result<()> {
    let (front, tail) = body.split_at(body.len().saturating_sub(TAIL));
    if front.is_empty() {
        presence.leave();
        return stream.write_all(&[head, tail].concat()).await;
    }
    stream.write_all(head).await?;
    stream.write_all(front).await?;
    presence.leave();
    stream.write_all(tail).await
}

async fn trickle(stream: &mut TcpStream, body: &[u8], bytes: usize, every_ms: u64, presence: &mut Presence) -> io::Result<()> {
    let mut pieces = body.chunks(bytes.max(1)).peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            presence.leave();
        }
        stream.write_all(piece).await?;
        if pieces.peek().is_some() {
            sleep(Duration::from_millis(every_ms)).await;
        }
    }
    Ok(())
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::with_capacity(body.len() + body.len() / 256 + 64);
    for chunk in body.chunks(body.len().div_ceil(4).max(1)) {
        chunks.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunks.extend_from_slice(chunk);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    chunks
}

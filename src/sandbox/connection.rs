use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer::{Answer, http_date};
use super::fault::ConnectionAge;
use super::journal::{Journal, Played, Presence};
use super::render::Format;
use super::request::{BadRequest, KeySeen, Request};
use super::send::{After, send};
use super::stage::Stage;

/// What all connections of a portal share.
pub(super) struct House {
    pub stage: Stage,
    pub journal: Arc<Journal>,
}

const MAX_HEAD: usize = 64 * 1024;

/// Answers the requests of one connection, one after the other, until either side ends it.
pub(super) async fn serve(mut stream: TcpStream, connection: u64, house: Arc<House>) {
    // An error means that the client has gone; the log has what it asked.
    let _ = answer_all(&mut stream, connection, &house).await;
}

async fn answer_all(stream: &mut TcpStream, connection: u64, house: &House) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = Vec::new();
    let mut buffer = Vec::new();
    let mut age = ConnectionAge::Fresh;
    loop {
        let request = match read_request(stream, &mut input).await? {
            Head::Request(request) => request,
            Head::Bad => return refuse(stream, connection, house).await,
            Head::End => return Ok(()),
        };
        let key = request.key_seen(house.stage.scenario().key.as_deref());
        let mut presence = house.journal.enter(Some(&request), key, connection);
        let play = house.stage.choose(&request, presence.number, presence.in_flight, age, Instant::now());
        presence.plays(play.played.clone());
        if !wait(stream, play.wait).await {
            return Ok(());
        }
        let now = Timestamp::now();
        let mut reply = house.stage.reply(&play, std::mem::take(&mut buffer), now);
        let wire = play.wire.as_ref();
        let after = send(stream, &reply, wire, request.keeps_alive, &http_date(now), &mut presence).await?;
        if end(stream, after, presence).await? {
            return Ok(());
        }
        // A page takes over the room of the last one.
        reply.body.clear();
        buffer = reply.body;
        age = ConnectionAge::Reused;
    }
}

enum Head {
    Request(Request),
    Bad,
    End,
}

async fn read_request(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<Head> {
    loop {
        match Request::parse(input) {
            Ok(Some((request, length))) => {
                input.drain(..length);
                return Ok(Head::Request(request));
            }
            Ok(None) if input.len() < MAX_HEAD => {}
            Ok(None) | Err(BadRequest) => return Ok(Head::Bad),
        }
        if stream.read_buf(input).await? == 0 {
            return Ok(Head::End);
        }
    }
}

async fn refuse(stream: &mut TcpStream, connection: u64, house: &House) -> io::Result<()> {
    let mut presence = house.journal.enter(None, KeySeen::Absent, connection);
    presence.plays(Played::BadRequest);
    let now = Timestamp::now();
    let reply = Answer::Bare { status: 400, retry_after: None }.reply(Format::Xml, "", now);
    send(stream, &reply, None, false, &http_date(now), &mut presence).await?;
    stream.shutdown().await
}

/// Waits before an answer; false when the client leaves meanwhile.
async fn wait(stream: &TcpStream, wait: Duration) -> bool {
    if wait.is_zero() {
        return true;
    }
    tokio::select! {
        () = tokio::time::sleep(wait) => true,
        () = client_left(stream) => false,
    }
}

/// Does with the connection what an answer asks; true when it is over.
async fn end(stream: &mut TcpStream, after: After, mut presence: Presence) -> io::Result<bool> {
    match after {
        After::Keep => return Ok(false),
        After::Close => {
            presence.leave();
            stream.shutdown().await?;
        }
        After::Reset => {
            presence.leave();
            stream.set_zero_linger()?;
        }
        After::Linger => client_left(stream).await,
    }
    Ok(true)
}

/// Ends when the client closes or resets; never while more of its bytes wait to be read.
async fn client_left(stream: &TcpStream) {
    match stream.peek(&mut [0]).await {
        Ok(0) | Err(_) => {}
        Ok(_) => pending().await,
    }
}

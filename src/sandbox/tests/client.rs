//! A client that sees the wire as it is.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::model::month::Month;
use crate::sandbox::{Portal, RequestLine, Scenario, Service};

pub const REGION: &str = "11110";

/// A test that hangs must fail.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn march() -> Month {
    "2024-03".parse().unwrap()
}

pub async fn portal(scenario: &str) -> Portal {
    Portal::start(Scenario::from_toml(scenario).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap()
}

/// Query of one page of 11110 in 2024-03.
pub fn page(number: u64, size: u64) -> String {
    format!("LAWD_CD={REGION}&DEAL_YMD=202403&pageNo={number}&numOfRows={size}")
}

pub struct Client {
    stream: TcpStream,
    input: Vec<u8>,
}

#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Closed,
    Reset,
}

impl Client {
    pub async fn of(portal: &Portal) -> Self {
        let address = portal.base_url().strip_prefix("http://").unwrap().to_owned();
        Self { stream: TcpStream::connect(address).await.unwrap(), input: Vec::new() }
    }

    /// Sends a request for the apartment sales.
    pub async fn ask(&mut self, query: &str) {
        self.send(&format!("GET {}?{query} HTTP/1.1\r\nhost: portal\r\n\r\n", Service::AptTrade.path())).await;
    }

    pub async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// One whole answer that says its length.
    pub async fn answer(&mut self) -> Got {
        let (status, head) = self.head().await;
        let length = header(&head, "content-length").expect("the answer says its length").parse().unwrap();
        while self.input.len() < length {
            self.read().await.unwrap();
        }
        Got { status, head, body: self.input.drain(..length).collect() }
    }

    pub async fn head(&mut self) -> (u16, String) {
        loop {
            if let Some(end) = memchr::memmem::find(&self.input, b"\r\n\r\n") {
                let head = String::from_utf8(self.input.drain(..end + 4).collect()).unwrap();
                return (head[9..12].parse().unwrap(), head);
            }
            assert_ne!(self.read().await.unwrap(), 0, "the connection ended within the head");
        }
    }

    pub async fn get(&mut self, query: &str) -> Got {
        self.ask(query).await;
        self.answer().await
    }

    /// Everything until the connection ends, and how it ends.
    pub async fn rest(&mut self) -> (Vec<u8>, Ending) {
        loop {
            match self.read().await {
                Ok(0) => return (std::mem::take(&mut self.input), Ending::Closed),
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
                    return (std::mem::take(&mut self.input), Ending::Reset);
                }
            }
        }
    }

    /// Bytes that have come and not been read.
    pub fn pending(&self) -> usize {
        self.stream.try_read(&mut [0; 64]).unwrap_or(0) + self.input.len()
    }

    pub async fn stop_sending(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    async fn read(&mut self) -> io::Result<usize> {
        let read = self.stream.read_buf(&mut self.input);
        tokio::time::timeout(PATIENCE, read).await.expect("the portal says something")
    }
}

pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.split_once(": ").filter(|(known, _)| *known == name)).map(|(_, value)| value)
}

impl Got {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub type Row = BTreeMap<String, String>;

/// One page in JSON: its total and its rows.
pub async fn read_page(client: &mut Client, number: u64, size: u64) -> (serde_json::Value, Vec<Row>) {
    let json = client.get(&format!("{}&_type=json", page(number, size))).await.json();
    let body = &json["response"]["body"];
    (body["totalCount"].clone(), rows_of(body))
}

pub fn rows_of(body: &serde_json::Value) -> Vec<Row> {
    let items = match &body["items"]["item"] {
        serde_json::Value::Array(items) => items.clone(),
        serde_json::Value::Object(item) => vec![serde_json::Value::Object(item.clone())],
        _ => Vec::new(),
    };
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |item: &serde_json::Value| item.as_object().unwrap().iter().map(|(k, v)| (k.clone(), text(v))).collect();
    items.iter().map(row).collect()
}

/// The apartment sales of 11110 in 2024-03, as they are.
pub fn truth(portal: &Portal) -> Vec<Row> {
    let rows = portal.truth(Service::AptTrade, REGION, march()).into_iter();
    rows.map(|row| row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).collect()
}

/// The log, as soon as it fits.
pub async fn log_when(portal: &Portal, fits: impl Fn(&[RequestLine]) -> bool) -> Vec<RequestLine> {
    loop {
        let lines = portal.requests();
        if fits(&lines) {
            return lines;
        }
        tokio::task::yield_now().await;
    }
}

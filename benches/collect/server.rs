//! Pages as the practice portal renders them, at the cost of a copy.
//!
//! The portal makes up every row anew, which would take a good part of the machine from those who are measured. So it is
//! asked once for each page, and what differs from partition to partition is filled in.

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

use gapless::sandbox::{Portal, Scenario, Service, Spread};

use super::floor::client;
use super::ground::Page;
use super::{Format, Outcome, PAGE_ROWS, pages_of};

/// The partition the portal is asked for. Its values stand in no other field.
const REGION: &str = "11110";
const MONTH: &str = "202411";

/// A body with gaps for the values of its partition.
struct Template {
    /// What stands before each gap.
    pieces: Vec<(String, Gap)>,
    end: String,
}

#[derive(Clone, Copy)]
enum Gap {
    Region,
    Year,
    Month,
}

type Templates = HashMap<(Format, Page), Template>;

/// Serves partitions of `rows` rows until the input ends; prints the base URL.
pub fn serve(rows: usize) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let templates = Arc::new(runtime.block_on(templates(rows))?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let templates = Arc::clone(&templates);
            // A client that goes away ends its connection, which is no fault of ours.
            std::thread::spawn(move || answer_all(stream, &templates).ok());
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

async fn templates(rows: usize) -> Outcome<Templates> {
    let scenario = Scenario { rows: Spread::Fixed(rows as u64), ..Scenario::default() };
    let portal = Portal::start(scenario, (Ipv4Addr::LOCALHOST, 0).into()).await?;
    let client = client().map_err(|fault| fault as Box<dyn Error>)?;
    let mut templates = HashMap::new();
    for format in Format::ALL {
        for page in pages_of(rows) {
            let query = query(format, REGION, MONTH, page);
            let url = format!("{}{}?{query}", portal.base_url(), Service::AptTrade.path());
            let body = client.get(url).send().await?.error_for_status()?.text().await?;
            templates.insert((format, page), Template::of(&body, format));
        }
    }
    Ok(templates)
}

/// The query that asks for one page.
pub fn query(format: Format, region: &str, month: &str, page: Page) -> String {
    let kind = match format {
        Format::Json => "&_type=json",
        Format::Xml => "",
    };
    format!("LAWD_CD={region}&DEAL_YMD={month}{kind}&numOfRows={PAGE_ROWS}&pageNo={}", page.number)
}

impl Template {
    fn of(body: &str, format: Format) -> Self {
        let gaps = [("sggCd", REGION, Gap::Region), ("dealYear", &MONTH[..4], Gap::Year), ("dealMonth", &MONTH[4..], Gap::Month)];
        let mut found = Vec::new();
        for (field, value, gap) in gaps {
            let before = match format {
                Format::Json => format!("\"{field}\":"),
                Format::Xml => format!("<{field}>"),
            };
            let told = format!("{before}{value}");
            found.extend(body.match_indices(&told).map(|(at, _)| (at + before.len(), value.len(), gap)));
        }
        found.sort_unstable_by_key(|(at, ..)| *at);
        assert!(found.len().is_multiple_of(gaps.len()) && !found.is_empty(), "every row tells its partition");
        let mut pieces = Vec::with_capacity(found.len());
        let mut from = 0;
        for (at, len, gap) in found {
            pieces.push((body[from..at].to_owned(), gap));
            from = at + len;
        }
        Self { pieces, end: body[from..].to_owned() }
    }

    fn fill(&self, region: &str, month: &str, body: &mut Vec<u8>) {
        for (piece, gap) in &self.pieces {
            body.extend_from_slice(piece.as_bytes());
            let value = match gap {
                Gap::Region => region,
                Gap::Year => &month[..4],
                Gap::Month => month[4..].trim_start_matches('0'),
            };
            body.extend_from_slice(value.as_bytes());
        }
        body.extend_from_slice(self.end.as_bytes());
    }
}

/// Answers the requests of one connection, one after another.
fn answer_all(mut stream: TcpStream, templates: &Templates) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut request, mut body) = (Vec::new(), Vec::new());
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..read]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let line = String::from_utf8_lossy(&request);
        let value = |name: &str| {
            let rest = line.split_once(&format!("{name}=")).map_or("", |(_, rest)| rest);
            rest.split(['&', ' ']).next().unwrap_or_default().to_owned()
        };
        let format = if value("_type") == "json" { Format::Json } else { Format::Xml };
        let page = Page { number: value("pageNo").parse().unwrap_or(0) };
        let template = templates.get(&(format, page)).ok_or_else(|| io::Error::other("no such page"))?;
        body.clear();
        template.fill(&value("LAWD_CD"), &value("DEAL_YMD"), &mut body);
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
        stream.write_all(&body)?;
        request.clear();
    }
}

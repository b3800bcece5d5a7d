//! The least that could be called collecting: fetch, read, insert. No ledger, no types, no second look at anything.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gapless::sandbox::Service;
use quick_xml::Reader;
use quick_xml::events::{BytesText, Event};
use rusqlite::Connection;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::ground::partitions_of;
use super::server::query;
use super::{Format, Outcome, ROWS, pages_of};

const FIELDS: usize = 20;
const IN_FLIGHT: usize = 4;

type Fault = Box<dyn Error + Send + Sync>;

/// Collects the partitions into `file`.
pub fn collect(format: Format, base_url: &str, partitions: usize, file: &str) -> Outcome<()> {
    let db = Arc::new(Mutex::new(table(file)?));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(walk_all(format, base_url, partitions, Arc::clone(&db))).map_err(|fault| fault as Box<dyn Error>)?;
    let stored: i64 = db.lock().unwrap().query_row("select count(*) from trade", [], |row| row.get(0))?;
    assert_eq!(stored, (partitions * ROWS) as i64, "the floor stores what gapless stores");
    Ok(())
}

fn table(file: &str) -> Outcome<Connection> {
    let db = Connection::open(file)?;
    // Whole pages or none after a kill, as one would write it by hand; a loss of power is not thought of.
    db.execute_batch("pragma journal_mode = wal; pragma synchronous = off; pragma locking_mode = exclusive")?;
    let columns: Vec<String> = (1..=FIELDS).map(|number| format!("field_{number}")).collect();
    db.execute_batch(&format!("create table trade ({})", columns.join(", ")))?;
    Ok(db)
}

async fn walk_all(format: Format, base_url: &str, partitions: usize, db: Arc<Mutex<Connection>>) -> Result<(), Fault> {
    let client = client()?;
    let places = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut walks = JoinSet::new();
    for (region, month) in partitions_of(partitions) {
        let place = Arc::clone(&places).acquire_owned().await?;
        let (client, db, base) = (client.clone(), Arc::clone(&db), format!("{base_url}{}", Service::AptTrade.path()));
        walks.spawn(async move {
            for page in pages_of(ROWS) {
                let url = format!("{base}?{}", query(format, region, &month, page));
                let body = client.get(url).send().await?.bytes().await?;
                let db = Arc::clone(&db);
                tokio::task::spawn_blocking(move || store(format, &body, &db)).await??;
            }
            drop(place);
            Ok::<_, Fault>(())
        });
    }
    while let Some(walked) = walks.join_next().await {
        walked??;
    }
    Ok(())
}

/// The client of gapless, for this machine alone: it trusts nobody.
pub fn client() -> Result<reqwest::Client, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let tls = tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
    Ok(reqwest::Client::builder().no_proxy().http1_only().tcp_nodelay(true).tls_backend_preconfigured(tls).build()?)
}

/// One transaction a page.
fn store(format: Format, body: &Bytes, db: &Mutex<Connection>) -> Result<(), Fault> {
    let body = std::str::from_utf8(body)?;
    let rows = match format {
        Format::Json => json_rows(body)?,
        Format::Xml => xml_rows(body)?,
    };
    let mut db = db.lock().unwrap();
    let transaction = db.transaction()?;
    {
        let mut insert = transaction.prepare_cached(&format!("insert into trade values ({})", ["?"; FIELDS].join(", ")))?;
        for row in rows {
            for (position, text) in row.iter().enumerate() {
                insert.raw_bind_parameter(position + 1, text)?;
            }
            insert.raw_execute()?;
        }
    }
    Ok(transaction.commit()?)
}

type Row<'b> = [&'b str; FIELDS];

fn json_rows(body: &str) -> Result<Vec<Row<'_>>, Fault> {
    let Envelope { response } = serde_json::from_str(body)?;
    Ok(response.body.items.item.into_iter().map(|JsonRow(row)| row).collect())
}

#[derive(Deserialize)]
struct Envelope<'b> {
    #[serde(borrow)]
    response: Response<'b>,
}

#[derive(Deserialize)]
struct Response<'b> {
    #[serde(borrow)]
    body: Body<'b>,
}

#[derive(Deserialize)]
struct Body<'b> {
    #[serde(borrow)]
    items: Items<'b>,
}

#[derive(Deserialize)]
struct Items<'b> {
    #[serde(borrow)]
    item: Vec<JsonRow<'b>>,
}

/// The values in the order they come in, whatever their names.
struct JsonRow<'b>(Row<'b>);

impl<'de: 'b, 'b> Deserialize<'de> for JsonRow<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Row<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut row = [""; FIELDS];
                for text in &mut row {
                    let Some((IgnoredAny, value)) = map.next_entry::<IgnoredAny, &RawValue>()? else { break };
                    *text = value.get().trim_matches('"');
                }
                Ok(row)
            }
        }
        deserializer.deserialize_map(Fields).map(Self)
    }
}

fn xml_rows(body: &str) -> Result<Vec<Row<'_>>, Fault> {
    let mut reader = Reader::from_str(body);
    let mut rows = Vec::new();
    let mut row = [""; FIELDS];
    let mut next = 0;
    let mut text = "";
    loop {
        match reader.read_event()? {
            Event::Start(start) if start.name().as_ref() == "item" => next = 0,
            Event::Start(_) => text = "",
            Event::Text(found) => text = borrowed(found),
            Event::End(end) if end.name().as_ref() == "item" => rows.push(row),
            Event::End(_) if next < FIELDS => {
                row[next] = text;
                next += 1;
            }
            Event::Eof => return Ok(rows),
            _ => {}
        }
    }
}

/// A text of the body as it stands there: nothing is unescaped.
fn borrowed<'b>(text: BytesText<'b>) -> &'b str {
    match text.into_inner() {
        Cow::Borrowed(text) => text,
        Cow::Owned(_) => unreachable!("the reader borrows from the body"),
    }
}

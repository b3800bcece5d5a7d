use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with one request.
#[derive(Clone)]
pub(super) enum Act {
    Send(Vec<u8>),
    /// The same piece for ever, or until the client has had enough.
    SendForEver {
        piece: Vec<u8>,
        every: Duration,
    },
    Close,
    Reset,
    Hang,
}

/// One request as it came in.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) at: Instant,
    /// Which connection, and which request on it; both from 0.
    pub(super) connection: usize,
    pub(super) request: usize,
    pub(super) head: String,
}

/// A server on the loopback that counts what arrives and misbehaves as told.
pub(super) struct Server {
    pub(super) base_url: String,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    connections: Arc<Mutex<usize>>,
}

type Script = dyn Fn(&Arrival) -> Vec<Act> + Send + Sync;

impl Server {
    pub(super) async fn start(script: impl Fn(&Arrival) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let (arrivals, connections) = (Arc::default(), Arc::new(Mutex::new(0)));
        let script: Arc<Script> = Arc::new(script);
        let (log, count) = (Arc::clone(&arrivals), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = {
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    *count - 1
                };
                tokio::spawn(serve(stream, connection, Arc::clone(&script), Arc::clone(&log)));
            }
        });
        Self { base_url, arrivals, connections }
    }

    /// Answers every request with this.
    pub(super) async fn answering(answer: Vec<u8>) -> Self {
        Self::start(move |_| vec![Act::Send(answer.clone())]).await
    }

    pub(super) fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().unwrap().clone()
    }

    pub(super) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

/// A whole answer with a length.
pub(super) fn answer(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Because\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

async fn serve(mut stream: TcpStream, connection: usize, script: Arc<Script>, log: Arc<Mutex<Vec<Arrival>>>) {
    for request in 0.. {
        let Some(head) = read_head(&mut stream).await else { return };
        let arrival = Arrival { at: Instant::now(), connection, request, head };
        let acts = script(&arrival);
        log.lock().unwrap().push(arrival);
        for act in acts {
            match act {
                Act::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Act::SendForEver { piece, every } => {
                    while stream.write_all(&piece).await.is_ok() {
                        if !every.is_zero() {
                            tokio::time::sleep(every).await;
                        }
                    }
                    return;
                }
                Act::Close => return,
                Act::Reset => return stream.set_zero_linger().unwrap(),
                Act::Hang => std::future::pending().await,
            }
        }
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// Serves one answer over TLS to whoever trusts the certificate of the fixtures; then ends.
pub(super) fn start_tls(answer: Vec<u8>) -> String {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let certificate = CertificateDer::from_pem_slice(include_bytes!("../../../fixtures/tls/loopback.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../../fixtures/tls/loopback.key.pem")).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, listener.accept().unwrap().0);
        let mut head = [0; 4096];
        if stream.read(&mut head).is_ok() {
            stream.write_all(&answer).unwrap();
            stream.flush().unwrap();
            let _ = stream.read(&mut head);
        }
    });
    base_url
}

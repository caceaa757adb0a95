//! A proxy with a far side: 127.0.0.2 stands for the world, and every other address for itself.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::super::address::{Reach, reach};
use super::super::{Proxy, Resolve};
use super::client::hello;
use crate::zone::plan::Egress;
use crate::zone::report::Connection;

pub(super) const WORLD: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// The address at which whoever judges it breaks.
pub(super) const BREAKING: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
/// Ends a test that would hang.
const LIMIT: Duration = Duration::from_secs(20);

fn judge(address: IpAddr) -> Reach {
    assert_ne!(address, BREAKING, "on purpose");
    if address == WORLD {
        Reach::Public
    } else {
        reach(address)
    }
}

/// Names that lead somewhere, and how often each was asked for.
#[derive(Clone, Default)]
pub(super) struct Book {
    addresses: Arc<Mutex<BTreeMap<String, Vec<IpAddr>>>>,
    asked: Arc<AtomicUsize>,
}

impl Resolve for Book {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let found = self.addresses.lock().unwrap().get(host).cloned();
        found.ok_or_else(|| ErrorKind::NotFound.into())
    }
}

/// Caps that no test reaches by chance.
pub(super) fn roomy() -> Egress {
    Egress {
        allow: Vec::new(),
        connections_max: 10_000,
        concurrent_max: 100,
        bytes_max: 1 << 30,
        idle_ms: 600_000,
        total_ms: 600_000,
        gateway: None,
    }
}

pub(super) struct Stand {
    pub(super) proxy: Proxy,
    pub(super) far: TcpListener,
    book: Book,
    door: SocketAddr,
}

impl Stand {
    /// Allows `model.test` and what is given beside it, `PORT` being that of the far side.
    pub(super) fn new(beside: &[&str], caps: Egress) -> Self {
        let book = Book::default();
        let stand = Self::with(beside, caps, Box::new(book.clone()));
        let stand = Self { book, ..stand };
        stand.knows("model.test", &[WORLD]);
        stand
    }

    pub(super) fn with(beside: &[&str], caps: Egress, resolver: Box<dyn Resolve>) -> Self {
        let far = TcpListener::bind((WORLD, 0)).unwrap();
        let port = far.local_addr().unwrap().port().to_string();
        let entries = ["model.test:PORT"].iter().chain(beside);
        let mut egress = Egress {
            allow: entries.map(|entry| entry.replace("PORT", &port)).collect(),
            ..caps
        };
        for entry in egress.gateway.iter_mut().flat_map(|gateway| &mut gateway.entries) {
            *entry = entry.replace("PORT", &port);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let door = listener.local_addr().unwrap();
        let proxy = Proxy::serve_as(listener, &egress, resolver, judge).unwrap();
        Self {
            proxy,
            far,
            book: Book::default(),
            door,
        }
    }

    pub(super) fn knows(&self, host: &str, addresses: &[IpAddr]) {
        let mut book = self.book.addresses.lock().unwrap();
        book.insert(host.to_owned(), addresses.to_vec());
    }

    /// How many names were looked up.
    pub(super) fn asked(&self) -> usize {
        self.book.asked.load(Ordering::SeqCst)
    }

    pub(super) fn port(&self) -> u16 {
        self.far.local_addr().unwrap().port()
    }

    /// A connection to the proxy.
    pub(super) fn knock(&self) -> TcpStream {
        let client = self.try_knock().unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        client.set_write_timeout(Some(LIMIT)).unwrap();
        client
    }

    fn try_knock(&self) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&self.door, LIMIT)
    }

    /// Whether somebody who knocks and speaks is served.
    pub(super) fn is_served(&self) -> bool {
        let Ok(client) = self.try_knock() else {
            return false;
        };
        client.set_read_timeout(Some(LIMIT)).unwrap();
        // A listener that closes just then leaves a client connected to nobody, who learns it by speaking.
        let _refused = (&client).write_all(b"GET / HTTP/1.1\r\n\r\n");
        !rest(&client).is_empty()
    }

    /// Sends these bytes over a connection of their own.
    pub(super) fn say(&self, bytes: &[u8]) -> TcpStream {
        let client = self.knock();
        (&client).write_all(bytes).unwrap();
        client
    }

    /// Asks for a host and port, `PORT` being that of the far side.
    pub(super) fn ask(&self, target: &str) -> (TcpStream, String) {
        let target = target.replace("PORT", &self.port().to_string());
        let client = self.say(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes());
        let status = status(&client);
        (client, status)
    }

    /// A tunnel to the far side, and the far side's end of it, past the hello.
    pub(super) fn tunnel(&self) -> (TcpStream, TcpStream) {
        let (client, status) = self.ask("model.test:PORT");
        assert_eq!(status, "200");
        let said = hello(Some("model.test"));
        (&client).write_all(&said).unwrap();
        let far = self.accept();
        assert_eq!(take(&far, said.len()), said);
        (client, far)
    }

    pub(super) fn accept(&self) -> TcpStream {
        assert!(is_readable(&self.far, LIMIT), "nobody came");
        let (far, _) = self.far.accept().unwrap();
        far.set_read_timeout(Some(LIMIT)).unwrap();
        far.set_write_timeout(Some(LIMIT)).unwrap();
        far
    }

    /// Whether somebody has connected to the far side and was not accepted.
    pub(super) fn is_dialled(&self) -> bool {
        is_readable(&self.far, Duration::ZERO)
    }

    /// Waits until nothing passes any more.
    pub(super) fn over(&self) {
        assert!(is_readable(&self.proxy, LIMIT), "the proxy says nothing");
    }

    pub(super) fn is_over(&self) -> bool {
        is_readable(&self.proxy, Duration::ZERO)
    }

    /// Ends it: its rows, and whether the far side was ever reached and not accepted.
    pub(super) fn finish(self) -> (Vec<Connection>, bool) {
        let Self { proxy, far, .. } = self;
        let rows = proxy.finish();
        (rows, is_readable(&far, Duration::ZERO))
    }

    /// Ends it: its rows in brief.
    pub(super) fn rows(self) -> Vec<(String, bool, String, u32)> {
        let brief = |row: Connection| (row.host, row.allowed, row.reason, row.connections);
        self.proxy.finish().into_iter().map(brief).collect()
    }
}

/// A row in brief, of one connection.
pub(super) fn row(host: &str, reason: &str) -> (String, bool, String, u32) {
    (host.to_owned(), reason.is_empty(), reason.to_owned(), 1)
}

fn is_readable(source: &impl std::os::fd::AsFd, at_most: Duration) -> bool {
    let timeout = at_most.try_into().ok();
    poll(&mut [PollFd::new(source, PollFlags::IN)], timeout.as_ref()).unwrap() > 0
}

/// The status of the answer; the rest of it when it is not 200 is read too.
pub(super) fn status(client: &TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.extend(take(client, 1));
    }
    let head = String::from_utf8(head).unwrap();
    head.split(' ').nth(1).unwrap().to_owned()
}

/// Exactly so many bytes.
pub(super) fn take(stream: &TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    (&mut &*stream).read_exact(&mut bytes).unwrap();
    bytes
}

/// Everything until the end, which may be a rude one.
pub(super) fn rest(stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match (&mut &*stream).read_to_end(&mut bytes) {
        Ok(_) => bytes,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => bytes,
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn hang_up(stream: &TcpStream) {
    stream.shutdown(Shutdown::Write).unwrap();
}

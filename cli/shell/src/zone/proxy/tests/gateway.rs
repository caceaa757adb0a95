//! The gateway, with a model behind it that speaks TLS.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::stand::{Stand, hang_up, rest, roomy, row, status, take};
use crate::zone::plan::{Bears, Egress, Gateway};

const KEY: &str = "sk-held-0123456789";
const POST: &str = "POST /v1/chat HTTP/1.1\r\nHost: 127.0.0.1\r\n";

/// A model's house: who it is, and where the proxy finds that out.
struct House {
    dir: tempfile::TempDir,
    config: Arc<ServerConfig>,
}

type Far = StreamOwned<ServerConnection, TcpStream>;

impl House {
    /// Of this name; `None`, said aloud, where nothing makes certificates.
    fn of(name: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let at = |file: &str| dir.path().join(file).to_string_lossy().into_owned();
        let made = |words: &[&str]| {
            let mut command = Command::new("openssl");
            command.args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ]);
            command
                .args(["-days", "2"])
                .args(words)
                .output()
                .is_ok_and(|said| said.status.success())
        };
        let (ca, ca_key, own, own_key) = (at("ca.pem"), at("ca.key"), at("own.pem"), at("own.key"));
        let of = format!("subjectAltName=DNS:{name}");
        let signed = [
            "-CA",
            &ca,
            "-CAkey",
            &ca_key,
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ];
        let names = ["-subj", "/CN=model", "-addext", &of, "-keyout", &own_key, "-out", &own];
        let is_made =
            made(&["-subj", "/CN=ca", "-keyout", &ca_key, "-out", &ca]) && made(&[signed.as_slice(), &names].concat());
        if !is_made {
            eprintln!("skipped: no openssl here that signs certificates");
            return None;
        }
        let chain = CertificateDer::pem_file_iter(&own)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let key = PrivateKeyDer::from_pem_file(&own_key).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        Some(Self { dir, config })
    }

    fn ca(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// A gateway that believes this house.
    fn caps(&self) -> Egress {
        let gateway = Gateway {
            entries: vec!["BASE_URL=https://model.test:PORT/v1".to_owned()],
            bears: Some(Bears {
                header: "authorization".to_owned(),
                key: KEY.to_owned(),
            }),
            ca: Some(self.ca()),
        };
        Egress {
            gateway: Some(gateway),
            ..roomy()
        }
    }

    /// Receives the next connection of the proxy.
    fn receive(&self, stand: &Stand) -> Far {
        StreamOwned::new(ServerConnection::new(Arc::clone(&self.config)).unwrap(), stand.accept())
    }
}

/// Everything up to an empty line.
fn head(far: &mut Far) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        far.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn content(far: &mut Far, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    far.read_exact(&mut bytes).unwrap();
    bytes
}

fn say(far: &mut Far, bytes: &[u8]) {
    far.write_all(bytes).unwrap();
    far.flush().unwrap();
}

/// The polite end of an answer.
fn close(mut far: Far) {
    far.conn.send_close_notify();
    far.flush().unwrap();
}

#[test]
fn a_request_gets_the_key_on_its_way_and_its_answer_comes_as_it_is_made() {
    let Some(house) = House::of("model.test") else { return };
    let stand = Stand::new(&[], house.caps());
    let client = stand.say(format!("{POST}Authorization: Bearer mine\r\nContent-Length: 6\r\n\r\nprompt").as_bytes());
    let mut far = house.receive(&stand);
    let asked = head(&mut far);
    assert!(
        asked.starts_with("POST /v1/chat HTTP/1.1\r\n") && !asked.contains("mine"),
        "{asked}"
    );
    assert!(
        asked.contains(&format!("\r\nauthorization: Bearer {KEY}\r\n")),
        "{asked}"
    );
    assert!(
        asked.contains(&format!("\r\nhost: model.test:{}\r\n", stand.port())),
        "{asked}"
    );
    assert_eq!(content(&mut far, 6), b"prompt");
    say(
        &mut far,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
    );
    // The second part is not made before the first has arrived.
    assert_eq!(status(&client), "200");
    assert_eq!(take(&client, 14), b"9\r\ndata: 1\n\n\r\n");
    say(&mut far, b"data: 2\n\n");
    assert_eq!(take(&client, 14), b"9\r\ndata: 2\n\n\r\n");
    close(far);
    assert_eq!(rest(&client), b"0\r\n\r\n");
    let (rows, _) = stand.finish();
    assert_eq!((rows.len(), rows[0].connections, rows[0].allowed), (1, 1, true));
    assert_eq!((rows[0].host.as_str(), rows[0].reason.as_str()), ("model.test", ""));
    assert!(rows[0].bytes_out > 80 && rows[0].bytes_in > 80, "{rows:?}");
}

#[test]
fn content_in_chunks_is_framed_anew_and_what_follows_a_request_is_nobodys() {
    let Some(house) = House::of("model.test") else { return };
    let stand = Stand::new(&[], house.caps());
    let smuggled = format!("{POST}Content-Length: 5\r\n\r\nsmuggled");
    let chunks = "4;x=y\r\nprom\r\n2\r\npt\r\n0\r\nX-Trailer: 1\r\n\r\n";
    let client = stand.say(format!("{POST}Transfer-Encoding: chunked\r\n\r\n{chunks}{smuggled}").as_bytes());
    let mut far = house.receive(&stand);
    assert!(head(&mut far).contains("\r\ntransfer-encoding: chunked\r\n"));
    assert_eq!(content(&mut far, 16), b"6\r\nprompt\r\n0\r\n\r\n");
    say(
        &mut far,
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndoneHTTP/1.1 200 OK\r\n\r\n",
    );
    let all = String::from_utf8(rest(&client)).unwrap();
    assert!(
        all.ends_with("\r\n\r\ndone") && all.matches("HTTP/1.1").count() == 1,
        "{all}"
    );
    // Nothing more came, and nothing more was dialled.
    let mut more = Vec::new();
    let _without_a_word = far.read_to_end(&mut more);
    assert!(more.is_empty(), "{}", more.escape_ascii());
    assert!(!stand.finish().1);
}

#[test]
fn a_client_that_waits_is_told_to_go_on_and_an_answer_need_not_wait_for_it() {
    let Some(house) = House::of("model.test") else { return };
    let stand = Stand::new(&[], house.caps());
    let client = stand.say(format!("{POST}Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n").as_bytes());
    let mut far = house.receive(&stand);
    assert!(!head(&mut far).to_ascii_lowercase().contains("expect"));
    assert_eq!(status(&client), "100");
    say(&mut far, b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    assert_eq!(status(&client), "413");
    assert_eq!(rest(&client), b"no");
}

#[test]
fn a_host_that_cannot_prove_its_name_gets_no_byte_of_a_request() {
    let (Some(house), Some(other)) = (House::of("model.test"), House::of("evil.test")) else {
        return;
    };
    // Of another name, and of the right name by an authority that nobody named.
    let mut impostor = other.caps();
    impostor.gateway.as_mut().unwrap().entries = house.caps().gateway.unwrap().entries;
    for (caps, speaks) in [(impostor, &other), (other.caps(), &house)] {
        let stand = Stand::new(&[], caps);
        let client = stand.say(format!("{POST}\r\n").as_bytes());
        let mut far = speaks.receive(&stand);
        let mut got = Vec::new();
        assert!(far.read_to_end(&mut got).is_err() && got.is_empty());
        assert_eq!(status(&client), "502");
        assert_eq!(stand.rows(), [row("model.test", "certificate")]);
    }
}

#[test]
fn a_host_at_an_address_that_is_not_public_gets_nothing_unless_its_entry_says_local() {
    let Some(house) = House::of("model.test") else { return };
    let near = std::net::IpAddr::from([127, 0, 0, 1]);
    let stand = Stand::new(&[], house.caps());
    stand.knows("model.test", &[near]);
    let client = stand.say(format!("{POST}\r\n").as_bytes());
    assert_eq!(status(&client), "403");
    assert_eq!(stand.rows(), [row("model.test", "private")]);
    let mut local = house.caps();
    local.gateway.as_mut().unwrap().entries = vec!["U=local:https://model.test:PORT".to_owned()];
    let stand = Stand::new(&[], local);
    stand.knows("model.test", &[near]);
    let client = stand.say(format!("{POST}\r\n").as_bytes());
    // Nobody listens there, which is found out by trying.
    assert_eq!(status(&client), "502");
    assert_eq!(stand.rows(), [row("model.test", "unreachable")]);
}

#[test]
fn a_request_that_is_not_plain_is_400_and_reaches_nobody() {
    let Some(house) = House::of("model.test") else { return };
    let stand = Stand::new(&[], house.caps());
    for text in [
        format!("{POST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "GET http://evil.test/v1 HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_owned(),
        "GET https://model.test/v1 HTTP/1.1\r\nHost: model.test\r\n\r\n".to_owned(),
        "GET /v1/../admin HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ] {
        let client = stand.say(text.as_bytes());
        assert_eq!(status(&client), "400", "{text}");
    }
    // Beside it the list holds as ever.
    assert_eq!(stand.ask("evil.test:443").1, "403");
    let (rows, dialled) = stand.finish();
    assert!(!dialled && rows.iter().all(|row| !row.allowed), "{rows:?}");
}

#[test]
fn an_answer_that_holds_the_key_is_cut_before_it() {
    let Some(house) = House::of("model.test") else { return };
    let (first, second) = KEY.split_at(7);
    let ways: [&[&str]; 3] = [
        &["HTTP/1.1 200 OK\r\nX-Echo: ", KEY, "\r\nContent-Length: 2\r\n\r\nok"],
        &["HTTP/1.1 200 OK\r\n\r\nyou said ", first, second, " to me"],
        &[
            "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nyou said ",
            first,
            second,
            " to me",
        ],
    ];
    for parts in ways {
        let stand = Stand::new(&[], house.caps());
        let client = stand.say(format!("{POST}\r\n").as_bytes());
        let mut far = house.receive(&stand);
        head(&mut far);
        for part in parts {
            say(&mut far, part.as_bytes());
        }
        let got = String::from_utf8(rest(&client)).unwrap();
        assert!(!got.contains(first) && !got.ends_with("0\r\n\r\n"), "{got}");
        assert_eq!(stand.rows(), [row("model.test", "key_in_answer")]);
    }
}

#[test]
fn an_answer_that_breaks_off_is_not_passed_off_as_whole() {
    let Some(house) = House::of("model.test") else { return };
    for (said, is_polite) in [
        ("HTTP/1.1 200 OK\r\n\r\nhalf", false),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            true,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf", true),
    ] {
        let stand = Stand::new(&[], house.caps());
        let client = stand.say(format!("{POST}\r\n").as_bytes());
        let mut far = house.receive(&stand);
        head(&mut far);
        say(&mut far, said.as_bytes());
        if is_polite {
            close(far);
        } else {
            // Cut: no word of TLS that it is over.
            hang_up(&far.sock);
        }
        let got = String::from_utf8(rest(&client)).unwrap();
        assert!(got.contains("half") && !got.ends_with("0\r\n\r\n"), "{got}");
        assert_eq!(stand.rows(), [row("model.test", "unreachable")]);
    }
}

#[test]
fn the_caps_hold_for_the_gateway_too() {
    let Some(house) = House::of("model.test") else { return };
    let stand = Stand::new(
        &[],
        Egress {
            bytes_max: 1_000,
            ..house.caps()
        },
    );
    let client = stand.say(format!("{POST}\r\n").as_bytes());
    let mut far = house.receive(&stand);
    head(&mut far);
    let long = "x".repeat(2_000);
    say(
        &mut far,
        format!("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{long}").as_bytes(),
    );
    stand.over();
    assert!(!String::from_utf8(rest(&client)).unwrap().contains("xxx"));
    assert_eq!(stand.proxy.capped(), Some("bytes"));
}

#[test]
fn a_client_that_goes_away_ends_its_request() {
    let Some(house) = House::of("model.test") else { return };
    let stand = Stand::new(&[], house.caps());
    let client = stand.say(format!("{POST}\r\n").as_bytes());
    let mut far = house.receive(&stand);
    head(&mut far);
    drop(client);
    // The model hears of it, though it has said nothing yet.
    let heard = far.read(&mut [0]).map_err(|error| error.kind());
    let ends = [Ok(0), Err(ErrorKind::UnexpectedEof), Err(ErrorKind::ConnectionReset)];
    assert!(ends.contains(&heard), "{heard:?}");
    drop(stand);
}

#[test]
fn a_gateway_that_believes_nobody_serves_nobody() {
    let Some(house) = House::of("model.test") else { return };
    let serve = |spoil: fn(&mut Gateway)| {
        let mut egress = house.caps();
        let gateway = egress.gateway.as_mut().unwrap();
        gateway.entries = vec!["U=https://model.test".to_owned()];
        spoil(gateway);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        super::super::Proxy::serve(listener, &egress, Box::new(super::super::SystemResolver)).is_ok()
    };
    assert!(serve(|_| {}));
    assert!(!serve(|gateway| gateway.ca = Some("/absent.pem".into())));
    assert!(!serve(|gateway| fs::write(
        gateway.ca.as_ref().unwrap(),
        "no certificate"
    )
    .unwrap()));
    assert!(!serve(|gateway| gateway.entries.clear()));
    assert!(!serve(|gateway| gateway
        .entries
        .push("V=https://other.test".to_owned())));
    assert!(!serve(
        |gateway| gateway.bears.as_mut().unwrap().key = "two\r\nlines".to_owned()
    ));
    assert!(!serve(
        |gateway| gateway.bears.as_mut().unwrap().header = "host".to_owned()
    ));
}

//! Plain HTTP to a place that is listed for it, and to no other.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};

use super::stand::{Stand, WORLD, hang_up, rest, roomy, row, status, take};
use crate::zone::plan::Egress;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A far side that is listed for plain HTTP as `mirror.test`.
fn mirror(caps: Egress) -> Stand {
    let stand = Stand::new(&["http://mirror.test:PORT"], caps);
    stand.knows("mirror.test", &[WORLD]);
    stand
}

fn say(stand: &Stand, text: &str) -> TcpStream {
    stand.say(text.replace("PORT", &stand.port().to_string()).as_bytes())
}

/// Everything up to an empty line.
fn head(far: &TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.extend(take(far, 1));
    }
    String::from_utf8(head).unwrap()
}

const GET: &str = "GET http://mirror.test:PORT/simple/?q=1 HTTP/1.1\r\nHost: mirror.test:PORT\r\n";

#[test]
fn a_plain_request_reaches_its_place_and_what_follows_it_on_its_connection_reaches_nobody() {
    let stand = mirror(roomy());
    let next = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    let client = say(
        &stand,
        &format!("{GET}Proxy-Connection: keep-alive\r\nContent-Length: 3\r\n\r\nask{next}"),
    );
    let far = stand.accept();
    let port = stand.port();
    assert_eq!(
        head(&far),
        format!(
            "GET /simple/?q=1 HTTP/1.1\r\nhost: mirror.test:{port}\r\ncontent-length: 3\r\nconnection: close\r\n\r\n"
        )
    );
    assert_eq!(take(&far, 3), b"ask");
    (&far).write_all(b"HTTP/1.0 200 OK\r\n\r\nall").unwrap();
    assert_eq!(status(&client), "200");
    assert_eq!(take(&client, 8), b"3\r\nall\r\n");
    hang_up(&far);
    assert_eq!(rest(&client), b"0\r\n\r\n");
    assert_eq!((rest(&far), stand.asked()), (Vec::new(), 1));
    let (rows, is_dialled) = stand.finish();
    assert!(!is_dialled && rows.len() == 1, "{rows:?}");
    assert_eq!(
        (rows[0].host.as_str(), rows[0].port, rows[0].allowed),
        ("mirror.test", port, true)
    );
    assert!(rows[0].bytes_out > 80 && rows[0].bytes_in > 50, "{rows:?}");
}

#[test]
fn whatever_is_not_one_plain_request_to_a_listed_place_reaches_nobody() {
    let stand = mirror(roomy());
    let get = |line: &str, host: &str| format!("GET {line} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let hostile = [
        (get("http://evil.test:PORT/", "evil.test:PORT"), "403"),
        (get("http://mirror.test/", "mirror.test"), "403"),
        (get("http://model.test:PORT/", "model.test:PORT"), "403"),
        (get("http://127.0.0.2:PORT/", "127.0.0.2:PORT"), "403"),
        (get("http://a.mirror.test:PORT/", "a.mirror.test:PORT"), "403"),
        (get("http://169.254.169.254/", "169.254.169.254"), "403"),
        (get("http://mirror.test:PORT/", "evil.test"), "400"),
        (get("http://evil.test/", "mirror.test:PORT"), "400"),
        (get("http://mirror.test:PORT@evil.test/", "evil.test"), "400"),
        (get("http://u:p@mirror.test:PORT/", "mirror.test:PORT"), "400"),
        (get("https://mirror.test:PORT/", "mirror.test:PORT"), "400"),
        (get("/", "mirror.test:PORT"), "400"),
        (get("http://mirror.test:PORT/#a", "mirror.test:PORT"), "400"),
        (format!("{GET}Host: evil.test\r\n\r\n"), "400"),
        (
            format!("{GET}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "400",
        ),
        (format!("{GET}A: b\r\n folded\r\n\r\n"), "400"),
        (format!("{GET}A: b\nX: y\r\n\r\n"), "400"),
        ("GET http://mirror.test:PORT/ HTTP/1.0\r\n\r\n".to_owned(), "400"),
    ];
    for (text, answer) in &hostile {
        assert_eq!(status(&say(&stand, text)), *answer, "{text}");
    }
    // What is listed for one way of speaking is not for the other.
    assert_eq!(stand.ask("mirror.test:PORT").1, "403");
    assert_eq!(stand.asked(), 0);
    let (rows, is_dialled) = stand.finish();
    assert!(!is_dialled && rows.iter().all(|row| !row.allowed), "{rows:?}");
    assert_eq!(rows.iter().map(|row| row.connections).sum::<u32>(), 19);
    let told = |reason: &str| {
        rows.iter()
            .filter(|row| row.reason == reason)
            .map(|row| row.connections)
            .sum::<u32>()
    };
    assert_eq!(
        (told("plain_not_listed"), told("malformed"), told("not_listed")),
        (6, 12, 1)
    );
}

#[test]
fn a_credential_goes_to_no_public_address_in_plain_http() {
    let near = TcpListener::bind((HERE, 0)).unwrap();
    let port = near.local_addr().unwrap().port();
    let stand = Stand::new(
        &["http://mirror.test:PORT", &format!("local:http://box.test:{port}")],
        roomy(),
    );
    stand.knows("mirror.test", &[WORLD]);
    // Of the two addresses it may have, only the private one.
    stand.knows("box.test", &[WORLD, HERE]);
    for field in ["Authorization: Bearer x", "cookie: x", "X_Api_Key: x"] {
        let client = say(&stand, &format!("{GET}{field}\r\n\r\n"));
        assert_eq!(status(&client), "403", "{field}");
    }
    assert!(!stand.is_dialled());
    let get = format!("GET http://box.test:{port}/ HTTP/1.1\r\nHost: box.test:{port}\r\n");
    let _client = stand.say(format!("{get}Authorization: Bearer x\r\n\r\n").as_bytes());
    let (far, _) = near.accept().unwrap();
    assert!(head(&far).contains("\r\nAuthorization: Bearer x\r\n"));
    drop(far);
    let (rows, is_dialled) = stand.finish();
    assert!(!is_dialled, "{rows:?}");
    let refused: Vec<_> = rows.iter().filter(|row| row.reason == "secret_in_plain").collect();
    assert_eq!(
        (refused.len(), refused[0].connections, &*refused[0].host),
        (1, 3, "mirror.test")
    );
}

#[test]
fn a_place_of_plain_http_at_an_address_it_may_not_have_is_403() {
    let stand = Stand::new(&["http://mirror.test:PORT", "local:http://box.test:80"], roomy());
    stand.knows("mirror.test", &[HERE]);
    stand.knows("box.test", &[IpAddr::from([169, 254, 169, 254])]);
    assert_eq!(status(&say(&stand, &format!("{GET}\r\n"))), "403");
    let client = say(&stand, "GET http://box.test/latest HTTP/1.1\r\nHost: box.test\r\n\r\n");
    assert_eq!(status(&client), "403");
    assert_eq!(
        stand.rows(),
        [row("box.test", "private"), row("mirror.test", "private")]
    );
}

#[test]
fn the_caps_hold_for_plain_http_and_an_answer_that_breaks_off_is_not_passed_off_as_whole() {
    let stand = mirror(roomy());
    let client = say(&stand, &format!("{GET}\r\n"));
    let far = stand.accept();
    head(&far);
    (&far)
        .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        .unwrap();
    hang_up(&far);
    let got = String::from_utf8(rest(&client)).unwrap();
    assert!(got.contains("half") && !got.ends_with("0\r\n\r\n"), "{got}");
    assert_eq!(stand.rows(), [row("mirror.test", "unreachable")]);

    let stand = mirror(Egress {
        bytes_max: 1_000,
        ..roomy()
    });
    let client = say(&stand, &format!("{GET}\r\n"));
    let far = stand.accept();
    head(&far);
    let long = "x".repeat(2_000);
    (&far)
        .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{long}").as_bytes())
        .unwrap();
    stand.over();
    assert!(!String::from_utf8(rest(&client)).unwrap().contains("xxx"));
    assert_eq!(stand.proxy.capped(), Some("bytes"));
}

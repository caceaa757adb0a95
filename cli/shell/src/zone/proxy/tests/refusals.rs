//! What is refused, with which answer and which reason, and that nobody is reached by it.

use std::io::Write;
use std::net::{IpAddr, TcpListener};

use super::client::{hello, hello_with, names};
use super::stand::{Stand, WORLD, hang_up, rest, roomy, row, status};
use crate::zone::plan::Egress;

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_host_that_is_not_listed_is_403_and_never_looked_up() {
    let stand = Stand::new(&[], roomy());
    stand.knows("evil.test", &[WORLD]);
    let (client, status) = stand.ask("evil.test:443");
    let said = String::from_utf8(rest(&client)).unwrap();
    assert_eq!((status.as_str(), stand.asked()), ("403", 0));
    assert!(said.contains("evil.test:443 is not on the allow list"), "{said}");
    assert_eq!(stand.rows(), [row("evil.test", "not_listed")]);
}

#[test]
fn another_spelling_of_a_listed_host_is_the_host_and_another_port_is_not() {
    let stand = Stand::new(&[], roomy());
    assert_eq!(stand.ask("MODEL.TEST.:PORT").1, "200");
    assert_eq!(stand.ask("model.test:22").1, "403");
    assert_eq!(stand.ask("model.test").1, "400");
    let (rows, _) = stand.finish();
    let refused: Vec<_> = rows.iter().map(|row| (&*row.host, row.port, &*row.reason)).collect();
    assert!(refused.contains(&("model.test", 22, "not_listed")), "{refused:?}");
    assert!(refused.contains(&("model.test", 0, "malformed")), "{refused:?}");
}

#[test]
fn an_address_is_403_in_every_spelling() {
    let stand = Stand::new(&["*.model.test:PORT"], roomy());
    let spellings = [
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.2",
        "169.254.169.254",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ];
    for host in spellings {
        assert_eq!(stand.ask(&format!("{host}:PORT")).1, "403", "{host}");
    }
    assert_eq!(stand.ask("169.254.169.254:80").1, "403");
    assert_eq!(stand.asked(), 0);
    let (rows, is_dialled) = stand.finish();
    assert!(rows.iter().all(|row| row.reason == "not_listed") && !is_dialled);
}

#[test]
fn a_listed_name_at_an_address_that_is_not_public_is_403() {
    let stand = Stand::new(&[], roomy());
    let hidden = [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "::ffff:127.0.0.2",
        "64:ff9b::7f00:2",
        "2002:7f00:2::",
    ];
    for address in hidden {
        stand.knows("model.test", &addresses(&[address]));
        assert_eq!(stand.ask("model.test:PORT").1, "403", "{address}");
    }
    let (rows, is_dialled) = stand.finish();
    assert_eq!((rows.len(), &*rows[0].reason, rows[0].connections), (1, "private", 10));
    assert!(!is_dialled);
}

#[test]
fn of_several_addresses_only_a_public_one_is_dialled() {
    let stand = Stand::new(&[], roomy());
    // Something listens at the same port of this machine, and would be met first.
    let private = TcpListener::bind(("127.0.0.1", stand.port())).unwrap();
    stand.knows("model.test", &[addresses(&["127.0.0.1"])[0], WORLD]);
    drop(stand.tunnel());
    private.set_nonblocking(true).unwrap();
    assert!(private.accept().is_err());
    assert_eq!(stand.rows(), [row("model.test", "")]);
}

#[test]
fn metadata_is_403_for_an_entry_that_says_local_too() {
    let stand = Stand::new(&["local:box.test:80"], roomy());
    stand.knows("box.test", &addresses(&["169.254.169.254", "fd00:ec2::254"]));
    assert_eq!(stand.ask("box.test:80").1, "403");
    assert_eq!(stand.rows(), [row("box.test", "private")]);
}

#[test]
fn a_hello_that_means_somebody_else_ends_the_connection() {
    let stand = Stand::new(&["*.model.test:PORT"], roomy());
    let others = [
        hello(Some("evil.test")),
        hello(Some("a.model.test")),
        hello(Some("127.0.0.2")),
        hello(None),
        hello_with(&names(&["model.test", "evil.test"])),
    ];
    for said in &others {
        let (client, status) = stand.ask("model.test:PORT");
        assert_eq!(status, "200");
        (&client).write_all(said).unwrap();
        assert_eq!(rest(&client), b"");
    }
    let (rows, is_dialled) = stand.finish();
    assert_eq!((rows.len(), &*rows[0].reason, rows[0].connections), (1, "sni", 5));
    assert_eq!((rows[0].bytes_in, rows[0].bytes_out), (0, 0));
    assert!(!is_dialled);
}

#[test]
fn what_is_not_tls_ends_the_connection() {
    let stand = Stand::new(&[], roomy());
    for said in ["SSH-2.0-x\r\n", "GET / HTTP/1.1\r\n\r\n", "\u{16}SSH-2.0-x---"] {
        let (client, status) = stand.ask("model.test:PORT");
        assert_eq!(status, "200");
        (&client).write_all(said.as_bytes()).unwrap();
        assert_eq!(rest(&client), b"", "{said:?}");
    }
    let (client, _) = stand.ask("model.test:PORT");
    hang_up(&client);
    assert_eq!(rest(&client), b"");
    let (rows, is_dialled) = stand.finish();
    assert_eq!((rows.len(), &*rows[0].reason, rows[0].connections), (1, "not_tls", 4));
    assert!(!is_dialled);
}

#[test]
fn whatever_is_not_connect_is_400() {
    let stand = Stand::new(&[], roomy());
    let long = format!("CONNECT model.test:443 HTTP/1.1\r\nA: {}", "x".repeat(9_000));
    let said: [&[u8]; 7] = [
        b"GET http://model.test/ HTTP/1.1\r\nHost: model.test\r\n\r\n",
        b"POST / HTTP/1.1\r\n\r\n",
        b"\x05\x01\x00",
        b"\x04\x01\x01\xbb\x7f\x00\x00\x02\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        b"CONNECT m\0odel.test:443 HTTP/1.1\r\n\r\n",
        long.as_bytes(),
    ];
    for bytes in said {
        let client = stand.say(bytes);
        assert_eq!(status(&client), "400", "{}", bytes.escape_ascii());
        rest(&client);
    }
    let (rows, is_dialled) = stand.finish();
    assert!(rows.iter().all(|row| row.reason == "malformed" && !row.allowed) && !is_dialled);
    assert_eq!(rows.iter().map(|row| row.connections).sum::<u32>(), 7);
}

#[test]
fn a_name_that_nobody_knows_is_502() {
    let stand = Stand::new(&["gone.test:443"], roomy());
    assert_eq!(stand.ask("gone.test:443").1, "502");
    assert_eq!(stand.rows(), [row("gone.test", "unreachable")]);
}

#[test]
fn a_far_side_that_does_not_answer_ends_the_connection() {
    let stand = Stand::new(&["model.test:1"], roomy());
    let (client, status) = stand.ask("model.test:1");
    assert_eq!(status, "200");
    (&client).write_all(&hello(Some("model.test"))).unwrap();
    assert_eq!(rest(&client), b"");
    assert_eq!(stand.rows(), [row("model.test", "unreachable")]);
}

#[test]
fn a_client_that_does_not_speak_is_let_go() {
    let stand = Stand::new(
        &[],
        Egress {
            idle_ms: 1_000,
            ..roomy()
        },
    );
    let silent = stand.knock();
    assert_eq!(status(&silent), "400");
    let half = stand.say(b"CONNECT model.te");
    assert_eq!(status(&half), "400");
    let (client, status) = stand.ask("model.test:PORT");
    assert_eq!(status, "200");
    assert_eq!(rest(&client), b"");
    assert!(!stand.is_over());
    let (rows, is_dialled) = stand.finish();
    let reasons: Vec<_> = rows
        .iter()
        .map(|row| (&*row.host, &*row.reason, row.connections))
        .collect();
    assert_eq!(reasons, [("", "malformed", 2), ("model.test", "not_tls", 1)]);
    assert!(!is_dialled);
}

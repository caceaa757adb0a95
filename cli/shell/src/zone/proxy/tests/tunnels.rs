//! What passes, and that it passes whole.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use super::client::hello;
use super::stand::{Stand, WORLD, hang_up, rest, roomy, row, status, take};
use crate::zone::plan::Egress;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn a_listed_host_is_reached_and_the_bytes_of_both_sides_are_counted() {
    let stand = Stand::new(&[], roomy());
    let (client, far) = stand.tunnel();
    (&client).write_all(b"ask").unwrap();
    assert_eq!(take(&far, 3), b"ask");
    (&far).write_all(b"answer").unwrap();
    assert_eq!(take(&client, 6), b"answer");
    let port = stand.port();
    let (rows, _) = stand.finish();
    let [only] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(
        (&*only.host, only.port, only.allowed, &*only.reason),
        ("model.test", port, true, "")
    );
    let hello = hello(Some("model.test")).len() as u64;
    assert_eq!((only.connections, only.bytes_in, only.bytes_out), (1, 6, hello + 3));
}

#[test]
fn a_wildcard_reaches_a_host_below_it() {
    let stand = Stand::new(&["*.model.test:PORT"], roomy());
    stand.knows("a.model.test", &[WORLD]);
    let (client, status) = stand.ask("a.model.test:PORT");
    assert_eq!(status, "200");
    let said = hello(Some("A.model.test"));
    (&client).write_all(&said).unwrap();
    assert_eq!(take(&stand.accept(), said.len()), said);
    assert_eq!(stand.rows(), [row("a.model.test", "")]);
}

#[test]
fn the_far_side_is_not_dialled_before_the_hello_is_complete() {
    let stand = Stand::new(&[], roomy());
    let (client, status) = stand.ask("model.test:PORT");
    assert_eq!(status, "200");
    let said = hello(Some("model.test"));
    let (start, end) = said.split_at(said.len() - 1);
    (&client).write_all(start).unwrap();
    assert!(!stand.is_dialled());
    (&client).write_all(end).unwrap();
    assert_eq!(take(&stand.accept(), said.len()), said);
}

#[test]
fn a_client_that_does_not_wait_for_the_answer_loses_nothing() {
    let stand = Stand::new(&[], roomy());
    let said = [&*hello(Some("model.test")), b"early"].concat();
    let head = format!("CONNECT model.test:{} HTTP/1.1\r\n\r\n", stand.port());
    let client = stand.say(&[head.as_bytes(), &said].concat());
    assert_eq!(take(&stand.accept(), said.len()), said);
    assert_eq!(status(&client), "200");
}

#[test]
fn a_name_is_looked_up_once_for_each_connection() {
    let stand = Stand::new(&[], roomy());
    drop(stand.tunnel());
    assert_eq!(stand.asked(), 1);
    drop(stand.tunnel());
    assert_eq!(stand.asked(), 2);
}

#[test]
fn a_side_that_has_ended_still_hears_the_other() {
    let stand = Stand::new(&[], roomy());
    let (client, far) = stand.tunnel();
    hang_up(&client);
    assert_eq!(rest(&far), b"");
    (&far).write_all(b"late").unwrap();
    hang_up(&far);
    assert_eq!(rest(&client), b"late");
    let (client, far) = stand.tunnel();
    hang_up(&far);
    assert_eq!(rest(&client), b"");
    (&client).write_all(b"late").unwrap();
    hang_up(&client);
    assert_eq!(rest(&far), b"late");
}

#[test]
fn what_the_far_side_said_before_it_broke_off_reaches_the_client() {
    let stand = Stand::new(&[], roomy());
    let (client, far) = stand.tunnel();
    (&client).write_all(b"more than it reads").unwrap();
    (&far).write_all(b"no").unwrap();
    drop(far);
    assert_eq!(take(&client, 2), b"no");
}

#[test]
fn a_tunnel_whose_far_side_broke_off_ends_when_the_client_speaks_on() {
    let stand = Stand::new(&[], roomy());
    let (client, far) = stand.tunnel();
    drop(far);
    let error = loop {
        if let Err(error) = (&client).write(&[0; 65_536]) {
            break error;
        }
    };
    assert!(
        matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset),
        "{error}"
    );
    assert!(!stand.is_over());
}

#[test]
fn much_passes_whole_both_ways_at_once_though_nobody_hurries_to_read() {
    let stand = Stand::new(&[], roomy());
    let (client, far) = stand.tunnel();
    let much = |seed: u32| -> Vec<u8> {
        (0..4_000_000u32)
            .map(|at| (at.wrapping_mul(seed) >> 13) as u8)
            .collect()
    };
    let write = |stream: &TcpStream, bytes: &[u8]| {
        (&mut &*stream).write_all(bytes).unwrap();
        hang_up(stream);
    };
    let (out, back) = (much(2_654_435_761), much(40_503));
    thread::scope(|scope| {
        // Both write before either reads: what does not fit into the sockets waits in the tunnel.
        let writers = [scope.spawn(|| write(&client, &out)), scope.spawn(|| write(&far, &back))];
        assert!(rest(&far) == out);
        assert!(rest(&client) == back);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let (rows, _) = stand.finish();
    let hello = hello(Some("model.test")).len() as u64;
    assert_eq!((rows[0].bytes_in, rows[0].bytes_out), (4_000_000, 4_000_000 + hello));
}

#[test]
fn a_tunnel_in_which_nobody_speaks_is_closed_and_nothing_else_is() {
    let stand = Stand::new(
        &[],
        Egress {
            idle_ms: 1_000,
            ..roomy()
        },
    );
    let (client, far) = stand.tunnel();
    assert_eq!((rest(&client), rest(&far)), (Vec::new(), Vec::new()));
    assert!(!stand.is_over());
    drop(stand.tunnel());
}

#[test]
fn a_local_host_is_spoken_to_in_plain_text() {
    let near = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = near.local_addr().unwrap().port();
    let entries = [format!("local:box.test:{port}"), format!("local:127.0.0.1:{port}")];
    let stand = Stand::new(&entries.each_ref().map(String::as_str), roomy());
    stand.knows("box.test", &[HERE]);
    for host in ["box.test", "127.0.0.1"] {
        let (client, status) = stand.ask(&format!("{host}:{port}"));
        assert_eq!(status, "200");
        (&client).write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let (far, _) = near.accept().unwrap();
        assert_eq!(take(&far, 18), b"GET / HTTP/1.1\r\n\r\n");
    }
    assert_eq!(stand.asked(), 1);
    assert_eq!(stand.rows(), [row("127.0.0.1", ""), row("box.test", "")]);
}

#[test]
fn a_local_host_that_is_spoken_to_in_tls_is_the_one_that_is_named() {
    let near = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = near.local_addr().unwrap().port();
    let entries = [format!("local:box.test:{port}"), format!("local:127.0.0.1:{port}")];
    let stand = Stand::new(&entries.each_ref().map(String::as_str), roomy());
    stand.knows("box.test", &[HERE]);
    let try_it = |host: &str, server: Option<&str>| {
        let (client, _) = stand.ask(&format!("{host}:{port}"));
        (&client).write_all(&hello(server)).unwrap();
        client
    };
    for (host, server) in [("box.test", Some("box.test")), ("127.0.0.1", None)] {
        let _client = try_it(host, server);
        near.accept().unwrap();
    }
    for (host, server) in [
        ("box.test", Some("evil.test")),
        ("box.test", None),
        ("127.0.0.1", Some("evil.test")),
    ] {
        assert_eq!(rest(&try_it(host, server)), b"", "{host} {server:?}");
    }
    near.set_nonblocking(true).unwrap();
    let (rows, _) = stand.finish();
    assert!(near.accept().is_err());
    assert_eq!(
        rows.iter()
            .filter(|row| row.reason == "sni")
            .map(|row| row.connections)
            .sum::<u32>(),
        3
    );
}

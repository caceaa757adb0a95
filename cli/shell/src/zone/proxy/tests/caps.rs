//! What is too much ends everything, at once and audibly.

use std::io::Write;

use super::super::Over;
use super::client::hello;
use super::stand::{Stand, rest, roomy, row, status, take};
use crate::zone::plan::Egress;

fn hello_length() -> u64 {
    hello(Some("model.test")).len() as u64
}

#[test]
fn bytes_of_both_directions_together_stop_at_the_cap() {
    let bytes_max = 2 * hello_length() + 10;
    let stand = Stand::new(&[], Egress { bytes_max, ..roomy() });
    let (bystander, _) = stand.tunnel();
    let (client, far) = stand.tunnel();
    (&client).write_all(b"12345").unwrap();
    assert_eq!(take(&far, 5), b"12345");
    (&far).write_all(b"67890").unwrap();
    assert_eq!(take(&client, 5), b"67890");
    assert!(!stand.is_over());
    (&client).write_all(b"x").unwrap();
    stand.over();
    assert_eq!(stand.proxy.capped(), Some("bytes"));
    assert_eq!(
        (rest(&far), rest(&client), rest(&bystander)),
        (Vec::new(), Vec::new(), Vec::new())
    );
    let (rows, _) = stand.finish();
    let brief: Vec<_> = rows
        .iter()
        .map(|row| (row.allowed, &*row.reason, row.connections))
        .collect();
    assert_eq!(brief, [(true, "", 1), (false, "cap", 1)]);
    assert_eq!(
        rows.iter().map(|row| row.bytes_in + row.bytes_out).sum::<u64>(),
        bytes_max
    );
}

#[test]
fn a_hello_beyond_the_cap_does_not_leave_either() {
    let stand = Stand::new(
        &[],
        Egress {
            bytes_max: hello_length() - 1,
            ..roomy()
        },
    );
    let (client, _) = stand.ask("model.test:PORT");
    (&client).write_all(&hello(Some("model.test"))).unwrap();
    stand.over();
    assert_eq!(rest(&stand.accept()), b"");
    assert_eq!(stand.rows(), [row("model.test", "cap")]);
}

#[test]
fn a_connection_beyond_the_cap_ends_all_of_them() {
    let stand = Stand::new(
        &[],
        Egress {
            connections_max: 2,
            ..roomy()
        },
    );
    let (client, far) = stand.tunnel();
    assert_eq!(stand.ask("evil.test:443").1, "403");
    assert!(!stand.is_over());
    let beyond = stand.knock();
    assert_eq!(status(&beyond), "503");
    stand.over();
    assert_eq!(
        (stand.proxy.capped(), stand.proxy.over()),
        (Some("connections"), Some(Over::Connections))
    );
    assert_eq!((rest(&client), rest(&far)), (Vec::new(), Vec::new()));
    assert_eq!(
        stand.rows(),
        [row("model.test", ""), row("", "cap"), row("evil.test", "not_listed")]
    );
}

#[test]
fn after_a_cap_nobody_is_let_in() {
    let stand = Stand::new(
        &[],
        Egress {
            connections_max: 0,
            ..roomy()
        },
    );
    drop(stand.knock());
    stand.over();
    assert!(!stand.is_served());
    assert_eq!(stand.rows(), [row("", "cap")]);
}

#[test]
fn more_at_once_than_may_be_are_turned_away_and_nothing_else_happens() {
    let stand = Stand::new(
        &[],
        Egress {
            concurrent_max: 1,
            ..roomy()
        },
    );
    let (client, far) = stand.tunnel();
    for _ in 0..3 {
        assert_eq!(status(&stand.knock()), "503");
    }
    (&client).write_all(b"still").unwrap();
    assert_eq!(take(&far, 5), b"still");
    assert!(!stand.is_over());
    let rows = stand.rows();
    assert_eq!((&rows[0], rows[1].3), (&row("model.test", ""), 3));
}

#[test]
fn a_tunnel_that_is_open_when_the_time_is_up_ends_the_proxy() {
    let stand = Stand::new(
        &[],
        Egress {
            total_ms: 3_000,
            ..roomy()
        },
    );
    let (client, far) = stand.tunnel();
    stand.over();
    assert_eq!(stand.proxy.capped(), Some("time"));
    assert_eq!((rest(&client), rest(&far)), (Vec::new(), Vec::new()));
    assert_eq!(stand.rows(), [row("model.test", "cap")]);
}

#[test]
fn a_connection_after_the_time_ends_the_proxy_and_the_time_alone_does_not() {
    let stand = Stand::new(&[], Egress { total_ms: 0, ..roomy() });
    assert!(!stand.is_over());
    let late = stand.knock();
    assert_eq!(status(&late), "503");
    stand.over();
    assert_eq!(stand.proxy.capped(), Some("time"));
    assert_eq!(stand.rows(), [row("", "cap")]);
}

#[test]
fn a_thousand_refusals_make_a_bounded_number_of_rows() {
    let stand = Stand::new(&[], roomy());
    drop(stand.tunnel());
    for number in 0..1_000 {
        assert_eq!(stand.ask(&format!("{number}.evil.test:443")).1, "403");
    }
    let (rows, _) = stand.finish();
    assert!(rows.len() <= 66, "{} rows", rows.len());
    assert_eq!(rows.iter().map(|row| row.connections).sum::<u32>(), 1_001);
    assert!(rows[0].allowed && rows[0].host == "model.test");
}

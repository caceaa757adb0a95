//! The end: nothing of a proxy outlives it, and a part that is lost is not missed in silence.

use std::io;
use std::io::Write;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::super::{AllowError, Over, Proxy, ProxyError, Resolve, SystemResolver};
use super::client::hello;
use super::stand::{BREAKING, Stand, rest, roomy, row};

/// Says that it was asked, and then hangs until its other end is dropped.
struct Hangs(Sender<()>, Receiver<()>);

impl Resolve for Hangs {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        self.0.send(()).unwrap();
        let _let_go = self.1.recv();
        Ok(Vec::new())
    }
}

struct Breaks;

impl Resolve for Breaks {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        panic!("on purpose")
    }
}

#[test]
fn no_thread_and_no_descriptor_outlives_the_end_whatever_they_are_at() {
    let stand = Stand::new(&[], roomy());
    let silent = stand.knock();
    let half = stand.say(b"CONNECT model.te");
    let (greeted, _) = stand.ask("model.test:PORT");
    let (hesitant, _) = stand.ask("model.test:PORT");
    (&hesitant).write_all(&hello(Some("model.test"))[..20]).unwrap();
    let (client, far) = stand.tunnel();
    // Each thread shares the room, and what it does not let go of stays open.
    let room = Arc::downgrade(&stand.proxy.room);
    assert!(room.strong_count() > 5);
    let mut nowhere = [row("", "unreachable"), row("model.test", "unreachable")];
    nowhere.iter_mut().for_each(|row| row.3 = 2);
    let [first, second] = nowhere;
    assert_eq!(stand.rows(), [row("model.test", ""), first, second]);
    assert_eq!(room.strong_count(), 0);
    for stream in [&silent, &half, &greeted, &hesitant, &client, &far] {
        assert_eq!(rest(stream), b"");
    }
}

#[test]
fn a_tunnel_that_nobody_reads_from_does_not_hold_up_the_end() {
    let stand = Stand::new(&[], roomy());
    let (client, far) = stand.tunnel();
    client.set_nonblocking(true).unwrap();
    while (&client).write(&[0; 65_536]).is_ok() {}
    let room = Arc::downgrade(&stand.proxy.room);
    assert_eq!(stand.rows(), [row("model.test", "")]);
    assert_eq!(room.strong_count(), 0);
    drop(far);
}

#[test]
fn a_look_up_that_hangs_does_not_hold_up_the_end() {
    let (asks, asked) = bounded(1);
    let (let_go, held) = bounded(0);
    let stand = Stand::with(&[], roomy(), Box::new(Hangs(asks, held)));
    let client = stand.say(format!("CONNECT model.test:{} HTTP/1.1\r\n\r\n", stand.port()).as_bytes());
    asked.recv().unwrap();
    let room = Arc::downgrade(&stand.proxy.room);
    assert_eq!(stand.rows(), [row("model.test", "unreachable")]);
    assert_eq!(room.strong_count(), 0);
    assert_eq!(rest(&client), b"");
    drop(let_go);
}

#[test]
fn after_the_end_nobody_can_connect_though_the_listener_is_held_elsewhere() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let door = listener.local_addr().unwrap();
    let _inside = listener.try_clone().unwrap();
    let egress = crate::zone::plan::Egress {
        allow: vec!["model.test:443".to_owned()],
        ..roomy()
    };
    let proxy = Proxy::serve(listener, &egress, Box::new(SystemResolver)).unwrap();
    TcpStream::connect(door).unwrap();
    drop(proxy);
    assert!(TcpStream::connect(door).is_err());
}

#[test]
fn what_happened_stays_known_once_it_is_closed() {
    let mut stand = Stand::new(&[], roomy());
    drop(stand.tunnel());
    stand.proxy.close();
    stand.proxy.close();
    assert!(stand.is_over());
    assert_eq!((stand.proxy.over(), stand.proxy.capped()), (None, None));
    assert_eq!(stand.rows(), [row("model.test", "")]);
}

#[test]
fn a_look_up_that_is_lost_ends_everything() {
    let stand = Stand::with(&[], roomy(), Box::new(Breaks));
    loses(&stand);
}

#[test]
fn a_connection_that_is_lost_ends_everything() {
    let stand = Stand::new(&[], roomy());
    let (client, far) = stand.tunnel();
    stand.knows("model.test", &[BREAKING]);
    loses(&stand);
    assert_eq!((rest(&client), rest(&far)), (Vec::new(), Vec::new()));
}

fn loses(stand: &Stand) {
    let client = stand.say(format!("CONNECT model.test:{} HTTP/1.1\r\n\r\n", stand.port()).as_bytes());
    stand.over();
    assert_eq!((stand.proxy.over(), stand.proxy.capped()), (Some(Over::Lost), None));
    assert_eq!(rest(&client), b"");
    assert!(!stand.is_served());
}

#[test]
fn a_list_that_is_empty_or_wrong_serves_nobody() {
    let serve = |allow: &[&str]| {
        let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let door = listener.local_addr().unwrap();
        let egress = crate::zone::plan::Egress { allow, ..roomy() };
        let refused = Proxy::serve(listener, &egress, Box::new(SystemResolver)).unwrap_err();
        assert!(TcpStream::connect(door).is_err());
        refused
    };
    assert!(matches!(serve(&[]), ProxyError::Allow(AllowError::Empty)));
    let wrong = serve(&["model.test:443", "*.com:443"]);
    assert!(matches!(wrong, ProxyError::Allow(AllowError::Entry { .. })));
    assert!(wrong.to_string().contains("`*.com:443`"), "{wrong}");
}

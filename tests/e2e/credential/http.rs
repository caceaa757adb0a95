//! A provider behind HTTP on this machine: the key opens a door while the work runs, and no longer.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::Scene;
use crate::support::{Sleeper, wait_until};

/// Good keys by label.
type Keys = Arc<Mutex<BTreeMap<String, String>>>;

/// What mint and revoke do, with nothing but Python's own library.
const CLIENT: &str = "import sys, urllib.request as u\n\
    sys.stdout.buffer.write(u.urlopen(sys.argv[1], data=sys.stdin.buffer.read()).read())\n";

fn serve(listener: TcpListener, keys: Keys) {
    for stream in listener.incoming().flatten() {
        answer(stream, &keys);
    }
}

fn answer(mut stream: TcpStream, keys: &Keys) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut length, mut key) = (String::new(), 0, String::new());
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => key = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let asked: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let label = asked["label"].as_str().unwrap_or_default().to_owned();
    let mut keys = keys.lock().unwrap();
    let (status, said) = match first.split(' ').nth(1) {
        Some("/mint") => {
            let secret = format!("sk-{label}");
            keys.insert(label, secret.clone());
            let said = serde_json::json!({"id": "1", "secret": secret, "expires": 1_893_456_000});
            ("200 OK", said.to_string())
        }
        Some("/revoke") => {
            keys.remove(&label);
            ("200 OK", String::new())
        }
        _ if keys.values().any(|known| *known == key) => ("200 OK", String::new()),
        _ => ("401 Unauthorized", String::new()),
    };
    let length = said.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{said}"
    )
    .unwrap();
}

/// The status with which the provider answers whoever has this key.
fn status(port: u16, key: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET /use HTTP/1.1\r\nAuthorization: {key}\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_key_opens_its_door_while_the_work_runs_and_no_longer() {
    let Some(scene) = Scene::new() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let keys = Keys::default();
    let theirs = Arc::clone(&keys);
    std::thread::spawn(move || serve(listener, theirs));
    let client = scene.project.home.join("client.py");
    fs::write(&client, CLIENT).unwrap();
    let [mint, revoke] =
        ["mint", "revoke"].map(|verb| format!("python3 '{}' http://127.0.0.1:{port}/{verb}", client.display()));

    for killed in [false, true] {
        let sleeper = Sleeper::new();
        let running = scene.start(sleeper.command(), &["--mint-cmd", &mint, "--revoke-cmd", &revoke]);
        wait_until("the work is at it", || sleeper.is_up());
        let good: Vec<String> = keys.lock().unwrap().values().cloned().collect();
        assert_eq!(good.len(), 1);
        assert_eq!(status(port, &good[0]), "200");
        if killed {
            running.kill();
            wait_until("the reaper has revoked the key", || status(port, &good[0]) == "401");
        } else {
            running.signal(rustix::process::Signal::TERM);
            running.end();
            assert_eq!(status(port, &good[0]), "401");
        }
    }
}

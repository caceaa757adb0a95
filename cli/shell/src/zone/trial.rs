//! What must not be possible in a zone, tried from inside of it (SPEC 14.6.2): the init's program once more, as the command.
//!
//! Outside of a zone every one of these tries succeeds, which is what they are tested by.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use rustix::time::{ClockId, Timespec, clock_settime};

use super::{INIT, INIT_AT};

/// The word after the hidden one.
pub(super) const TRY: &str = "try";

/// A file of the host's, a process, and a listener: each in a variable of its own.
const FILES: &str = "TRY_FILES";
const PROCESS: &str = "TRY_PROCESS";
const DECOY: &str = "TRY_DECOY";

/// An address that is nobody's: who has a route sends to it and hears nothing.
const NOBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
/// A name that nobody can list: it does not exist.
const UNLISTED: &str = "loopexec.invalid:443";
const LIMIT: Duration = Duration::from_secs(2);
const ANSWER_MAX_BYTES: u64 = 64;

type Variables = Vec<(OsString, OsString)>;

/// What is there outside, for as long as the zone runs.
#[derive(Debug)]
pub(super) struct Bait {
    _decoy: TcpListener,
    env: Variables,
}

impl Bait {
    /// `files` are of the host and in no plan.
    pub(super) fn lay(files: &[PathBuf]) -> io::Result<Self> {
        let decoy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = decoy.local_addr()?.port();
        let process = std::process::id();
        let env = vec![
            (FILES.into(), std::env::join_paths(files).map_err(io::Error::other)?),
            (PROCESS.into(), format!("{process}:{}", identity(process)?).into()),
            (DECOY.into(), port.to_string().into()),
        ];
        Ok(Self { _decoy: decoy, env })
    }

    pub(super) fn variables(&self) -> Variables {
        self.env.clone()
    }
}

/// The command of a zone that tries.
pub(super) fn command() -> Vec<OsString> {
    [INIT_AT, INIT, TRY].map(OsString::from).to_vec()
}

/// Tries all of it, says what was possible, a line each, and ends well where nothing was.
pub(super) fn from_inside() -> ExitCode {
    let reached = reached(|name| std::env::var_os(name));
    let mut out = io::stdout();
    let told = reached.iter().try_for_each(|what| writeln!(out, "{what}"));
    if reached.is_empty() && told.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn reached(said: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
    let text = |name: &str| said(name).and_then(|value| value.into_string().ok());
    let mut reached = Vec::new();
    let files = said(FILES).unwrap_or_default();
    for file in std::env::split_paths(&files).filter(|file| is_readable(file)) {
        reached.push(format!("{} of this machine can be read", file.display()));
    }
    let process = text(PROCESS).unwrap_or_default();
    if let Some((process, known)) = process.split_once(':')
        && process
            .parse()
            .is_ok_and(|process| identity(process).is_ok_and(|found| found == known))
    {
        reached.push("processes of this machine are seen".to_owned());
    }
    if process
        .split_once(':')
        .is_some_and(|(process, known)| is_reached_by_signals(process, known))
    {
        reached.push("the governor can be signalled".to_owned());
    }
    if can_ask_to_set_the_clock() {
        reached.push("the call that sets the clock of this machine is let through".to_owned());
    }
    let decoy = text(DECOY).and_then(|port| port.parse::<u16>().ok());
    if decoy.is_some_and(|port| TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), LIMIT).is_ok()) {
        reached.push("a listener of this machine's loopback answers".to_owned());
    }
    if has_a_route() {
        reached.push("there is a way to the network".to_owned());
    }
    match text("HTTPS_PROXY").map(|proxy| asked(&proxy)) {
        Some(Ok(status)) if status.contains(" 403 ") => {}
        Some(answer) => reached.push(format!(
            "the proxy does not refuse {UNLISTED}, which is on no list: {answer:?}"
        )),
        None => {}
    }
    reached
}

fn is_readable(file: &Path) -> bool {
    !file.as_os_str().is_empty() && (File::open(file).is_ok() || fs::read_dir(file).is_ok())
}

/// No signal is sent. Another process of that number, one of the zone's own, is not who is meant.
fn is_reached_by_signals(process: &str, known: &str) -> bool {
    let number = process.parse::<i32>().ok().and_then(Pid::from_raw);
    let is_another = process
        .parse()
        .is_ok_and(|process| identity(process).is_ok_and(|found| found != known));
    number.is_some_and(|number| !is_another && test_kill_process(number).is_ok())
}

/// The kernel refuses such a time before it asks who sets it: any other answer comes from a filter.
fn can_ask_to_set_the_clock() -> bool {
    let never = Timespec { tv_sec: 0, tv_nsec: -1 };
    clock_settime(ClockId::Realtime, never) != Err(Errno::PERM)
}

/// When a process began: another one of the same number began at another time.
fn identity(process: u32) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let began = fields.split(' ').nth(19).ok_or(ErrorKind::InvalidData)?;
    Ok(began.to_owned())
}

fn has_a_route() -> bool {
    match TcpStream::connect_timeout(&NOBODY, LIMIT) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::PermissionDenied
        ),
    }
}

/// What the proxy says to a place that no list has.
fn asked(proxy: &str) -> io::Result<String> {
    let at = proxy.strip_prefix("http://").unwrap_or(proxy);
    let at: SocketAddr = at.parse().map_err(io::Error::other)?;
    let mut client = TcpStream::connect_timeout(&at, LIMIT)?;
    client.set_read_timeout(Some(LIMIT * 5))?;
    write!(client, "CONNECT {UNLISTED} HTTP/1.1\r\nHost: {UNLISTED}\r\n\r\n")?;
    let mut answer = Vec::new();
    client.take(ANSWER_MAX_BYTES).read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_in_no_zone_reaches_what_is_laid_out() {
        let room = tempfile::tempdir().unwrap();
        let file = room.path().join("canary");
        fs::write(&file, "x").unwrap();
        let bait = Bait::lay(&[file, room.path().to_path_buf(), room.path().join("absent")]).unwrap();
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", door.local_addr().unwrap());
        let lenient = std::thread::spawn(move || {
            let (mut client, _) = door.accept().unwrap();
            let mut head = [0; 80];
            let _read = client.read(&mut head).unwrap();
            client
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .unwrap();
        });
        let mut env = bait.variables();
        env.push(("HTTPS_PROXY".into(), proxy.into()));
        let reached = reached(|name| {
            env.iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        });
        lenient.join().unwrap();
        for what in [
            "canary of",
            "processes of",
            "governor can be signalled",
            "loopback answers",
            "the proxy does not refuse",
        ] {
            assert!(reached.iter().any(|line| line.contains(what)), "{what}: {reached:?}");
        }
        assert_eq!(
            reached.iter().filter(|line| line.contains("can be read")).count(),
            2,
            "{reached:?}"
        );
    }

    #[test]
    fn a_process_is_known_by_when_it_began() {
        let own = std::process::id();
        let known = identity(own).unwrap();
        assert!(identity(0).is_err());
        let of_processes = |process: String| {
            let reached = reached(|name| (name == PROCESS).then(|| process.clone().into()));
            let seen = |begins: &str| reached.iter().any(|line| line.starts_with(begins));
            assert_eq!(seen("processes"), seen("the governor"));
            seen("processes")
        };
        assert!(of_processes(format!("{own}:{known}")) && !of_processes(format!("{own}:0")));
    }
}

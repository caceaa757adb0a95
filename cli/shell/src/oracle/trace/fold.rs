//! From calls to what was reached: each process with its program and directory, each place held to those of the check.
//!
//! A file counts as read once it was opened for reading, under the name that the kernel gives it then: a link leads
//! nowhere else. What a run made itself outside is its own to read. Asking whether a file is there is no reading.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::rc::Rc;

use engine::event::candidate::{Reach, Reached, Trace};
use engine::hermetic::reach::Roots;

use super::line::{self, Call, Ended, Line};

/// Places that are named, of those written to and of all others: no number of the one hides the other. The rest is
/// counted.
const NAMED_MAX: usize = 16;
/// Places outside that a run made itself, as far as they are kept in mind.
const MADE_MAX: usize = 10_000;
/// Characters of a name.
const NAME_MAX: usize = 300;

/// What is known of a process.
#[derive(Clone)]
struct Process {
    program: Rc<str>,
    cwd: Rc<[u8]>,
    /// The call that it has begun.
    begun: Vec<u8>,
}

pub(super) struct Fold<'r> {
    roots: &'r Roots,
    cwd: Rc<[u8]>,
    processes: HashMap<u32, Process>,
    started: BTreeSet<u32>,
    /// Below these paths everything was made by the run; sockets that it bound stand among them.
    made: BTreeSet<Vec<u8>>,
    trace: Trace,
}

impl<'r> Fold<'r> {
    pub(super) fn new(roots: &'r Roots, cwd: &[u8]) -> Self {
        Self {
            roots,
            cwd: cwd.into(),
            processes: HashMap::new(),
            started: BTreeSet::new(),
            made: BTreeSet::new(),
            trace: Trace::default(),
        }
    }

    pub(super) fn unread(&mut self) {
        self.trace.unread += 1;
    }

    pub(super) fn line(&mut self, text: &[u8]) {
        match line::line(text) {
            None => self.unread(),
            Some((_, Line::Other)) => {}
            Some((pid, Line::Whole(text))) => self.whole(pid, text),
            Some((pid, Line::Unfinished(text))) => self.process(pid).begun = text.to_vec(),
            Some((pid, Line::Resumed(rest))) => {
                let mut text = std::mem::take(&mut self.process(pid).begun);
                if text.is_empty() {
                    return self.unread();
                }
                text.extend_from_slice(rest);
                self.whole(pid, &text);
            }
        }
    }

    /// What was begun and never ended counts as tried.
    pub(super) fn end(mut self) -> Trace {
        let begun = self.processes.iter().filter(|(_, process)| !process.begun.is_empty());
        let mut begun: Vec<(u32, Vec<u8>)> = begun.map(|(pid, process)| (*pid, process.begun.clone())).collect();
        begun.sort();
        for (pid, text) in begun {
            self.whole(pid, &text);
        }
        self.trace.processes = self.started.len() as u64;
        self.trace
    }

    /// The process; one that is new is like the parent that is making it.
    fn process(&mut self, pid: u32) -> &mut Process {
        let is_known = self.processes.contains_key(&pid);
        let new = if is_known { self.first() } else { self.made_by_parent() };
        self.processes.entry(pid).or_insert(new)
    }

    fn made_by_parent(&self) -> Process {
        let calls = ["vfork(", "fork(", "clone"].map(str::as_bytes);
        let is_making = |process: &&Process| calls.iter().any(|call| process.begun.starts_with(call));
        let parent = self.processes.values().find(is_making);
        parent.map_or_else(|| self.first(), Process::child)
    }

    fn first(&self) -> Process {
        Process {
            program: "the check".into(),
            cwd: Rc::clone(&self.cwd),
            begun: Vec::new(),
        }
    }

    fn whole(&mut self, pid: u32, text: &[u8]) {
        let Some(call) = line::call(text) else {
            return self.unread();
        };
        if let Some(cwd) = call.args.iter().find_map(|arg| arg.strip_prefix(b"AT_FDCWD"))
            && let Some(cwd) = line::annotated(cwd)
        {
            self.process(pid).cwd = cwd.into();
        }
        match call.name {
            b"open" | b"openat" | b"openat2" | b"creat" | b"open_by_handle_at" => self.opened(pid, &call),
            b"execve" | b"execveat" => self.executed(pid, &call),
            b"fork" | b"vfork" | b"clone" | b"clone3" => self.forked(pid, &call),
            b"connect" | b"sendto" | b"sendmsg" | b"sendmmsg" => self.connected(pid, &call),
            b"bind" => self.bound(pid, &call),
            b"mkdir" | b"mkdirat" | b"rename" | b"renameat" | b"renameat2" | b"link" | b"linkat" => {
                self.named(pid, &call)
            }
            b"getrandom" => self.trace.randomness += 1,
            b"time" | b"clock_gettime" | b"gettimeofday" => self.trace.clock += 1,
            _ => {}
        }
    }

    fn opened(&mut self, pid: u32, call: &Call<'_>) {
        let Ended::Value(_, at) = &call.ended else { return };
        let has = |flag: &str| {
            call.args
                .iter()
                .any(|arg| !arg.starts_with(b"\"") && mentions(arg, flag))
        };
        if has("O_PATH") {
            return;
        }
        let Some(path) = at.clone().or_else(|| self.path_of(pid, call)) else {
            return self.unread();
        };
        let makes = call.name == b"creat" || has("O_CREAT") && (has("O_EXCL") || has("O_TRUNC")) || has("O_TMPFILE");
        if let Some(source) = path.strip_prefix(b"/dev/") {
            self.trace.randomness += u64::from(source == b"urandom" || source == b"random");
        }
        let writes = call.name == b"creat" || has("O_WRONLY") || has("O_RDWR");
        let reads = call.name != b"creat" && !has("O_WRONLY");
        if self.is_near(&path) {
            return;
        }
        if makes {
            self.make(path.clone());
        }
        if reads && !self.is_made(&path) {
            self.reach(pid, Reach::Read, &path);
        } else if writes {
            self.reach(pid, Reach::Wrote, &path);
        }
    }

    fn executed(&mut self, pid: u32, call: &Call<'_>) {
        // One that fails tries the next directory of the search path.
        let Ended::Value(..) = call.ended else { return };
        let Some(path) = self.path_of(pid, call) else {
            return self.unread();
        };
        let before = Rc::clone(&self.process(pid).program);
        self.started.insert(pid);
        let real = std::fs::canonicalize(OsStr::from_bytes(&path));
        let real = real.map_or_else(|_| path.clone(), |real| real.into_os_string().into_vec());
        let outside = [&path, &real]
            .into_iter()
            .find(|path| !self.is_near(path) && !self.is_made(path));
        if let Some(outside) = outside {
            self.process(pid).program = before;
            self.reach(pid, Reach::Executed, &outside.clone());
        }
        self.process(pid).program = line::shown(&path).into();
    }

    fn forked(&mut self, pid: u32, call: &Call<'_>) {
        let Ended::Value(child, _) = call.ended else { return };
        let Ok(child) = u32::try_from(child) else { return };
        let own = self.process(pid).child();
        // A child that spoke before its parent knew of it has its own story by now.
        self.processes.entry(child).or_insert(own);
    }

    fn connected(&mut self, pid: u32, call: &Call<'_>) {
        // The first argument is what it is sent through.
        for arg in call.args.iter().skip(1) {
            for address in line::addresses(arg) {
                self.address(pid, call, address);
            }
        }
    }

    fn address(&mut self, pid: u32, call: &Call<'_>, address: &[u8]) {
        if address.starts_with(b"AF_UNIX") {
            let nobody = matches!(
                call.ended,
                Ended::Failed(b"ENOENT" | b"ECONNREFUSED" | b"EACCES" | b"ENOTDIR")
            );
            match socket(address).map(|path| self.absolute(pid, path)) {
                Some(path) if !nobody && !self.is_near(&path) && !self.is_made(&path) => {
                    self.reach(pid, Reach::Connected, &path);
                }
                _ => {}
            }
            return;
        }
        if [&b"AF_UNSPEC"[..], b"AF_NETLINK", b"AF_ALG"]
            .iter()
            .any(|own| address.starts_with(own))
        {
            return;
        }
        match internet(address) {
            Some((ip, port)) if self.roots.allow_address(ip, port) => {}
            Some((ip, port)) => {
                let place = std::net::SocketAddr::new(ip, port).to_string();
                self.reach(pid, Reach::Connected, place.as_bytes());
            }
            None => self.reach(pid, Reach::Connected, address),
        }
    }

    fn bound(&mut self, pid: u32, call: &Call<'_>) {
        let addresses = call.args.iter().skip(1).flat_map(|arg| line::addresses(arg));
        for path in addresses.filter_map(socket).collect::<Vec<_>>() {
            let path = self.absolute(pid, path);
            self.make(path);
        }
    }

    /// A directory that is made, or a file that gets another name, or one more.
    fn named(&mut self, pid: u32, call: &Call<'_>) {
        let Ended::Value(..) = call.ended else { return };
        let paths: Vec<Vec<u8>> = self.paths(pid, call);
        match (call.name, paths.as_slice()) {
            (b"mkdir" | b"mkdirat", [made, ..]) => self.make(made.clone()),
            (_, [from, to, ..]) if self.is_near(from) || self.is_made(from) => self.make(to.clone()),
            // What has a near name from now on could be read by that.
            (_, [from, _, ..]) => self.reach(pid, Reach::Read, from),
            _ => {}
        }
    }

    /// Every path among the arguments, each below the directory that stands before it.
    fn paths(&mut self, pid: u32, call: &Call<'_>) -> Vec<Vec<u8>> {
        let (mut found, mut dir) = (Vec::new(), None);
        for arg in &call.args {
            if let Some(path) = line::string(arg) {
                let path = match dir.take() {
                    Some(dir) => joined(dir, &path),
                    None => self.absolute(pid, path),
                };
                found.push(path);
            } else if let Some(at) = arg.iter().position(|byte| *byte == b'<') {
                dir = line::annotated(arg.get(at..).unwrap_or_default());
            }
        }
        found
    }

    fn path_of(&mut self, pid: u32, call: &Call<'_>) -> Option<Vec<u8>> {
        self.paths(pid, call).into_iter().next()
    }

    fn absolute(&mut self, pid: u32, path: Vec<u8>) -> Vec<u8> {
        if matches!(path.first(), Some(b'/' | b'@')) {
            return path;
        }
        joined(self.process(pid).cwd.to_vec(), &path)
    }

    /// Whether a path is one of the check's places, or leads to one, or tells of one of its own processes.
    fn is_near(&self, path: &[u8]) -> bool {
        if let Some(rest) = path.strip_prefix(b"/proc/") {
            let owner = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
            let number = std::str::from_utf8(owner)
                .ok()
                .and_then(|owner| owner.parse::<u32>().ok());
            return number.is_none_or(|number| self.processes.contains_key(&number));
        }
        self.roots.allow(path) || self.roots.leads_to_own(path)
    }

    fn make(&mut self, path: Vec<u8>) {
        if self.made.len() < MADE_MAX && !self.is_near(&path) {
            self.made.insert(path);
        }
    }

    fn is_made(&self, path: &[u8]) -> bool {
        let ends = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| at);
        let mut ends = ends.chain([path.len()]);
        !self.made.is_empty() && ends.any(|end| path.get(..end).is_some_and(|dir| self.made.contains(dir)))
    }

    fn named_like(&self, act: Reach) -> usize {
        let writes = |act: Reach| act == Reach::Wrote;
        let like = self
            .trace
            .reached
            .iter()
            .filter(|known| writes(known.act) == writes(act));
        like.count()
    }

    fn reach(&mut self, pid: u32, act: Reach, place: &[u8]) {
        let place: String = line::shown(place).chars().take(NAME_MAX).collect();
        let program: String = self.process(pid).program.chars().take(NAME_MAX).collect();
        let known = |known: &&mut Reached| known.act == act && known.place == place && known.program == program;
        if let Some(known) = self.trace.reached.iter_mut().find(known) {
            known.times += 1;
        } else if self.named_like(act) < NAMED_MAX {
            self.trace.reached.push(Reached {
                act,
                program,
                place,
                times: 1,
            });
        } else {
            self.trace.unnamed += 1;
        }
    }
}

impl Process {
    fn child(&self) -> Self {
        Self {
            begun: Vec::new(),
            ..self.clone()
        }
    }
}

/// Whether a word stands among flags.
fn mentions(arg: &[u8], flag: &str) -> bool {
    let words = arg.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    words.into_iter().any(|word| word == flag.as_bytes())
}

fn joined(mut dir: Vec<u8>, path: &[u8]) -> Vec<u8> {
    if path.first() == Some(&b'/') {
        return path.to_vec();
    }
    dir.push(b'/');
    dir.extend_from_slice(path);
    dir
}

/// The path of a socket; one that is no file begins with `@`.
fn socket(address: &[u8]) -> Option<Vec<u8>> {
    let path = line::after(address, b"sun_path=")?;
    match path.strip_prefix(b"@") {
        Some(name) => Some([b"@".to_vec(), line::string(name)?].concat()),
        None => line::string(path),
    }
}

fn internet(address: &[u8]) -> Option<(IpAddr, u16)> {
    let text = std::str::from_utf8(address).ok()?;
    let within = |before: &str, end: char| text.split_once(before)?.1.split_once(end).map(|(word, _)| word);
    let port = within("htons(", ')')?.parse().ok()?;
    let ip = match within("inet_addr(\"", '"') {
        Some(ip) => ip,
        None => within("inet_pton(AF_INET6, \"", '"')?,
    };
    Some((ip.parse().ok()?, port))
}

#[cfg(test)]
mod tests;

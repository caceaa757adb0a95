//! One start of the binary: signalled, waited for, and what it said.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{schema, wait_until};

/// A governor at work.
pub(crate) struct Running {
    child: Child,
    status: Option<ExitStatus>,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

/// What it came to.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Absent when a signal ended it.
    pub(crate) exit: Option<i32>,
    /// The one JSON object; null when the binary was killed before it said anything.
    pub(crate) json: Value,
    pub(crate) stderr: String,
}

impl Answer {
    pub(crate) fn text(&self, member: &str) -> &str {
        self.json[member].as_str().unwrap_or_default()
    }

    pub(crate) fn errors(&self) -> String {
        self.json["errors"].to_string()
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

impl Running {
    /// `child` was started with both of its streams piped.
    pub(crate) fn new(mut child: Child) -> Self {
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Self {
            child,
            status: None,
            stdout,
            stderr,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // Nothing has waited for it yet, so the number is still its own.
        kill_process(Pid::from_raw(self.pid() as i32).unwrap(), signal).unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().unwrap();
        }
        self.status.is_some()
    }

    /// Waits for the end; one that never comes fails the test.
    fn wait(&mut self) -> ExitStatus {
        let cell = std::cell::RefCell::new(&mut *self);
        wait_until("the end of loopexec", || cell.borrow_mut().has_ended());
        self.status.unwrap()
    }

    /// The exit code of one that nobody listened to.
    pub(crate) fn end_unheard(mut self) -> Option<i32> {
        self.wait().code()
    }

    /// Waits for the end, and for what was said.
    pub(crate) fn end(mut self) -> Answer {
        let status = self.wait();
        let read = |stream: Option<JoinHandle<Vec<u8>>>| stream.unwrap().join().unwrap();
        let stdout = String::from_utf8(read(self.stdout.take())).unwrap();
        let stderr = String::from_utf8_lossy(&read(self.stderr.take())).into_owned();
        assert!(!stderr.contains("panicked"), "{stderr}");
        let json = if status.signal().is_some() {
            Value::Null
        } else {
            let json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout:?} {stderr}"));
            schema::holds(&json);
            json
        };
        Answer {
            exit: status.code(),
            json,
            stderr,
        }
    }

    /// Ends the governor as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.status = Some(self.child.wait().unwrap());
    }
}

impl Drop for Running {
    /// A failed test leaves nothing running.
    fn drop(&mut self) {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

//! Where connections come in.

use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::Builder;

use rustix::event::PollFlags;
use rustix::net::{Shutdown, shutdown};

use super::bell::{NEVER, Over, Woken};
use super::ledger::{Passed, Reason};
use super::room::Room;
use super::visit::{self, answer};

/// Lets clients in until the bell rings; then nobody can connect any more, though others hold the listener too.
pub(super) fn keep(listener: &TcpListener, room: &Arc<Room>) {
    let _watch = room.bell.watch();
    while room.bell.wait(&[(listener.as_fd(), PollFlags::IN)], NEVER) == Woken::Ready {
        match listener.accept() {
            Ok((client, _)) => welcome(client, room),
            Err(error) if is_clients(error.kind()) => {}
            // No descriptors, no memory, no listener: a zone that cannot be served is not served half.
            Err(_) => room.bell.raise(Over::Lost),
        }
    }
    let _closed_already = shutdown(listener, Shutdown::Both);
}

fn is_clients(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}

fn welcome(client: TcpStream, room: &Arc<Room>) {
    if client.set_nonblocking(true).is_err() {
        return room.bell.raise(Over::Lost);
    }
    let place = if room.budget.admits() {
        room.budget.place()
    } else {
        None
    };
    let Some(place) = place else {
        room.ledger.note("", 0, Some(Reason::Cap), Passed::default());
        // What a new connection does not take at once it may miss.
        let _ = (&client).write(answer(Reason::Cap, "", 0, "").as_bytes());
        return;
    };
    let theirs = Arc::clone(room);
    let visitor = Builder::new()
        .name("egress".to_owned())
        .spawn(move || visit::receive(&client, place, &theirs));
    match visitor {
        Ok(visitor) => room.keep(visitor),
        Err(_) => room.bell.raise(Over::Lost),
    }
}

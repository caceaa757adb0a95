//! The way to an address that has been vetted: the address itself, never its name once more.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::bell::Woken;
use super::room::Room;
use crate::clock;

/// How long all attempts together may take.
const DIAL_LIMIT_MS: u64 = 10_000;
/// More addresses of one host are not tried.
const ADDRESSES_MAX: usize = 8;

/// Connects to the first of these that answers. The time is shared among them, so that one that swallows everything
/// leaves some to the next.
pub(super) fn dial(addresses: &[SocketAddr], room: &Room) -> Option<TcpStream> {
    let until = clock::mono_ms().saturating_add(DIAL_LIMIT_MS);
    let tried = &addresses[..addresses.len().min(ADDRESSES_MAX)];
    for (at, address) in tried.iter().enumerate() {
        let now = clock::mono_ms();
        let others = u64::try_from(tried.len() - at).unwrap_or(1);
        let share = now.saturating_add(until.saturating_sub(now) / others);
        if let Some(stream) = attempt(*address, room, share) {
            return Some(stream);
        }
    }
    None
}

fn attempt(address: SocketAddr, room: &Room, until_ms: u64) -> Option<TcpStream> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None).ok()?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            let woken = room.wait(&[(socket.as_fd(), PollFlags::OUT)], until_ms);
            if woken != Woken::Ready || sockopt::socket_error(&socket) != Ok(Ok(())) {
                return None;
            }
        }
        Err(_) => return None,
    }
    let stream = TcpStream::from(socket);
    let _slower_at_worst = stream.set_nodelay(true);
    Some(stream)
}

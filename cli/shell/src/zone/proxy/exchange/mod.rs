//! One request and its answer, from the client's first byte to the far side's last.
//!
//! ```text
//!   request ──┬─ a path ─────────> the gateway's host, in TLS, key added
//!             └─ http://host:port> listed so? vetted, bears nothing there ──> plain text
//! ```
//!
//! One connection is one request, on both sides: what follows a message on its connection is read by nobody, so no two
//! readers can differ about where it begins. The [`request`] is taken apart and written anew, its [`body`] is framed
//! anew, and what of the answer would bring the key into the zone is held back by a [`sieve`].

mod aim;
mod answer;
mod body;
mod far;
mod fields;
mod request;
mod sieve;
mod target;

use std::net::TcpStream;
use std::os::fd::AsFd as _;

use rustix::event::PollFlags;

pub(super) use far::{Far, Sent, is_gone};
pub(super) use fields::may_bear;
pub(super) use target::is_plain_path;

use super::allow::Speech;
use super::authority;
use super::bell::Woken;
use super::dial::dial;
use super::gateway::{Gateway, Secured};
use super::ledger::Reason;
use super::visit::Visit;
use aim::{Below, Rules};
use answer::Answer;
use body::{Body, LAST_CHUNK, chunk};
use far::Bare;
use request::{Head, Request};
use sieve::Sieve;
use target::Place;

/// The word that a client may wait for before it sends its content.
const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Serves the one request of this client.
pub(super) fn serve(visit: &mut Visit<'_>) -> Result<(), Reason> {
    let room = visit.room;
    let request = request(visit, room.gateway.as_ref())?;
    match (&request.place, &room.gateway) {
        (Some(place), _) => {
            let stream = reach_place(visit, place, request.says_who)?;
            pass(visit, Bare::new(stream, room), &request, Sieve::default())
        }
        (None, Some(gateway)) => {
            (visit.host, visit.port) = (gateway.host.text(), gateway.port);
            let addresses = visit.vetted(&gateway.host, gateway.scope)?;
            let stream = dial(&addresses, room).ok_or_else(|| visit.cut(Reason::Unreachable))?;
            let far = Secured::open(stream, gateway, room).map_err(|reason| visit.cut(reason))?;
            let key = gateway.bears.as_ref().map(|bears| bears.key.as_str());
            pass(visit, far, &request, Sieve::new(key))
        }
        (None, None) => Err(Reason::Malformed),
    }
}

/// A connection to a place that is listed for plain HTTP.
fn reach_place(visit: &mut Visit<'_>, place: &Place, says_who: bool) -> Result<TcpStream, Reason> {
    let Place { host, port } = place;
    (visit.host, visit.port) = (host.text(), *port);
    let scope = visit.room.list.scope(host, *port, Speech::Plain);
    let mut addresses = visit.vetted(host, scope.ok_or(Reason::PlainNotListed)?)?;
    if says_who {
        addresses.retain(|address| visit.room.is_near(address.ip()));
    }
    if addresses.is_empty() {
        return Err(Reason::SecretInPlain);
    }
    dial(&addresses, visit.room).ok_or_else(|| visit.cut(Reason::Unreachable))
}

fn pass(visit: &mut Visit<'_>, mut far: impl Far, request: &Request, mut sieve: Sieve) -> Result<(), Reason> {
    let far = &mut far;
    ask(visit, far, request).map_err(|reason| visit.cut(reason))?;
    let (answer, begun) = hear(visit, far, request, &mut sieve).map_err(|reason| visit.cut(reason))?;
    visit.is_answered = true;
    give(visit, far, &answer, &begun, sieve).map_err(|reason| visit.cut(reason))
}

/// Reads the head; what follows it is left in `said`.
fn request(visit: &mut Visit<'_>, gateway: Option<&Gateway>) -> Result<Request, Reason> {
    let authority = gateway.map(Gateway::authority).unwrap_or_default();
    let rules = Rules {
        below: gateway.map(|gateway| Below {
            authority: &authority,
            paths: &gateway.paths,
            bears: gateway.bears.as_ref(),
        }),
        absolute: visit.room.list.has_plain(),
    };
    let until = visit.patience();
    loop {
        match request::read(&visit.said, rules) {
            Head::Partial => {}
            Head::Request(request) => {
                visit.said.drain(..request.length);
                return Ok(request);
            }
            Head::Malformed(why) => {
                if let authority::Head::Malformed { told } = authority::read(&visit.said) {
                    visit.host = told;
                }
                visit.why = why;
                return Err(Reason::Malformed);
            }
        }
        if !visit.hear(until) {
            return Err(visit.cut(Reason::Malformed));
        }
    }
}

/// Sends the request, its content as it comes.
fn ask(visit: &mut Visit<'_>, far: &mut impl Far, request: &Request) -> Result<(), Reason> {
    let mut body = Body::new(request.framing);
    spend(visit, request.length, Way::Out)?;
    let mut sent = far.send(&request.head)?;
    if request.waits && !body.is_done() && visit.said.is_empty() && !visit.send(GO_ON) {
        return Err(Reason::Unreachable);
    }
    while sent == Sent::All && !body.is_done() {
        if visit.said.is_empty() && !next(visit, far)? {
            return Ok(());
        }
        let said = std::mem::take(&mut visit.said);
        spend(visit, said.len(), Way::Out)?;
        let content = body.take(&said).map_err(|broken| {
            visit.why = broken.0;
            Reason::Malformed
        })?;
        if !content.is_empty() {
            sent = far.send(&framed(&body, content))?;
        }
        if sent == Sent::All && body.is_done() && body.is_open() {
            sent = far.send(LAST_CHUNK)?;
        }
    }
    Ok(())
}

/// Waits for more of the content; false when the far side answers before it has come.
fn next(visit: &mut Visit<'_>, far: &mut impl Far) -> Result<bool, Reason> {
    let until = visit.patience();
    loop {
        if far.is_answered()? {
            return Ok(false);
        }
        let sources = [(visit.client.as_fd(), PollFlags::IN), (far.as_fd(), PollFlags::IN)];
        if visit.room.wait(&sources, until) != Woken::Ready {
            return Err(Reason::Unreachable);
        }
        if visit.room.bell.wait(&[(visit.client.as_fd(), PollFlags::IN)], 0) == Woken::Ready {
            // A client that goes away in the middle has asked for nothing.
            return if visit.hear(until) {
                Ok(true)
            } else {
                Err(Reason::Malformed)
            };
        }
    }
}

/// The head of the answer, and what came with it of its content.
fn hear(
    visit: &mut Visit<'_>,
    far: &mut impl Far,
    request: &Request,
    sieve: &mut Sieve,
) -> Result<(Answer, Vec<u8>), Reason> {
    let mut bytes = Vec::new();
    loop {
        match answer::read(&bytes, request.is_head) {
            answer::Head::Partial => {
                let more = far.receive(visit.client)?;
                if more.is_empty() {
                    return Err(Reason::Unreachable);
                }
                bytes.extend(more);
            }
            answer::Head::Passing(length) => drop(bytes.drain(..length)),
            answer::Head::Answer(mut answer) => {
                // Held back there is nothing: a head ends with an empty line, and no key does.
                answer.head = sieve.pass(answer.head).map_err(|_| Reason::Key)?;
                return Ok((answer, bytes));
            }
            answer::Head::Malformed => return Err(Reason::Unreachable),
        }
    }
}

/// Hands the answer on, each part when it has come.
fn give(
    visit: &mut Visit<'_>,
    far: &mut impl Far,
    answer: &Answer,
    begun: &[u8],
    mut sieve: Sieve,
) -> Result<(), Reason> {
    let mut body = Body::new(answer.framing);
    spend(visit, answer.head.len(), Way::In)?;
    deliver(visit, &answer.head)?;
    let mut came = begun[answer.length..].to_vec();
    loop {
        let content = body.take(&came).map_err(|_| Reason::Unreachable)?;
        let mut content = sieve.pass(content).map_err(|_| Reason::Key)?;
        if body.is_done() {
            content.extend(sieve.rest());
        }
        hand_on(visit, &body, content)?;
        if body.is_done() {
            break;
        }
        came = far.receive(visit.client)?;
        if came.is_empty() {
            if !body.may_end() {
                return Err(Reason::Unreachable);
            }
            hand_on(visit, &body, sieve.rest())?;
            break;
        }
    }
    if body.is_open() {
        deliver(visit, LAST_CHUNK)
    } else {
        Ok(())
    }
}

fn hand_on(visit: &mut Visit<'_>, body: &Body, content: Vec<u8>) -> Result<(), Reason> {
    if content.is_empty() {
        return Ok(());
    }
    spend(visit, content.len(), Way::In)?;
    deliver(visit, &framed(body, content))
}

fn framed(body: &Body, content: Vec<u8>) -> Vec<u8> {
    if body.is_open() { chunk(&content) } else { content }
}

fn deliver(visit: &Visit<'_>, bytes: &[u8]) -> Result<(), Reason> {
    if visit.send(bytes) {
        Ok(())
    } else {
        Err(Reason::Unreachable)
    }
}

/// Into the zone, or out of it.
#[derive(Clone, Copy)]
enum Way {
    In,
    Out,
}

/// Counts bytes before they pass.
fn spend(visit: &mut Visit<'_>, length: usize, way: Way) -> Result<(), Reason> {
    let length = length as u64;
    if !visit.room.budget.spends(length) {
        return Err(Reason::Cap);
    }
    match way {
        Way::In => visit.passed.inward += length,
        Way::Out => visit.passed.outward += length,
    }
    Ok(())
}

//! One request and its answer, from the client's first byte to the far side's last.

use std::os::fd::AsFd as _;

use rustix::event::PollFlags;

use super::super::bell::Woken;
use super::super::dial::dial;
use super::super::ledger::Reason;
use super::super::visit::Visit;
use super::Gateway;
use super::answer::{self, Answer};
use super::body::{Body, LAST_CHUNK, chunk};
use super::request::{self, Head, Request, Rules};
use super::secured::{Secured, Sent};
use super::sieve::Sieve;

/// The word that a client may wait for before it sends its content.
const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Serves the one request of this client.
pub(in super::super) fn exchange(visit: &mut Visit<'_>, gateway: &Gateway) -> Result<(), Reason> {
    let request = request(visit, gateway)?;
    (visit.host, visit.port) = (gateway.host.text(), gateway.port);
    let addresses = visit.vetted(&gateway.host, gateway.scope)?;
    let stream = dial(&addresses, visit.room).ok_or_else(|| visit.cut(Reason::Unreachable))?;
    let mut far = Secured::open(stream, gateway, visit.room).map_err(|reason| visit.cut(reason))?;
    ask(visit, &mut far, &request).map_err(|reason| visit.cut(reason))?;
    let mut sieve = Sieve::new(gateway.bears.as_ref().map(|bears| bears.key.as_str()));
    let (answer, begun) = hear(visit, &mut far, &request, &mut sieve).map_err(|reason| visit.cut(reason))?;
    visit.is_answered = true;
    give(visit, &mut far, &answer, &begun, sieve).map_err(|reason| visit.cut(reason))
}

/// Reads the head; what follows it is left in `said`.
fn request(visit: &mut Visit<'_>, gateway: &Gateway) -> Result<Request, Reason> {
    let authority = gateway.authority();
    let rules = Rules {
        authority: &authority,
        paths: &gateway.paths,
        bears: gateway.bears.as_ref(),
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
fn ask(visit: &mut Visit<'_>, far: &mut Secured<'_>, request: &Request) -> Result<(), Reason> {
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
fn next(visit: &mut Visit<'_>, far: &mut Secured<'_>) -> Result<bool, Reason> {
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
    far: &mut Secured<'_>,
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
    far: &mut Secured<'_>,
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

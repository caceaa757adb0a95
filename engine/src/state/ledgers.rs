//! What a fact changes whatever room the run is in: time, measurements, and the ledgers of money and people.

use crate::event::Event;
use crate::event::money::CallStatus;
use crate::event::run::InterruptCause;
use crate::facts::Facts;

/// Time and measurements that every room relies on, folded in one place.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "facts without a time or a measurement are not folded here"
)]
pub(super) fn stamp(facts: &mut Facts, event: &Event) {
    match event {
        Event::TreeObserved(observed) => {
            facts.tick(observed.at);
            facts.tree = observed.seen.tree;
            facts.head.clone_from(&observed.seen.git.head);
            facts.branch.clone_from(&observed.seen.git.branch);
        }
        Event::ExecuteBegan(began) => facts.tick(began.at),
        Event::ExecuteEnded(ended) => facts.tick(ended.at),
        Event::RetryWaited(waited) => facts.tick(waited.at),
        Event::CheckBegan(began) => facts.tick(began.at),
        Event::CheckEnded(ended) => {
            facts.tick(ended.at);
            facts.members.apply(&ended.measurement.changes);
        }
        Event::RestoreBegan(began) => facts.tick(began.at),
        Event::RestoreEnded(ended) => facts.tick(ended.at),
        Event::Vetted(vetted) => facts.tick(vetted.at),
        Event::Suspended(suspended) => facts.tick(suspended.at),
        Event::Resumed(resumed) => facts.reborn(resumed.at),
        Event::Interrupted(interrupted) if interrupted.cause == InterruptCause::Crash => facts.now = interrupted.at,
        _ => {}
    }
}

/// Facts of ledgers: money, people, probes, zones. They move no room. True when the event is one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other fact moves a room, which judges it"
)]
pub(super) fn ledger(facts: &mut Facts, event: &Event) -> bool {
    match event {
        Event::Amended(amended) => {
            let bounds = &mut facts.bounds;
            bounds.max_iterations = amended.max_iterations.unwrap_or(bounds.max_iterations);
            bounds.timeout_ms = amended.timeout_ms.or(bounds.timeout_ms);
            bounds.command_timeout_ms = amended.command_timeout_ms.or(bounds.command_timeout_ms);
            bounds.check_timeout_ms = amended.check_timeout_ms.or(bounds.check_timeout_ms);
            bounds.budget_microusd = amended.budget_microusd.or(bounds.budget_microusd);
        }
        Event::Reserved(reserved) => {
            for call in &reserved.calls {
                facts.spend.reserve(&call.id, call.max_microusd);
            }
        }
        Event::Settled(settled) => {
            facts.spend.close();
            for call in settled.calls.iter().filter(|call| call.status != CallStatus::Skipped) {
                if facts.spend.book(&call.id) {
                    let spend = &mut facts.spend;
                    spend.calls += 1;
                    spend.unknown |= call.microusd.is_none();
                    spend.microusd = spend.microusd.saturating_add(call.microusd.unwrap_or(0));
                    let tokens = call.tokens_in.unwrap_or(0).saturating_add(call.tokens_out.unwrap_or(0));
                    spend.tokens = spend.tokens.saturating_add(tokens);
                }
            }
        }
        Event::Acked(acked) => {
            let through = acked.through_iteration;
            facts.people.unread_iterations.retain(|iteration| *iteration > through);
            facts.people.unread = u32::try_from(facts.people.unread_iterations.len()).unwrap_or(u32::MAX);
            facts.people.escalated = None;
            facts.people.acked_by = Some(acked.reviewer.clone());
            // The answer waits for the next turn, with whatever that turn is told besides.
            let note = acked.note.trim();
            if !note.is_empty() {
                let before = if facts.told.is_empty() { "" } else { "\n\n" };
                facts.told += &alloc::format!("{before}{} says: {note}", acked.reviewer);
            }
        }
        Event::Escalated(escalated) => facts.people.escalated = Some(escalated.reason),
        Event::Scored(_)
        | Event::Judged(_)
        | Event::Probed(_)
        | Event::Delivered(_)
        | Event::TaskSelected(_)
        | Event::TaskClosed(_)
        | Event::Credential(_) => {}
        _ => return false,
    }
    true
}

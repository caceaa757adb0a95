//! Fingerprints: 128 bits stand for a whole state, so that ten million of them fit into little memory.
//!
//! Two lanes of multiply and rotate; not for adversaries. Ten million states collide with a chance of
//! about 10^-25 if the bits are good, and the second engine counts by the states themselves.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use engine::{Facts, State};

/// Fingerprints and what is remembered of each.
pub(super) type Seen<T> = HashMap<u128, T, BuildHasherDefault<AsIs>>;

/// The fingerprint of a value.
pub(super) fn of(value: &impl Hash) -> u128 {
    let mut hasher = Wide::default();
    value.hash(&mut hasher);
    hasher.wide()
}

/// The fingerprint of a state, without the contract, which is the same all through a walk.
pub(super) fn of_state(state: &State) -> u128 {
    let Facts {
        opened: _,
        bounds,
        iteration,
        checkpointed,
        elapsed_ms,
        now,
        surface,
        t0,
        tree,
        head,
        branch,
        members,
        universe,
        unnamed,
        t0_members,
        t0_passing,
        active_guards,
        integrity,
        accepted,
        last_check,
        told,
        history,
        violations,
        instant_failures,
        determinism,
        spend,
        people,
        suspended,
        halted,
        revalidate,
        drift,
        revisit,
        resumes,
    } = state.facts.as_ref();
    let mut hasher = Wide::default();
    (bounds, iteration, checkpointed, elapsed_ms, now, surface, t0, tree).hash(&mut hasher);
    (
        head,
        branch,
        members,
        universe,
        unnamed,
        t0_members,
        t0_passing,
        active_guards,
        integrity,
        accepted,
    )
        .hash(&mut hasher);
    (last_check, told, history, violations, instant_failures, determinism).hash(&mut hasher);
    (spend, people, suspended, halted, revalidate, drift, revisit, resumes).hash(&mut hasher);
    state.phase.hash(&mut hasher);
    hasher.wide()
}

#[derive(Default)]
struct Wide {
    low: u64,
    high: u64,
}

impl Wide {
    fn wide(&self) -> u128 {
        u128::from(self.low) << 64 | u128::from(self.high)
    }

    fn mix(&mut self, word: u64) {
        self.low = (self.low.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        self.high = (self.high.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (self.low >> 31);
    }
}

impl Hasher for Wide {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0_u8; 8];
            word.copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut word = [0_u8; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word) ^ (rest.len() as u64) << 56);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value) | 1 << 60);
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value) | 1 << 61);
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64 ^ 1 << 62);
    }

    fn finish(&self) -> u64 {
        self.low ^ self.high
    }
}

/// A fingerprint is its own hash.
#[derive(Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, print: u128) {
        let (low, high) = (print as u64, (print >> 64) as u64);
        self.0 = (low ^ high).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

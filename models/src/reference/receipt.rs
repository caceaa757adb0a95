//! A receipt as text, read with nothing but a JSON parser.
//!
//! Hashes are not computed again here: `verify` does that. What is left for a second opinion is that the
//! lines are whole, numbered, unlike each other, and tell a legal run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Judgement, Reader, Refusal, must, text};

/// Everything that a line says, in order of its names.
const MEMBERS: [&str; 7] = ["event", "flags", "kind", "leaf", "payload", "seq", "v"];

/// Accepts a receipt, which may end anywhere, and counts its events; or names its first illegal line. A
/// last line without its end is still being written and says nothing yet.
///
/// # Errors
/// The line, counted from zero, and the rule that it breaks.
pub fn receipt(text: &str) -> Result<usize, Refusal> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut reader = Reader::default();
    let mut ledger = Ledger::default();
    let mut count = 0;
    for (line, text) in whole.lines().enumerate() {
        let refuse = |why| Refusal { line, why };
        let event = ledger.line(line, text).map_err(refuse)?;
        reader.read(line, &event).map_err(refuse)?;
        count += 1;
    }
    Ok(count)
}

/// What lines say beside their event.
#[derive(Default)]
struct Ledger {
    leaves: BTreeSet<String>,
    kinds: BTreeMap<u64, String>,
    names: BTreeMap<String, u64>,
}

impl Ledger {
    fn line(&mut self, number: usize, line: &str) -> Result<Value, String> {
        let mut line: Value = serde_json::from_str(line).map_err(|error| format!("a line is one object: {error}"))?;
        let members = line.as_object().ok_or("a line is one object")?;
        must(
            members.keys().eq(MEMBERS),
            "a line has the seven members of a receipt and no other",
        )?;
        must(
            line["seq"].as_u64() == Some(number as u64),
            "lines are numbered without a hole",
        )?;
        self.hashes(&line)?;
        self.kind(&line)?;
        Ok(line["event"].take())
    }

    fn hashes(&mut self, line: &Value) -> Judgement {
        for name in ["leaf", "payload"] {
            let plain = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
            let hash = text(line, name);
            let whole = hash.len() == 64 && hash.bytes().all(plain);
            must(whole, "a hash is 64 small hexadecimal digits")?;
        }
        let fresh = self.leaves.insert(text(line, "leaf").into());
        must(fresh, "no two events of a chain have one leaf")
    }

    /// Numbers and names of kinds go together, whatever they are.
    fn kind(&mut self, line: &Value) -> Judgement {
        let name = text(&line["event"], "event");
        must(!name.is_empty(), "an event has a name")?;
        let number = line["kind"].as_u64().ok_or("a kind is a number")?;
        must(line["v"].as_u64().is_some_and(|v| v > 0), "versions count from one")?;
        must(line["flags"].is_u64(), "flags are a number")?;
        let known = self.kinds.entry(number).or_insert_with(|| name.into());
        let numbered = *self.names.entry(name.into()).or_insert(number);
        must(
            known == name && numbered == number,
            "one kind has one number and one name",
        )
    }
}

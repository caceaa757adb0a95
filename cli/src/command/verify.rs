//! `verify`: everything that can be checked without running anything.

use std::fs;
use std::path::{Path, PathBuf};

use engine::event::halt::HaltReason;
use engine::words::counted;
use journal::{Journal, VerifyOptions, checkpoint, keys};
use serde::Serialize;
use shell::paths;
use shell::record::{self, Audit, Decisions, Place, ReceiptState, SignatureState};

use super::resume::head;
use crate::app::Scene;
use crate::failure::Failure;
use crate::outcome::{Answer, Outcome};
use crate::render::one_line;
use crate::which::Which;

/// Check journal, chain, signatures, receipt and the lawfulness of every event, without running anything
///
/// Names the first defect by segment, event and kind. What no file can show by itself (that an older whole copy was put
/// back) shows against a head that was written down elsewhere: give it with --expect-head.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// A chain head that the journal is known to have had
    #[arg(long, value_name = "HEX")]
    expect_head: Option<String>,
    /// Public key that must have signed the first checkpoint (the .pub file)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Write a proof of one event that can be checked with nothing else
    #[arg(long, value_name = "SEQ", requires = "out")]
    prove: Option<u64>,
    /// Write a proof that the latest checkpoint extends the first N events and changed none of them
    #[arg(long, value_name = "N", requires = "out", conflicts_with = "prove")]
    prove_extends: Option<u64>,
    /// Where the proof goes
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The objects of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    signature: Signature,
    journal: Verified,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Signature {
    /// `unsigned`, `unchecked` (signed by a key nobody vouched for here) or `verified`.
    state: &'static str,
    /// Hex of the public key, when it was known.
    key: Option<String>,
    /// Hex of the first four bytes of its digest, when it was not.
    key_id: Option<String>,
    checkpoints: u64,
    /// Events behind the last signed checkpoint.
    unsigned_events: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Verified {
    events: u64,
    head: String,
    root: String,
    segments: u64,
    batches: u64,
    /// Lives of the run and acknowledgements, each of which opened the journal to write.
    writers: u64,
    torn_bytes: u64,
    receipt: &'static str,
    acknowledgements: u64,
    /// `rederived`, `other_engine` (made by a version that this build cannot speak for) or `differ`.
    decisions: &'static str,
    defect: Option<Defect>,
    proof: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Defect {
    code: &'static str,
    label: &'static str,
    seq: u64,
    kind: Option<&'static str>,
    segment: u32,
    offset: u64,
    why: String,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let options = VerifyOptions {
        expect_head: args.expect_head.as_deref().map(head).transpose()?,
        key: args.key.as_deref().map(public_key).transpose()?,
    };
    let place = args.which.find()?;
    let live = record::governor(&place.state, &place.run)?.is_some();
    let audit = examine(&place, &options, live, scene)?;
    let wanted = match (args.prove, args.prove_extends) {
        (Some(seq), _) => Some(Wanted::Event(seq)),
        (None, from) => from.map(Wanted::Extension),
    };
    let proof = match (wanted, &args.out) {
        (None, Some(_)) => return Err(Failure::usage("--out needs --prove or --prove-extends")),
        (Some(wanted), Some(out)) if audit.is_sound() => Some(prove(&place, &wanted, out)?),
        _ => None,
    };
    let sound = audit.is_sound();
    let mut answer = Answer::new("verify", if sound { "verified" } else { "error" });
    answer.run_id = Some(place.run.id().to_string());
    answer.verified = Some(sound);
    answer.receipt = Some(place.run.receipt().to_string_lossy().into_owned());
    answer = answer.with(&Objects {
        signature: signature(&audit),
        journal: journal_object(&audit, proof.as_deref()),
    });
    let text = text(&place, &audit, proof.as_deref(), live);
    let Some(why) = audit.defect() else {
        return Ok(Outcome::new(answer, text).warning(lag(&audit)));
    };
    answer.halt_reason = Some(HaltReason::ObjectiveUnverified);
    answer.errors.push(why);
    Ok(Outcome::new(answer, text).exiting(HaltReason::ObjectiveUnverified.exit_code()))
}

/// The examination; a signature by this user's own key counts as one by a known key.
pub(crate) fn examine(place: &Place, options: &VerifyOptions, live: bool, scene: &Scene) -> Result<Audit, Failure> {
    let found = record::audit(&place.run, options, live)?;
    if options.key.is_none()
        && let Some(note) = &found.verdict.last_checkpoint
        && let Some(own) = own_key(&place.workdir, scene)
        && checkpoint::key_id(&own) == note.key_id
    {
        let options = VerifyOptions {
            key: Some(own),
            ..*options
        };
        return Ok(record::audit(&place.run, &options, live)?);
    }
    Ok(found)
}

/// The public half of the key that this user signs with, when there is one.
fn own_key(workdir: &Path, scene: &Scene) -> Option<[u8; 32]> {
    let path = paths::signing_key(workdir, |name| scene.variable(name).map(ToOwned::to_owned)).ok()?;
    let text = fs::read_to_string(keys::public_path(&path)).ok()?;
    keys::parse_public(&text)
}

fn public_key(path: &Path) -> Result<[u8; 32], Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::io("read the key", path, &error))?;
    keys::parse_public(&text).ok_or_else(|| {
        Failure::workspace(format!(
            "{} does not hold a public key of loopexec; give the .pub file that lies beside the signing key",
            path.display()
        ))
    })
}

/// What is to be proven.
enum Wanted {
    Event(u64),
    Extension(u64),
}

fn prove(place: &Place, wanted: &Wanted, out: &Path) -> Result<String, Failure> {
    let reader = Journal::open_read(&place.run.journal())?;
    let text = match wanted {
        Wanted::Event(seq) => journal::proof::prove(&reader, *seq)?.text()?,
        Wanted::Extension(from) => journal::extension::prove(&reader, *from)?.text()?,
    };
    fs::write(out, text).map_err(|error| Failure::io("write the proof", out, &error))?;
    Ok(out.to_string_lossy().into_owned())
}

fn signature(audit: &Audit) -> Signature {
    let (key, key_id, checkpoints) = match &audit.signature {
        SignatureState::Unsigned => (None, None, 0),
        SignatureState::Verified { checkpoints, key } => (Some(key.clone()), None, *checkpoints),
        SignatureState::Unchecked { checkpoints, key_id } => (None, Some(key_id.clone()), *checkpoints),
    };
    Signature {
        state: audit.signature.label(),
        key,
        key_id,
        checkpoints,
        unsigned_events: audit.unsigned_events,
    }
}

fn journal_object(audit: &Audit, proof: Option<&str>) -> Verified {
    let verdict = &audit.verdict;
    Verified {
        events: verdict.head.size,
        head: verdict.head.leaf.hex(),
        root: verdict.root.hex(),
        segments: verdict.segments,
        batches: verdict.batches,
        writers: verdict.epoch,
        torn_bytes: verdict.torn_bytes,
        receipt: audit.receipt.label(),
        acknowledgements: audit.acks,
        decisions: audit.decisions.label(),
        defect: verdict.defect.as_ref().map(|defect| Defect {
            code: defect.code.code(),
            label: defect.code.label(),
            seq: defect.seq,
            kind: defect.kind,
            segment: defect.segment,
            offset: defect.offset,
            why: defect.why.clone(),
        }),
        proof: proof.map(str::to_owned),
    }
}

fn lag(audit: &Audit) -> Option<String> {
    match &audit.receipt {
        ReceiptState::Missing => {
            Some("receipt.jsonl is missing; `loopexec export --format jsonl` gives it back".to_owned())
        }
        ReceiptState::Behind(why) => Some(format!("the receipt lags behind the journal: {why}")),
        ReceiptState::Matches | ReceiptState::Differs(_) => None,
    }
}

fn text(place: &Place, audit: &Audit, proof: Option<&str>, live: bool) -> String {
    let verdict = &audit.verdict;
    let mut out = match audit.defect() {
        None => format!("verified: run {}\n", place.run.id()),
        Some(why) => format!("NOT VERIFIED: run {}: {}\n", place.run.id(), one_line(&why)),
    };
    let mut line = |name: &str, value: String| out.push_str(&format!("  {name:<10} {}\n", one_line(&value)));
    let up_to = if verdict.is_intact() {
        ""
    } else {
        " intact before the defect"
    };
    line(
        "events",
        format!(
            "{}{up_to} in {}",
            verdict.head.size,
            counted(verdict.segments, "segment")
        ),
    );
    line("head", verdict.head.leaf.hex());
    line("decisions", decided(audit));
    line(
        "receipt",
        if live {
            "not compared while the run is at work".to_owned()
        } else {
            audit.receipt.label().to_owned()
        },
    );
    line("signature", signed(audit));
    if audit.acks > 0 {
        line("acks", format!("{} signed", audit.acks));
    }
    if verdict.torn_bytes > 0 {
        line(
            "tail",
            format!(
                "{} bytes of a write that was cut short; nothing acknowledged is missing",
                verdict.torn_bytes
            ),
        );
    }
    if let Some(proof) = proof {
        line("proof", proof.to_owned());
    }
    out
}

fn decided(audit: &Audit) -> String {
    match &audit.decisions {
        Decisions::Hold => "every one follows from the facts before it".to_owned(),
        Decisions::OtherEngine(version) => {
            format!("made by engine {version} and not derived again by this one; their order is lawful")
        }
        Decisions::Differ(why) => why.clone(),
    }
}

fn signed(audit: &Audit) -> String {
    let tail = match audit.unsigned_events {
        0 => String::new(),
        n => format!("; unsigned after it: {}", counted(n, "event")),
    };
    match &audit.signature {
        SignatureState::Unsigned => "unsigned: the chain shows changes to whoever remembers the head".to_owned(),
        SignatureState::Verified { checkpoints, key } => {
            format!("{} by key {key}{tail}", counted(*checkpoints, "checkpoint"))
        }
        SignatureState::Unchecked { checkpoints, key_id } => {
            let checkpoints = counted(*checkpoints, "checkpoint");
            format!("{checkpoints} by an unknown key {key_id}; name the key with --key{tail}")
        }
    }
}

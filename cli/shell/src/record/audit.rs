//! The whole examination of a recorded run, offline: bytes, chain, signatures, the lawfulness of every
//! event, the receipt, the acknowledgements.

use std::fs;
use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};

use engine::Rederivation;
use engine::event::Event;
use engine::event::id::Digest;
use engine::event::iteration::TreePurpose;
use journal::{Journal, Verdict, VerifyOptions};

use super::{RecordError, ack};
use crate::foreign;
use crate::paths::RunDir;

/// Folds events one after the other and derives every recorded decision again on the way. Keeps none of them.
#[derive(Debug, Default)]
struct Legal {
    journal: Rederivation,
    /// Another engine made some of the decisions.
    other_engine: Option<String>,
    /// An acknowledgement is among the events.
    acked: bool,
}

impl Legal {
    /// Takes the next event, or says why it cannot be the next.
    fn judge(&mut self, event: &Event) -> Result<(), String> {
        self.journal.take(event).map_err(|illegal| illegal.to_string())?;
        let engine = match event {
            Event::RunOpened(opened) => Some(&opened.engine),
            Event::Resumed(resumed) => Some(&resumed.engine),
            _ => None,
        };
        let other = engine.filter(|engine| *engine != engine::VERSION);
        self.other_engine = self.other_engine.take().or_else(|| other.cloned());
        self.acked |= matches!(event, Event::Acked(_));
        Ok(())
    }

    fn decisions(self) -> Decisions {
        match (self.other_engine, self.journal.differs()) {
            (Some(version), _) => Decisions::OtherEngine(version),
            (None, None) => Decisions::Hold,
            (None, Some(divergence)) => Decisions::Differ(divergence.to_string()),
        }
    }
}

/// Whether the recorded decisions are those that the facts call for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decisions {
    /// Every one was derived again.
    Hold,
    /// Made by this version of the engine, which this build cannot speak for.
    OtherEngine(String),
    /// The first that differs, in a sentence.
    Differ(String),
}

impl Decisions {
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Hold => "rederived",
            Self::OtherEngine(_) => "other_engine",
            Self::Differ(_) => "differ",
        }
    }
}

/// What is beside the journal as JSON lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiptState {
    /// Line for line the journal.
    Matches,
    Missing,
    /// All that is there is right and the end is missing: it is not synced, and a crash cut it short.
    Behind(String),
    /// The reason names the line.
    Differs(String),
}

impl ReceiptState {
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Missing => "missing",
            Self::Behind(_) => "behind",
            Self::Differs(_) => "differs",
        }
    }
}

/// Who vouches for the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureState {
    /// Nobody: the chain shows changes only to somebody who remembers a head.
    Unsigned,
    /// Signed by a key that the caller knew.
    Verified { checkpoints: u64, key: String },
    /// Signed, and nobody said by whom it should be.
    Unchecked { checkpoints: u64, key_id: String },
}

impl SignatureState {
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Verified { .. } => "verified",
            Self::Unchecked { .. } => "unchecked",
        }
    }
}

/// The outcome.
#[derive(Debug)]
pub struct Audit {
    pub verdict: Verdict,
    pub decisions: Decisions,
    pub receipt: ReceiptState,
    pub signature: SignatureState,
    /// Acknowledgements whose signature is right, and sentences about those whose is not.
    pub acks: u64,
    pub bad_acks: Vec<String>,
    /// Blobs that the journal names and that are gone or changed.
    pub bad_blobs: Vec<String>,
    /// Events after the last signed checkpoint.
    pub unsigned_events: u64,
}

impl Audit {
    /// Nothing that is evidence is wrong. A receipt is a projection, but one that differs was edited, for the writer
    /// repairs it.
    pub fn is_sound(&self) -> bool {
        self.verdict.is_intact()
            && !matches!(self.decisions, Decisions::Differ(_))
            && !matches!(self.receipt, ReceiptState::Differs(_))
            && self.bad_acks.is_empty()
            && self.bad_blobs.is_empty()
    }

    /// What is wrong first, in one sentence.
    pub fn defect(&self) -> Option<String> {
        if let Some(defect) = &self.verdict.defect {
            return Some(defect.to_string());
        }
        if let Decisions::Differ(why) = &self.decisions {
            return Some(format!(
                "a recorded decision does not follow from the facts before it: {why}"
            ));
        }
        if let ReceiptState::Differs(why) = &self.receipt {
            return Some(why.clone());
        }
        self.bad_acks.iter().chain(&self.bad_blobs).next().cloned()
    }
}

/// Examines a run in full and runs nothing. While the run is at work (`live`) its receipt may lag by a moment, and
/// is not held to it.
///
/// # Errors
/// It could not be examined. What is wrong with it is in the outcome.
pub fn audit(run: &RunDir, options: &VerifyOptions, live: bool) -> Result<Audit, RecordError> {
    let mut legal = Legal::default();
    let mut bad_blobs = Vec::new();
    let mut judge = |_, event: &Event| {
        let mut named = Vec::new();
        blobs_of(event, &mut named);
        bad_blobs.extend(named.iter().filter_map(|digest| bad_blob(run, digest)));
        legal.judge(event)
    };
    let verdict = Journal::verify(&run.journal(), options, Some(&mut judge))?;
    let (acks, bad_acks) = if legal.acked && verdict.is_intact() {
        check_acks(run)?
    } else {
        (0, Vec::new())
    };
    Ok(Audit {
        decisions: legal.decisions(),
        receipt: if live || !verdict.is_intact() {
            ReceiptState::Matches
        } else {
            receipt_state(run)?
        },
        signature: signature_state(&verdict, options),
        acks,
        bad_acks,
        bad_blobs,
        unsigned_events: verdict.head.size
            - verdict
                .last_checkpoint
                .as_ref()
                .map_or(0, |note| note.checkpoint.size.min(verdict.head.size)),
        verdict,
    })
}

fn receipt_state(run: &RunDir) -> Result<ReceiptState, RecordError> {
    let path = run.receipt();
    if foreign::open(&path).is_err() {
        return Ok(ReceiptState::Missing);
    }
    let reader = Journal::open_read(&run.journal())?;
    let Err(error) = journal::receipt::check(&reader, &path) else {
        return Ok(ReceiptState::Matches);
    };
    let why = format!("{}: {error}", path.display());
    let whole_lines = whole_lines(&path).unwrap_or(0);
    Ok(match error {
        // Every whole line before it was compared and is right.
        journal::Error::Receipt { line, .. } if line == whole_lines + 1 && line <= reader.head()?.size => {
            ReceiptState::Behind(why)
        }
        _ => ReceiptState::Differs(why),
    })
}

fn whole_lines(path: &Path) -> io::Result<u64> {
    let mut file = io::BufReader::new(fs::File::open(path)?);
    let mut lines = 0;
    loop {
        let piece = file.fill_buf()?;
        if piece.is_empty() {
            return Ok(lines);
        }
        lines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        let length = piece.len();
        file.consume(length);
    }
}

fn signature_state(verdict: &Verdict, options: &VerifyOptions) -> SignatureState {
    let checkpoints = verdict.checkpoints;
    match (&verdict.last_checkpoint, options.key) {
        (None, _) => SignatureState::Unsigned,
        (Some(_), Some(key)) if verdict.key_known && checkpoints > 0 => SignatureState::Verified {
            checkpoints,
            key: hex(&key),
        },
        (Some(note), _) => SignatureState::Unchecked {
            checkpoints,
            key_id: hex(&note.key_id),
        },
    }
}

fn check_acks(run: &RunDir) -> Result<(u64, Vec<String>), RecordError> {
    let (mut good, mut bad) = (0, Vec::new());
    for (seq, acked, head) in ack::recorded(run)? {
        if ack::is_signed(run.id().as_str(), &acked, head) {
            good += 1;
        } else {
            bad.push(format!(
                "the acknowledgement in event {seq} is not signed by the key it names"
            ));
        }
    }
    Ok((good, bad))
}

/// The blobs that an event names: captured output, and the watched surface as it was at t0.
pub(super) fn blobs_of(event: &Event, into: &mut Vec<Digest>) {
    let run = match event {
        Event::ExecuteEnded(ended) => &ended.run,
        Event::CheckEnded(ended) => &ended.run,
        Event::TreeObserved(observed) if observed.purpose == TreePurpose::Baseline => {
            into.push(observed.seen.surface_digest);
            return;
        }
        _ => return,
    };
    into.extend([&run.stdout, &run.stderr].into_iter().filter_map(|stream| stream.blob));
}

/// Where a blob of this digest lies.
pub(super) fn blob_path(run: &RunDir, digest: &Digest) -> PathBuf {
    run.blobs().join(digest.hex())
}

fn bad_blob(run: &RunDir, named: &Digest) -> Option<String> {
    let path = blob_path(run, named);
    match digest_of(&path) {
        Err(error) => Some(format!("the blob {} cannot be read: {error}", path.display())),
        Ok(found) => (found != *named).then(|| format!("the blob {} was changed", path.display())),
    }
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut fs::File::open(path)?, &mut hasher)?;
    Ok(Digest(*hasher.finalize().as_bytes()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

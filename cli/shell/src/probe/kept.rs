//! The answer of `probe-check --json`, read back as the first samples of a run (SPEC 6.5.10).
//!
//! The file is the user's own and names what was run; an answer about another check is refused, because its runs say
//! nothing of this one.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use engine::event::id::Digest;
use engine::event::policy::{Oracle, Policy};
use engine::event::run::Probe;
use serde_json::Value;

/// More bytes than any answer has.
const ANSWER_MAX: u64 = 4 * 1024 * 1024;

/// Why a kept probe is of no use to a run.
#[derive(Debug)]
pub enum KeptError {
    Unreadable {
        path: PathBuf,
        error: io::Error,
    },
    /// No answer of `probe-check --json`, or one without runs.
    Malformed {
        path: PathBuf,
    },
    /// Another check was probed, or the same one under other settings.
    Another {
        path: PathBuf,
        check: String,
    },
}

impl fmt::Display for KeptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, error } => write!(f, "--probe: {} cannot be read: {error}", path.display()),
            Self::Malformed { path } => write!(
                f,
                "--probe: {} is not what `loopexec probe-check --json` prints after runs that came to a verdict",
                path.display()
            ),
            Self::Another { path, check } => write!(
                f,
                "--probe: {} is about another check than `{check}`, or one that was read in another way; probe this one \
                 with the same settings: loopexec probe-check --json > {}",
                path.display(),
                path.display()
            ),
        }
    }
}

impl std::error::Error for KeptError {}

/// What is run and how it is read: what two probes have to have in common to be about one check. Blake3 of its
/// canonical JSON.
pub fn check_digest(policy: &Policy) -> Digest {
    let oracle = Oracle {
        integrity_cmd: None,
        max_flake_ppm: 0,
        baseline: false,
        require_red: false,
        ..policy.oracle.clone()
    };
    // A contract is plain data: it always has a spelling.
    let spelled = serde_json::to_vec(&oracle).unwrap_or_default();
    Digest(*blake3::hash(&spelled).as_bytes())
}

/// The runs that this file tells of.
///
/// # Errors
/// It cannot be read, is no such answer, or is about another check.
pub fn read(path: &Path, policy: &Policy) -> Result<Probe, KeptError> {
    let unreadable = |error| KeptError::Unreadable {
        path: path.to_path_buf(),
        error,
    };
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(ANSWER_MAX).read_to_end(&mut text).map_err(unreadable)?;
    let probe = parsed(&text).ok_or_else(|| KeptError::Malformed {
        path: path.to_path_buf(),
    })?;
    if probe.check_digest != check_digest(policy) {
        return Err(KeptError::Another {
            path: path.to_path_buf(),
            check: policy.oracle.check.display(),
        });
    }
    Ok(probe)
}

fn parsed(text: &[u8]) -> Option<Probe> {
    let answer: Value = serde_json::from_slice(text).ok()?;
    let probe = answer.get("probe").filter(|_| answer["tool"] == "loopexec")?;
    let count = |name: &str| probe[name].as_u64().and_then(|count| u32::try_from(count).ok());
    let (runs, agreeing) = (count("runs")?, count("agreeing")?);
    let has_verdict = matches!(probe["verdict"].as_str(), Some("green" | "red"));
    (has_verdict && (1..=runs).contains(&agreeing)).then_some(Probe {
        runs,
        agreeing,
        check_digest: Digest::from_hex(probe["check_digest"].as_str()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(runs: u32, agreeing: u32, verdict: &str) -> String {
        let digest = check_digest(&Policy::default());
        format!(
            "{{\"tool\":\"loopexec\",\"probe\":{{\"runs\":{runs},\"agreeing\":{agreeing},\"verdict\":\"{verdict}\",\
             \"check_digest\":\"{digest}\"}}}}"
        )
    }

    #[test]
    fn runs_without_a_verdict_or_with_impossible_figures_are_no_samples() {
        let known = parsed(answer(9, 8, "red").as_bytes()).unwrap();
        assert_eq!((known.runs, known.agreeing), (9, 8));
        for strange in [
            answer(9, 10, "red"),
            answer(0, 0, "red"),
            answer(9, 9, "no verdict"),
            "{}".into(),
            "[".into(),
        ] {
            assert!(parsed(strange.as_bytes()).is_none(), "{strange}");
        }
    }

    #[test]
    fn what_is_run_and_how_it_is_read_is_one_check_and_a_tolerance_is_no_part_of_it() {
        let mut other = Policy::default();
        other.oracle.max_flake_ppm = 50_000;
        assert_eq!(check_digest(&other), check_digest(&Policy::default()));
        other.oracle.success_exit = 3;
        assert_ne!(check_digest(&other), check_digest(&Policy::default()));
    }
}

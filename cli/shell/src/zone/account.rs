//! What the launcher left word of, as a fact of the run.

use std::ffi::OsString;
use std::path::Path;

use engine::event::zone::ZoneSeen;

use super::{Ended, LAUNCH, Refusal, Zone, ZoneReport};
use crate::foreign;
use crate::process::masked;

/// A report is never longer: its rows are bounded where they are made.
const REPORT_MAX_BYTES: u64 = 1 << 20;

/// Of a secret that was cut, less than this tells nothing.
const BEGINNING_MIN_BYTES: usize = 6;

/// How the command of a zone ended, as far as its launcher knows better than whoever started that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As the launcher itself did.
    AsSeen,
    Refused,
    NotStarted {
        errno: i32,
    },
    Lost,
    MemoryCap,
    EgressCap,
    VolumeCap,
    /// Something of the zone is still there: what it may write is not to be used again.
    Outlived,
}

/// The words that start the launcher.
pub(crate) fn launcher(exe: &Path) -> Vec<OsString> {
    vec![exe.into(), LAUNCH.into()]
}

/// Reads the report; `None` where there is none that can be read.
pub(crate) fn account(report: &Path, zone: Zone) -> Option<(ZoneSeen, Ending)> {
    let bytes = foreign::read(report, REPORT_MAX_BYTES).ok()?;
    let left: ZoneReport = serde_json::from_slice(&bytes).ok()?;
    let mut seen = ZoneSeen {
        facts: left.facts.as_ref().map(ToString::to_string).unwrap_or_default(),
        fixed: left.facts.map(|facts| facts.fixed).unwrap_or_default(),
        left_inside: left.left_inside,
        egress: left.egress,
        ..blank(zone)
    };
    if let Some(refused) = left.refused {
        seen.refused = Some(refused.cause);
        seen.said = refused.message;
        return Some((seen, Ending::Refused));
    }
    if left.outlived {
        seen.said = "it could not be ended, and something of it is still there".to_owned();
        return Some((seen, Ending::Outlived));
    }
    let ending = match (left.cap.as_deref(), left.ended) {
        (Some("volume"), _) => Ending::VolumeCap,
        (Some("memory"), _) => Ending::MemoryCap,
        (Some(cap), _) => {
            seen.said = cap.to_owned();
            Ending::EgressCap
        }
        (None, Some(Ended::Exited(_) | Ended::Signaled(_))) => Ending::AsSeen,
        (None, Some(Ended::NotStarted { errno, message })) => {
            seen.said = message;
            Ending::NotStarted { errno }
        }
        (None, Some(Ended::Lost) | None) => {
            seen.said = "it ended and took the command with it".to_owned();
            Ending::Lost
        }
    };
    Some((seen, ending))
}

/// Takes what is secret out of words that somebody inside chose: the work asks for hosts by any name.
pub(crate) fn conceal(seen: &mut ZoneSeen, secrets: &[Vec<u8>]) {
    let told =
        |secrets: &[Vec<u8>], text: &str| String::from_utf8_lossy(&masked(secrets, text.as_bytes())).into_owned();
    // The name of a host has one spelling, in small letters; what is none is told as it was asked for.
    let small: Vec<Vec<u8>> = secrets.iter().map(|form| form.to_ascii_lowercase()).collect();
    seen.said = told(secrets, &seen.said);
    for connection in &mut seen.egress {
        let host = told(&small, &told(secrets, &connection.host));
        connection.host = unended(&host, secrets.iter().chain(&small));
    }
}

/// Without the beginning of a secret that it ends with: what is no host is cut where it is long.
fn unended<'s>(text: &str, secrets: impl Iterator<Item = &'s Vec<u8>>) -> String {
    let begun = |secret: &Vec<u8>| {
        let most = secret.len().min(text.len());
        (BEGINNING_MIN_BYTES..=most).rfind(|length| text.as_bytes().ends_with(&secret[..*length]))
    };
    match secrets.filter_map(begun).max() {
        Some(length) => format!("{}***", &text[..text.floor_char_boundary(text.len() - length)]),
        None => text.to_owned(),
    }
}

/// A zone that nothing was started in.
pub(crate) fn refused(zone: Zone, refused: Refusal) -> ZoneSeen {
    ZoneSeen {
        refused: Some(refused.cause),
        said: refused.message,
        ..blank(zone)
    }
}

/// A zone of which nothing is known yet.
pub(crate) fn blank(zone: Zone) -> ZoneSeen {
    ZoneSeen {
        zone,
        facts: String::new(),
        fixed: Vec::new(),
        refused: None,
        said: String::new(),
        left_inside: 0,
        egress: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::{Connection, RefusalCause};
    use std::fs;

    #[test]
    fn a_zone_is_only_said_to_have_held_where_its_launcher_says_how_the_command_ended() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("zone.json");
        assert_eq!(account(&place, Zone::Exec), None);
        fs::write(&place, "{ half of").unwrap();
        assert_eq!(account(&place, Zone::Exec), None);
        let ending = |report: &ZoneReport| {
            fs::write(&place, serde_json::to_vec(report).unwrap()).unwrap();
            account(&place, Zone::Exec).unwrap().1
        };
        let report = ZoneReport::default();
        assert_eq!(ending(&report), Ending::Lost);
        let ended = ZoneReport {
            ended: Some(Ended::Exited(0)),
            ..report
        };
        assert_eq!(ending(&ended), Ending::AsSeen);
        let capped = ZoneReport {
            cap: Some("bytes".into()),
            ..ended.clone()
        };
        assert_eq!(ending(&capped), Ending::EgressCap);
        let full = ZoneReport {
            cap: Some("volume".into()),
            ..ended.clone()
        };
        assert_eq!(ending(&full), Ending::VolumeCap);
        let stuck = ZoneReport {
            outlived: true,
            ..ended.clone()
        };
        assert_eq!(ending(&stuck), Ending::Outlived, "whatever its command did");
        let refused = ZoneReport {
            refused: Some(Refusal {
                cause: RefusalCause::ProbeFailed,
                message: "no".into(),
            }),
            ..ended
        };
        assert_eq!(ending(&refused), Ending::Refused);
    }

    #[test]
    fn a_name_that_somebody_inside_made_of_a_secret_is_told_without_it() {
        let mut seen = blank(Zone::Agent);
        seen.said = "stays: name-Sk-Canary".to_owned();
        seen.egress = ["sk-canary.evil.test", "model.test", "Sk-Canary:1", "a long word:Sk-Can"]
            .map(|host| Connection {
                host: host.to_owned(),
                port: 443,
                allowed: false,
                reason: "host".to_owned(),
                connections: 1,
                bytes_in: 0,
                bytes_out: 0,
            })
            .to_vec();
        conceal(&mut seen, &[b"Sk-Canary".to_vec()]);
        let hosts: Vec<&str> = seen.egress.iter().map(|row| row.host.as_str()).collect();
        assert_eq!(
            (seen.said.as_str(), &hosts[..]),
            (
                "stays: name-***",
                &["***.evil.test", "model.test", "***:1", "a long word:***"][..]
            )
        );
    }
}

//! Attacks that one script tries, each in a zone of its own, by the numbers of the catalogue.
//!
//! `$X` is the attacker's hand, `$W` the work tree, `$H` a directory of the host, `$D` a port that listens on the
//! host's loopback.

use std::net::TcpListener;

use libtest_mimic::{Failed, Trial};
use shell::zone::{Ended, Zone};

use super::support::{Room, run};

mod table;

/// What a zone's answer has to be.
enum Answer {
    /// Every one of these stands in what it printed.
    Says(&'static [&'static str]),
    /// What it printed is this.
    Is(&'static str),
    /// It was ended by this signal.
    Dies(i32),
}

use Answer::{Dies, Is, Says};

use self::table::ATTACKS;

struct Attack {
    id: &'static str,
    fact: &'static str,
    zones: &'static [Zone],
    script: &'static str,
    answer: Answer,
}

/// One test for each attack in each of its zones.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for attack in ATTACKS {
        for zone in attack.zones {
            let name = format!("{}::{}::{}", attack.id.to_lowercase(), zone.label(), attack.fact);
            trials.push(Trial::test(name, move || attack.tried(*zone)));
        }
    }
    trials
}

impl Attack {
    fn tried(&self, zone: Zone) -> Result<(), Failed> {
        let room = Room::new();
        let host = room.make_directory("host");
        let decoy = TcpListener::bind("127.0.0.1:0")?;
        let script = format!("exec 2>&1\n{}", self.script);
        let mut plan = room.plan(zone, &["sh", "-c", &script]);
        plan.env.extend([
            ("X".into(), "/loopexec/init attack".into()),
            ("H".into(), host.into()),
            ("D".into(), decoy.local_addr()?.port().to_string().into()),
        ]);
        let run = run(&plan);
        let ended = run.report.as_ref().and_then(|report| report.ended.clone());
        let as_it_must = match self.answer {
            Says(words) => words.iter().all(|word| run.stdout.contains(word)),
            Is(text) => run.stdout == text,
            Dies(signal) => ended == Some(Ended::Signaled(signal)) && run.signal() == Some(signal),
        };
        if as_it_must && ended.is_some() {
            return Ok(());
        }
        Err(format!("{} in the {} zone: {run:#?}", self.id, zone.label()).into())
    }
}

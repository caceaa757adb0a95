//! What this machine can isolate with: facts, found by doing. Both zones are started once, with nothing to do.

use std::fs;

use engine::doctor::KEY_LEFT;
use engine::event::policy::Policy;
use engine::event::zone::{ZoneName, ZoneRefusal, ZoneSeen};
use engine::hermetic::tiers::{self, Standing};
use engine::vet::hermeticity;

use crate::lock;
use crate::paths::StateDir;
use crate::probe::dimension::clock;
use crate::process::landlock_abi;
use crate::zone::credential::Desk;
use crate::zone::credential::loan::{self, Loan};
use crate::zone::preflight;

use super::{Concern, Looked, Patient};

pub(super) static CONCERN: Concern = Concern {
    name: "isolation",
    doc: "whether work and check can run in zones of their own",
    look,
};

/// Files of the kernel that withhold user namespaces, and what they hold where they do.
const WITHHELD: &[(&str, &str)] = &[
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
];

/// What to do where zones are not asked for.
const REMEDY: &str = "where the work is not trusted, make this possible and add --isolate";

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether both zones start; `None` where there is no bwrap.
    pub bwrap_starts: Option<bool>,
    /// Whether the kernel's settings withhold namespaces from users.
    pub user_namespaces_withheld: bool,
    /// Version of the kernel's Landlock; `None` where it has none.
    pub landlock_abi: Option<u32>,
}

fn look(patient: &Patient, looked: &mut Looked) {
    let withheld = WITHHELD.iter().find(|(file, value)| {
        let text = fs::read_to_string(file);
        text.is_ok_and(|text| text.trim() == *value)
    });
    looked.isolation.user_namespaces_withheld = withheld.is_some();
    match withheld {
        Some((file, value)) => {
            let detail = format!("it says {value}: programs of a user get no namespaces of their own");
            looked.note(
                &CONCERN,
                file,
                detail,
                "an administrator can change it, or give bwrap an AppArmor profile",
            );
        }
        None => looked.ok(&CONCERN, "user namespaces", "no setting of the kernel withholds them"),
    }
    looked.isolation.landlock_abi = landlock_abi();
    match looked.isolation.landlock_abi {
        Some(abi) => looked.ok(&CONCERN, "Landlock", format!("the kernel has version {abi} of it")),
        None => looked.note(&CONCERN, "Landlock", "the kernel has none, or it is switched off", ""),
    }
    zones(patient, looked);
}

fn zones(patient: &Patient, looked: &mut Looked) {
    let wanted = patient.policy.isolation.zones;
    let mut policy = patient.policy.clone();
    policy.isolation.zones = true;
    let seen = preflight::see(
        &policy,
        &patient.workdir,
        &patient.env,
        &patient.exe,
        &patient.stop.wishes,
    );
    let missing = seen
        .iter()
        .any(|zone| zone.refused == Some(ZoneRefusal::BackendMissing));
    looked.isolation.bwrap_starts = (!missing).then(|| seen.iter().all(|zone| zone.refused.is_none()));
    for zone in &seen {
        let subject = format!("{} zone", zone.zone);
        match zone.refused {
            None => looked.ok(&CONCERN, subject, format!("it starts: {}", zone.facts)),
            Some(refusal) if wanted => {
                let fault = (refusal.reason(), refusal.label());
                looked.problem(
                    &CONCERN,
                    fault,
                    subject,
                    zone.said.clone(),
                    "or run without --isolate, unprotected",
                );
            }
            Some(_) => looked.note(&CONCERN, subject, zone.said.clone(), REMEDY),
        }
    }
    terms(patient, looked, &seen);
    tier(patient, looked, &seen);
    if seen.iter().all(|zone| zone.refused.is_none()) {
        inside(&policy, patient, looked);
        standing_clock(&policy, patient, looked);
        death(&policy, patient, looked);
        credential(patient, looked);
    }
}

/// What must not be reached from inside of them, tried.
fn inside(policy: &Policy, patient: &Patient, looked: &mut Looked) {
    let wishes = &patient.stop.wishes;
    let fault = (ZoneRefusal::ProbeFailed.reason(), ZoneRefusal::ProbeFailed.label());
    let remedy = "run nothing in such a zone that you do not trust";
    match preflight::reached(policy, &patient.workdir, &patient.env, &patient.exe, wishes) {
        Err(refusal) => looked.problem(&CONCERN, fault, "from inside", refusal.message, remedy),
        Ok(tried) => {
            for (zone, reached) in tried {
                let subject = format!("from inside the {zone} zone");
                if reached.is_empty() {
                    let detail =
                        "no file beside the tree, no process, no network and no host that is not listed is reached";
                    looked.ok(&CONCERN, subject, detail);
                } else {
                    looked.problem(&CONCERN, fault, subject, reached.join("; "), remedy);
                }
            }
        }
    }
}

/// Whether a clock stands still in the zone of a check that is declared hermetic, tried (SPEC 6.7.2).
fn standing_clock(policy: &Policy, patient: &Patient, looked: &mut Looked) {
    if !patient.policy.isolation.zones || !hermeticity::declared(&patient.policy) {
        return;
    }
    let (subject, wishes) = ("tier T1", &patient.stop.wishes);
    let (words, stood) = clock::trial();
    let remedy = "install faketime where the exec zone sees it: below /usr, or in a directory of --toolchain";
    match preflight::says(policy, &patient.workdir, &patient.env, &patient.exe, wishes, words) {
        Ok(said) if stood(&said) => {
            let detail = "a clock stands still in the exec zone, for programs that load the preload";
            looked.ok(&CONCERN, subject, detail);
        }
        Ok(_) => {
            let detail = "not to be had: what faketime starts in the exec zone does not find the clock standing";
            looked.note(&CONCERN, subject, detail, remedy);
        }
        Err(refusal) => looked.note(&CONCERN, subject, refusal.message, remedy),
    }
}

/// Whether a governor that is killed takes its zone along, tried with one that stands in for it.
fn death(policy: &Policy, patient: &Patient, looked: &mut Looked) {
    let fault = (ZoneRefusal::ProbeFailed.reason(), ZoneRefusal::ProbeFailed.label());
    let (subject, wishes) = ("kill of the governor", &patient.stop.wishes);
    let remedy = "end what is left, and run nothing in such a zone: a run that dies would leave its work running";
    let detail = match preflight::outliving(policy, &patient.workdir, &patient.env, &patient.exe, wishes) {
        Ok(left) if left.is_empty() => {
            let detail = "one that stood in for it was killed, and nothing of its zone lived on";
            return looked.ok(&CONCERN, subject, detail);
        }
        Ok(left) => format!("one that stood in for it was killed, and left {}", left.join("; ")),
        Err(refusal) => refusal.message,
    };
    if patient.policy.isolation.zones {
        looked.problem(&CONCERN, fault, subject, detail, remedy);
    } else {
        looked.note(&CONCERN, subject, detail, remedy);
    }
}

/// The two programs of the key, tried once: it is made, handed to nobody and revoked.
fn credential(patient: &Patient, looked: &mut Looked) {
    let isolation = &patient.policy.isolation;
    if !isolation.zones || !loan::is_asked_for(isolation) || engine::isolation_objection(&patient.policy).is_some() {
        return;
    }
    let subject = "the key";
    let Ok(Some(state)) = StateDir::open(&patient.workdir) else {
        let detail = "it was not tried: word of it would lie in the state directory, and there is none yet";
        return looked.note(&CONCERN, subject, detail, "loopexec init");
    };
    if !matches!(lock::holder(&state), Ok(None)) {
        let detail = "it was not tried: a run is at work and may have one of its own";
        return looked.note(&CONCERN, subject, detail, "look again when the run has ended");
    }
    let desk = Desk::new(&patient.exe, &patient.env, &patient.workdir);
    match Loan::take(desk, &state, isolation) {
        Err(refusal) => {
            let fault = (refusal.cause.reason(), refusal.cause.label());
            looked.problem(&CONCERN, fault, subject, refusal.message, "see to the two commands");
        }
        Ok((loan, _unused)) => {
            let label = loan.label();
            match loan.give_back() {
                Ok(()) => looked.ok(&CONCERN, subject, format!("one was made as {label}, and revoked again")),
                Err(why) => looked.problem(
                    &CONCERN,
                    KEY_LEFT,
                    format!("key {label}"),
                    format!("it was made for a try and may still be good: {why}"),
                    "revoke it by hand, or see to what its revoke command says and run `loopexec doctor` again",
                ),
            }
        }
    }
}

/// What a check that is declared hermetic would have of its surroundings fixed (SPEC 6.7.2).
fn tier(patient: &Patient, looked: &mut Looked, seen: &[ZoneSeen]) {
    if !hermeticity::declared(&patient.policy) {
        return;
    }
    let isolated = patient.policy.isolation.zones;
    let zone = seen.iter().find(|zone| isolated && zone.zone == ZoneName::Exec);
    let t0 = tiers::t0(&patient.policy.oracle, zone);
    match t0.standing {
        Standing::Held => looked.ok(&CONCERN, "tier T0", t0.to_string()),
        _ => looked.note(
            &CONCERN,
            "tier T0",
            t0.to_string(),
            "add --isolate, and pass on fewer variables",
        ),
    }
}

/// What zones that start would mean for this contract.
fn terms(patient: &Patient, looked: &mut Looked, seen: &[ZoneSeen]) {
    let isolation = &patient.policy.isolation;
    if !isolation.zones {
        let starts = seen.iter().all(|zone| zone.refused.is_none());
        let remedy = if starts {
            "add --isolate to run them in zones of their own"
        } else {
            REMEDY
        };
        let detail = "work and check run with your rights, in your file system and network";
        return looked.note(&CONCERN, "the contract", detail, remedy);
    }
    if let Some((reason, cause, detail)) = engine::isolation_objection(&patient.policy) {
        looked.problem(&CONCERN, (reason, cause), "the contract", detail, "");
    }
    if isolation.egress_allow.is_empty() && isolation.gateway.is_empty() && !patient.policy.exec.is_empty() {
        let detail = "the work can connect to nothing: an agent does not reach its model";
        looked.note(
            &CONCERN,
            "the contract",
            detail,
            "name the model's host with --gateway NAME=https://HOST or --egress-allow HOST:PORT",
        );
    }
}

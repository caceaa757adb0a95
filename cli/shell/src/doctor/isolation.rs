//! What this machine can isolate with: facts, found by doing. Both zones are started once, with nothing to do.

use std::fs;

use engine::event::zone::{ZoneName, ZoneRefusal, ZoneSeen};
use engine::hermetic::tiers::{self, Standing};
use engine::vet::hermeticity;

use crate::process::landlock_abi;
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
    if isolation.egress_allow.is_empty() && !patient.policy.exec.is_empty() {
        let detail = "the work can connect to nothing: an agent does not reach its model";
        looked.note(
            &CONCERN,
            "the contract",
            detail,
            "name the model's host with --egress-allow HOST:PORT",
        );
    }
}

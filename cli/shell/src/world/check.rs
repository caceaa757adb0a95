//! The check: one run, one captured artefact, one reading of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use engine::event::id::Digest;
use engine::event::measurement::{self as fact, MemberStatus, ReportState};
use engine::event::policy::Oracle as Contract;
use engine::{Observation, Reading, State};

use super::RealWorld;
use super::command::{Job, Output, argv, limits, nothing_ran};
use super::detection::detection;
use super::report_file::ReportFile;
use super::{output, relocated, secrets, zones};
use crate::driver::Meanwhile;
use crate::foreign;
use crate::oracle::collect::{self, CollectError, Collector, Detection, InjectRequest, ReportPlan};
use crate::oracle::{Artefact, Measured, Status, normalise};
use crate::process::{CommandRun, Input};
use crate::scratch::Scratch;
use crate::tree::TreeId;
use crate::zone::{Refusal, Zone};

/// How the check of this run is read.
#[derive(Debug)]
pub struct Oracle {
    detection: Detection,
    /// Named by the contract, or recognised in the command.
    collector: Option<&'static Collector>,
    /// Leave out what can make a runner refuse to start.
    light: bool,
}

impl Oracle {
    pub(super) fn new(workdir: &Path, contract: &Contract) -> Self {
        let detection = detection(workdir, &contract.check);
        let collector = match contract.collector.as_str() {
            "auto" => collect::choose(&detection),
            "none" => None,
            name => collect::by_name(name),
        };
        Self {
            detection,
            collector,
            light: false,
        }
    }

    /// The runner refused what was injected, and is given less from now on.
    pub(crate) fn is_light(&self) -> bool {
        self.light
    }
}

impl RealWorld {
    pub(super) fn check(
        &mut self,
        state: &State,
        iteration: u32,
        attempt: u32,
        copy_of: Option<Digest>,
        time_left_ms: Option<u64>,
        meanwhile: &mut dyn FnMut(Meanwhile) -> bool,
    ) -> Observation {
        let facts = &state.facts;
        let policy = facts.policy();
        let reports = self.fresh_reports();
        let within = match self
            .zones
            .is_some()
            .then(|| self.enter_exec_zone(copy_of.unwrap_or(facts.tree), &reports, &self.support()))
        {
            Some(Err(refusal)) => return self.not_entered(refusal),
            Some(Ok(within)) => Some(within),
            None => None,
        };
        let parted = copy_of.filter(|_| within.is_none()).map(|tree| self.part(state, tree));
        if let Some(Err(why)) = parted {
            return self.not_parted(why);
        }
        let mut env = self.meant_for_the_check();
        env.extend(self.fresh_tmp());
        env.extend([
            ("LOOPEXEC_RUN_ID".into(), OsString::from(self.run.id().as_str())),
            ("LOOPEXEC_ITERATION".into(), iteration.to_string().into()),
            // A fast loop changes a file twice within one second: a cached copy of the first would be believed.
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
        ]);
        let plan = self.inject(&reports, &mut env);
        let zoned = within.is_some();
        let named = policy.oracle.report.as_ref();
        let named = named.map(|path| ReportFile::new(self.check_root(), Path::new(OsStr::from_bytes(&path.0)), zoned));
        let job = Job {
            place: self.apart.as_ref().map(Scratch::tree),
            within,
            argv: [self.around.clone(), argv(&policy.oracle.check)].concat(),
            env,
            input: Input::Closed,
            output: Output::Read(&policy.capture),
            limits: limits(&facts.bounds, facts.bounds.check_timeout_ms, time_left_ms),
            umask: engine::hermetic::umask(&policy.oracle),
            label: format!("check-{iteration}-{attempt}"),
            meanwhile: Some(meanwhile),
        };
        let (mut run, mut fact) = self.command(state, job);
        self.check_passed = fact.exited() == Some(policy.oracle.success_exit);
        if zoned && let Err(why) = self.settle_exec_zone(&reports) {
            zones::lose(&mut fact, Zone::Exec, why);
            output::forget(&mut run);
            return self.unread(fact);
        }
        let started = Instant::now();
        let mut reading = self.read(state, &run, &fact, plan, &reports, named.as_ref());
        if let Some(command) = &policy.oracle.failures_cmd {
            self.failures(state, command, &run, &mut fact, &mut reading);
        }
        if let Some(command) = &policy.oracle.integrity_cmd {
            reading.integrity = Some(self.integrity(state, command, &run, &mut fact));
        }
        output::forget(&mut run);
        self.rejoin();
        // What a runner reports is as secret as what it prints, and from here on all of it is kept.
        if self.oracle.collector.is_some() {
            let _ = fs::remove_dir_all(&reports);
        }
        secrets::conceal(&mut reading, &self.secrets);
        reading.members_digest = digest_members(&reading.members);
        // In a copy nothing is known of t0; whoever made it settles what moved.
        let seen = || self.tree.manifest(TreeId(copy_of.unwrap_or(facts.tree).0)).ok();
        self.renamed = relocated::settle(&mut reading, state, &self.tree, seen);
        if let Some(integrity) = &mut reading.integrity {
            integrity.digest = hash_lines(&integrity.ids);
        }
        reading.cost_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        Observation::Checked {
            at: self.clock.stamp(),
            run: fact,
            reading,
            interference: self.interference(),
        }
    }

    /// A check that could not be begun.
    fn not_entered(&mut self, refusal: Refusal) -> Observation {
        self.unread(zones::not_entered(Zone::Exec, refusal))
    }

    /// A check of which nothing that it wrote is looked at.
    fn unread(&mut self, run: fact::CommandRun) -> Observation {
        Observation::Checked {
            at: self.clock.stamp(),
            run,
            reading: Reading::nothing(),
            interference: self.interference(),
        }
    }

    /// A check whose tree could not be laid out.
    fn not_parted(&mut self, why: String) -> Observation {
        Observation::Checked {
            at: self.clock.stamp(),
            run: nothing_ran(),
            reading: Reading {
                note: why,
                ..Reading::nothing()
            },
            interference: self.interference(),
        }
    }

    fn support(&self) -> PathBuf {
        self.run.path().join("support")
    }

    /// A temporary directory that no earlier run of the check has seen.
    fn fresh_tmp(&mut self) -> Option<(OsString, OsString)> {
        let place = self.check_place.as_mut()?;
        place.renew_tmp().ok()?;
        Some(("TMPDIR".into(), place.tmp().into()))
    }

    /// An empty directory for the reports of one run: nothing in it can be older than the run.
    fn fresh_reports(&self) -> PathBuf {
        let reports = self.run.path().join("reports");
        if self.oracle.collector.is_some() || self.zones.is_some() {
            let _ = fs::remove_dir_all(&reports);
            let _ = fs::create_dir_all(&reports);
        }
        reports
    }

    /// Adds the reporters that the runner takes by environment.
    fn inject(&self, reports: &Path, env: &mut Vec<(OsString, OsString)>) -> ReportPlan {
        let Some(collector) = self.oracle.collector else {
            return ReportPlan::Output;
        };
        let support = self.support();
        let (seen_reports, seen_support) = match self.zones {
            Some(_) => (zones::inside("reports"), zones::inside("support")),
            None => (reports.to_path_buf(), support.clone()),
        };
        let injection = (collector.inject)(&InjectRequest {
            detection: &self.oracle.detection,
            reports_dir: &seen_reports.display().to_string(),
            support_dir: &seen_support.display().to_string(),
            light: self.oracle.light,
        });
        if !injection.support_files.is_empty() {
            let _ = fs::create_dir_all(&support);
            for (name, content) in &injection.support_files {
                let path = support.join(name);
                if foreign::read(&path, content.len() as u64).ok().as_deref() != Some(content.as_bytes()) {
                    let _ = foreign::write(&path, content.as_bytes());
                }
            }
        }
        let inherited = |name: &str| {
            let found = self.env.iter().rev().find(|(n, _)| n == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned())
        };
        env.extend(
            injection
                .environment(inherited)
                .into_iter()
                .map(|(n, v)| (n.into(), v.into())),
        );
        injection.report
    }

    fn read(
        &mut self,
        _: &State,
        run: &CommandRun,
        fact: &fact::CommandRun,
        plan: ReportPlan,
        reports: &Path,
        named: Option<&ReportFile>,
    ) -> Reading {
        let (stdout, stderr) = (output::read(&run.stdout), output::read(&run.stderr));
        let files = match self.oracle.collector {
            Some(_) => report_files(reports),
            None => Vec::new(),
        };
        let (mut report, report_bytes) = match (named, plan) {
            (Some(file), _) => file.read(),
            (None, ReportPlan::File(name)) => match files.iter().find(|(found, _)| found == name) {
                Some((_, bytes)) => (ReportState::Fresh, Some(bytes.clone())),
                None => (ReportState::Absent, None),
            },
            (None, ReportPlan::Output | ReportPlan::NamedByUser) => (ReportState::NotUsed, None),
        };
        let workdir = self.check_sees();
        let workdir = workdir.to_string_lossy();
        let artefact = Artefact {
            exit: fact.exited(),
            stdout: &stdout.bytes,
            stderr: &stderr.bytes,
            report: report_bytes.as_deref(),
            reports_dir_files: &files,
            workdir: &workdir,
        };
        let whole = stdout.whole && stderr.whole;
        let collector = self.oracle.collector.or_else(|| {
            let auto = self.oracle.detection.command.is_empty() || whole;
            auto.then(|| collect::recognise(&artefact)).flatten()
        });
        let mut reading = bare(&stdout.bytes, &stderr.bytes, fact.exited() != Some(0));
        match collector.map(|collector| collector.read(&artefact)) {
            None => reading.report = report,
            Some(Ok(measured)) => {
                if !whole && report == ReportState::NotUsed {
                    reading.note = "the output is longer than what is kept, so no report could be read".into();
                    report = ReportState::Malformed;
                } else {
                    fill(&mut reading, measured);
                }
                reading.report = report;
            }
            Some(Err(CollectError::InjectionRefused { what, .. })) => {
                self.oracle.light = true;
                reading.note = format!("the runner refused an injected reporter ({what}); the next run goes without");
                reading.report = ReportState::NotUsed;
            }
            Some(Err(error)) => {
                reading.note = error.to_string();
                reading.report = match error {
                    CollectError::Absent { .. } if report != ReportState::Stale => ReportState::Absent,
                    _ if report == ReportState::Stale => ReportState::Stale,
                    _ => ReportState::Malformed,
                };
                // The collector was meant to read this run: its name stands, so that guards know.
                reading.collector = collector.map(|c| c.name.to_string()).unwrap_or_default();
            }
        }
        reading
    }
}

/// What is known without a collector.
fn bare(stdout: &[u8], stderr: &[u8], red: bool) -> Reading {
    let mut hasher = blake3::Hasher::new();
    for stream in [stdout, stderr] {
        hasher.update(&normalise::output_fingerprint_input(stream)).update(&[0]);
    }
    let mut text = String::from_utf8_lossy(stdout).into_owned();
    text.push('\n');
    text.push_str(&String::from_utf8_lossy(stderr));
    let said = red && !text.trim().is_empty();
    Reading {
        messages_digest: if said {
            hash(normalise::message(&text).as_bytes())
        } else {
            Digest::ZERO
        },
        output_digest: Digest(*hasher.finalize().as_bytes()),
        ..Reading::nothing()
    }
}

/// Puts what a collector measured into the reading.
fn fill(reading: &mut Reading, measured: Measured) {
    let mut messages = blake3::Hasher::new();
    let mut said = false;
    let mut members = Vec::with_capacity(measured.members.len());
    for member in measured.members {
        if member.container && !member.status.is_failing() {
            continue;
        }
        if member.status.is_failing() && !member.message.is_empty() {
            said = true;
            messages.update(member.id.as_bytes()).update(&[0]);
            messages
                .update(normalise::message(&member.message).as_bytes())
                .update(&[0]);
        }
        let id = if member.container {
            format!("({})", member.id)
        } else {
            member.id
        };
        members.push((id, status(member.status)));
    }
    members.sort_unstable();
    members.dedup_by(|a, b| a.0 == b.0);
    reading.collector = measured.collector.into();
    reading.note = measured.notes.join("; ");
    reading.announced = measured.announced;
    reading.concluded = measured.concluded;
    reading.finished = measured.finished;
    reading.complete = measured.complete;
    reading.contradictions = measured.contradictions;
    reading.retried = measured.retried;
    reading.members = members;
    reading.messages_digest = if said {
        Digest(*messages.finalize().as_bytes())
    } else {
        Digest::ZERO
    };
}

fn status(status: Status) -> MemberStatus {
    match status {
        Status::Passed => MemberStatus::Passed,
        Status::Failed => MemberStatus::Failed,
        Status::Error => MemberStatus::Error,
        Status::Skipped => MemberStatus::Skipped,
        Status::Xfail => MemberStatus::Xfail,
        Status::Xpass => MemberStatus::Xpass,
        Status::Ignored => MemberStatus::Ignored,
        Status::Todo => MemberStatus::Todo,
        Status::FlakyPassed => MemberStatus::FlakyPassed,
    }
}

pub(super) fn digest_members(members: &[(String, MemberStatus)]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for (id, status) in members {
        hasher
            .update(id.as_bytes())
            .update(&[0])
            .update(status.label().as_bytes())
            .update(b"\n");
    }
    Digest(*hasher.finalize().as_bytes())
}

fn hash_lines(lines: &[String]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for line in lines {
        hasher.update(line.as_bytes()).update(b"\n");
    }
    Digest(*hasher.finalize().as_bytes())
}

fn hash(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

/// Files of the reports directory, by their name relative to it.
fn report_files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let file = foreign::open_beneath(dir, Path::new(&entry.file_name())).ok()?;
            let bytes = output::report_from(file).ok()?;
            Some((entry.file_name().into_string().ok()?, bytes))
        })
        .collect();
    files.sort();
    files
}

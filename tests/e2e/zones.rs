//! Work and check in zones of their own: the same verdicts, and nothing that leads out (SPEC 14).

mod bounds;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use super::runners::mended_in_three_turns;
use crate::support::story::{Project, Said, available, python_with_pytest};
use crate::support::zones::{flags, zones};
use crate::support::{Project as Running, Sleeper, wait_until};

/// Guards before green are other stories' business.
const FAST: &[&str] = &["--fast", "--guard-off", "sentinel_pair"];

pub(super) const CHECK: &str = "grep -q done product";

pub(super) fn project() -> Project {
    Project::committed(&[("README", "x\n"), ("product", "open\n")])
}

/// A run in zones.
pub(super) fn isolated(project: &Project, work: &str, check: &str, more: &[&str]) -> Said {
    project.run(work, check, &[flags(), FAST, more].concat())
}

/// What was in force while the commands of the run ran, by name of the zone.
fn seen(project: &Project, said: &Said, event: &str) -> Vec<Value> {
    let events = project.events(said).into_iter();
    let events = events
        .map(|record| record["event"].clone())
        .filter(|found| found["event"] == event);
    events.map(|found| found["run"]["zone"].clone()).collect()
}

#[test]
fn a_pytest_project_goes_from_red_to_green_in_zones_as_without_them() {
    let (Some(zones), Some(python)) = (zones(), python_with_pytest()) else {
        return;
    };
    let project = Project::fixture("pytest-project");
    let said = mended_in_three_turns(&project, &[&python, "-m", "pytest", "-q"], &[zones, FAST].concat());
    let report = project.json(&["report"]);
    let isolation = &report.json["report"]["isolation"];
    assert_eq!(isolation["zones"], true, "{isolation}");
    let row = &report.json["report"]["timeline"][1]["isolation"];
    assert_eq!(
        (&row["work"]["zone"], &row["check"]["zone"]),
        (&"agent".into(), &"exec".into())
    );
    for zone in ["agent_zone_facts", "exec_zone_facts"] {
        let facts = isolation[zone].as_str().unwrap_or_default();
        for fact in ["capabilities 0000000000000000", "network lo", "seccomp"] {
            assert!(facts.contains(fact), "{zone}: {facts}");
        }
    }
    assert!(
        seen(&project, &said, "check_ended")
            .iter()
            .all(|zone| zone["zone"] == "exec")
    );
}

#[test]
fn a_cargo_workspace_goes_from_red_to_green_in_zones_as_without_them() {
    let Some(zones) = zones() else { return };
    if !available("cargo") {
        return;
    }
    let project = Project::fixture("cargo-project");
    let check = ["cargo", "test", "--workspace", "--offline", "--no-fail-fast"];
    mended_in_three_turns(&project, &check, &[zones, FAST].concat());
}

#[test]
fn a_node_project_goes_from_red_to_green_in_zones_as_without_them() {
    let Some(zones) = zones() else { return };
    if !available("node") {
        return;
    }
    let project = Project::fixture("node-project");
    let said = mended_in_three_turns(&project, &["node", "--test"], zones);
    // A run that is measured is told so by a variable, and leaves its counts where they are found.
    assert_eq!(project.vetted(&said, "coverage")["state"], "active");
}

#[test]
fn a_probe_varies_what_is_let_into_a_zone_and_says_what_that_has_of_its_own() {
    let Some(zones) = zones() else { return };
    let check = "test \"$(date +%Z)\" = UTC";
    let few = [
        "--runs",
        "1",
        "--side-effect-runs",
        "0",
        "--dimensions=timezone,network",
    ];
    let said = project().json(&[&["probe-check", "--check", check], zones, &few[..]].concat());
    said_is(&said, 14, "check_flaky", "dimension_disagreed");
    let dimensions = said.json["probe"]["dimensions"].to_string();
    assert!(dimensions.contains("the exec zone fixes it"), "{dimensions}");
}

#[track_caller]
fn said_is(said: &Said, exit: i32, reason: &str, cause: &str) {
    assert_eq!(
        (said.exit, said.reason(), said.cause()),
        (exit, reason, cause),
        "{}",
        said.all()
    );
}

#[test]
fn the_work_sees_its_volume_and_nothing_of_the_users_and_reaches_nobody() {
    let Some(_) = zones() else { return };
    let mut project = project();
    project.set("CANARY", "canary-value");
    fs::write(project.outside("home/.netrc"), "secret").unwrap();
    fs::write(project.outside("beside"), "secret").unwrap();
    let home = project.outside("home");
    let work = format!(
        "{{ echo home: $HOME; ls -a {}; cat {}; env | grep -c CANARY; cat /proc/1/environ; \
         cat /proc/net/route | wc -l; echo ask > $LOOPEXEC_CONTEXT.mine; git log --format=%s; }} > told 2>&1; \
         echo done > product",
        home.display(),
        project.outside("beside").display(),
    );
    let said = isolated(&project, &work, CHECK, &[]);
    said.converged(1);
    let told = project.read("told");
    assert!(told.contains("home: /home/loopexec"), "{told}");
    assert!(
        !told.contains("secret") && !told.contains("canary") && !told.contains(".netrc"),
        "{told}"
    );
    assert!(told.contains("No such file or directory"), "{told}");
    assert!(
        told.lines().any(|line| line == "0"),
        "the variable is not there: {told}"
    );
    assert!(
        told.lines().any(|line| line == "1"),
        "a table of routes has its head alone: {told}"
    );
    assert!(
        told.lines().any(|line| line == "start"),
        "history is there to be read: {told}"
    );
    assert_eq!(seen(&project, &said, "execute_ended")[0]["zone"], "agent");
}

#[test]
fn a_variable_reaches_isolated_work_only_by_its_name_and_no_check_at_all() {
    let Some(_) = zones() else { return };
    let mut project = project();
    project.set("MODEL_KEY", "key-of-the-model");
    project.set("OTHER_KEY", "other-key");
    let work = "echo $MODEL_KEY/$OTHER_KEY > told; echo done > product";
    let check = format!("{CHECK} && test -z \"$MODEL_KEY$OTHER_KEY\"");
    isolated(&project, work, &check, &["--agent-env", "MODEL_KEY"]).converged(1);
    assert_eq!(project.read("told"), "key-of-the-model/\n");
}

#[test]
fn only_the_works_own_changes_come_back_and_no_pipe_no_link_out_and_no_hook_with_them() {
    let Some(_) = zones() else { return };
    let project = project();
    project.write(".gitignore", "cache/\n");
    project.write("cache/kept", "mine\n");
    let marker = project.outside("marker");
    let work = format!(
        "echo spoiled > cache/kept; mkfifo pipe; ln -s /nowhere/passwd link; mkdir -p new/deep; echo x > new/deep/file; \
         chmod +x README; rm -rf .git/hooks; mkdir -p .git/hooks .loopexec/runs; \
         printf '#!/bin/sh\\ntouch {0}\\n' > .git/hooks/post-checkout; git config core.fsmonitor 'touch {0}'; \
         echo forged > .loopexec/runs/forged; echo done > product",
        marker.display()
    );
    let said = isolated(&project, &work, CHECK, &["--allow", "**"]);
    said.converged(1);
    assert_eq!(project.read("cache/kept"), "mine\n");
    assert_eq!(project.read("new/deep/file"), "x\n");
    let mode = fs::metadata(project.dir().join("README")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert!(fs::symlink_metadata(project.dir().join("pipe")).is_err());
    assert!(!project.dir().join(".git/hooks/post-checkout").exists());
    assert!(!project.dir().join(".loopexec/runs/forged").exists());
    assert!(!marker.exists());
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn a_check_cannot_write_its_tree_but_where_the_contract_says_so_and_finds_that_empty_each_time() {
    let Some(_) = zones() else { return };
    let project = project();
    project.write("out/.keep", "");
    let check = format!("! touch here && ! test -e out/stale && touch out/stale && test -e out/.keep && {CHECK}");
    let more = ["--check-output", "out", "--no-baseline"];
    isolated(&project, "echo done > product", &check, &more).converged(1);
    assert!(!project.dir().join("here").exists() && !project.dir().join("out/stale").exists());
    let linked = Project::committed(&[("product", "open\n")]);
    std::os::unix::fs::symlink(linked.outside("home"), linked.dir().join("out")).unwrap();
    let said = isolated(&linked, "true", CHECK, &["--check-output", "out"]);
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(said.why().contains("out leads over"), "{}", said.why());
}

#[test]
fn a_report_of_a_zone_leads_to_no_file_outside_of_it() {
    let Some(_) = zones() else { return };
    let project = project();
    project.write("out/.keep", "");
    let secret = project.outside("home/report.xml");
    fs::write(
        &secret,
        "<testsuite tests='1'><testcase classname='secret' name='canary'/></testsuite>",
    )
    .unwrap();
    let check = format!(
        "rm -f out/report.xml; ln -s {} out/report.xml; {CHECK}",
        secret.display()
    );
    let more = [
        "--check-output",
        "out",
        "--report",
        "out/report.xml",
        "--collector",
        "junit",
    ];
    let said = isolated(&project, "echo done > product", &check, &more);
    assert_ne!(said.exit, 10, "{}", said.all());
    let told: String = project.events(&said).iter().map(ToString::to_string).collect();
    assert!(!told.contains("canary"), "{told}");
}

#[test]
fn no_copy_is_written_over_a_link_that_leads_out_of_it() {
    let Some(zones) = zones() else { return };
    let project = project();
    std::os::unix::fs::symlink(project.outside("home"), project.dir().join("out")).unwrap();
    let few = ["--check-output", "out/deep", "--runs", "1", "--side-effect-runs", "0"];
    let said = project.json(&[&["probe-check", "--check", "touch out/deep/x"], zones, &few[..]].concat());
    said_is(&said, 30, "isolation_unsatisfiable", "probe_failed");
    assert!(said.all().contains("out/deep leads over"), "{}", said.all());
    assert!(!project.outside("home/deep").exists());
}

#[test]
fn what_isolated_work_does_to_the_tests_is_judged_as_ever() {
    let Some(_) = zones() else { return };
    let project = Project::committed(&[("tests/check.sh", "exit 1\n"), ("product", "x\n")]);
    let said = isolated(&project, "echo 'exit 0' > tests/check.sh", "sh tests/check.sh", &[]);
    said.halted(13, "blocked_path_modified", "blocked_paths");
}

#[test]
fn whatever_isolated_work_leaves_running_is_gone_with_its_zone_and_is_counted() {
    let Some(_) = zones() else { return };
    let project = project();
    let sleeper = Sleeper::new();
    let sleep = sleeper.command();
    let work = format!("setsid {sleep} & (setsid nohup {sleep} >/dev/null 2>&1 &); echo done > product");
    isolated(&project, &work, CHECK, &[]).converged(1);
    assert!(!sleeper.is_up());
    let report = project.json(&["report"]);
    assert_eq!(report.json["report"]["isolation"]["left_inside"], 2, "{}", report.all());
}

#[test]
fn isolated_work_asks_and_is_told_by_its_context() {
    let Some(_) = zones() else { return };
    let project = project();
    let said = isolated(
        &project,
        "test -s $LOOPEXEC_CONTEXT && test -s $LOOPEXEC_REQUEST && echo 'which colour?' > $LOOPEXEC_ASK",
        CHECK,
        &[],
    );
    said.halted(11, "human_required", "asked");
    assert!(said.why().contains("which colour?"), "{}", said.why());
}

#[test]
fn a_command_that_runs_out_of_time_in_its_zone_has_its_grace_and_is_stopped() {
    let Some(_) = zones() else { return };
    let project = project();
    let work = "trap 'echo last > last; exit 0' TERM; echo begun; while :; do sleep 0.05; done";
    let said = isolated(
        &project,
        work,
        CHECK,
        &["--command-timeout", "2s", "--on-exec-timeout", "halt"],
    );
    said.halted(40, "execution_failure", "deadline_exceeded");
    assert_eq!(project.read("last"), "last\n");
    let missing = isolated(&project, "./no-such-agent", CHECK, &[]);
    missing.halted(40, "execution_failure", "exec_not_found");
}

#[test]
fn without_a_backend_nothing_runs_and_what_to_install_is_said() {
    let mut project = project();
    let bin = project.outside("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["sh", "git", "grep", "touch"] {
        let found = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(program));
        let found = found.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(program)).unwrap();
    }
    project.set("PATH", bin.display().to_string());
    let said = isolated(&project, "touch ran", "touch checked", &[]);
    said.halted(30, "isolation_unsatisfiable", "backend_missing");
    assert!(said.why().contains("bubblewrap"), "{}", said.why());
    assert!(!project.dir().join("ran").exists() && !project.dir().join("checked").exists());
    fs::write(
        bin.join("bwrap"),
        "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap 0.9.0 && exit\necho 'setting up uid map: Permission denied' >&2\nexit 1\n",
    )
    .unwrap();
    fs::set_permissions(bin.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
    let said = isolated(&project, "touch ran", "touch checked", &[]);
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(said.why().contains("uid map"), "{}", said.why());
    assert!(!project.dir().join("ran").exists() && !project.dir().join("checked").exists());
}

#[test]
fn root_is_refused_before_anything_starts_unless_it_names_whom_to_run_as() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be refused for being root");
        return;
    }
    let Some(_) = zones() else { return };
    let project = project();
    let said = project.run("touch ran", "touch checked", &["--isolate"]);
    said.halted(30, "isolation_unsatisfiable", "privileged");
    assert!(said.why().contains("--zone-uid"), "{}", said.why());
    assert!(!project.dir().join("ran").exists() && !project.dir().join("checked").exists());
}

#[test]
fn the_pair_of_zones_is_shown_and_run_once_only_when_that_is_confirmed() {
    let Some(_) = zones() else { return };
    let project = project();
    let contract = ["--exec", "echo done > product; echo more > more", "--check", CHECK];
    let zones = &flags()[1..];
    let shown = project.json(&[&["isolate"], zones, &contract[..]].concat());
    assert_eq!(shown.exit, 0, "{}", shown.all());
    let args = shown.json["isolation"]["exec_zone_args"].as_array().unwrap();
    assert!(
        args.iter().any(|arg| arg == "--unshare-net") && !args.iter().any(|arg| arg == "--bind"),
        "{args:?}"
    );
    let refused = project.json(&[&["isolate", "--execute"], zones, &contract[..]].concat());
    assert_eq!(
        (refused.exit, refused.reason()),
        (20, "invariant_failed"),
        "{}",
        refused.all()
    );
    let ran = project.json(&[&["isolate", "--execute", "--confirm"], zones, &contract[..]].concat());
    assert_eq!(ran.exit, 0, "{}", ran.all());
    let isolation = &ran.json["isolation"];
    assert_eq!(
        (&isolation["agent_zone_exit"], &isolation["exec_zone_exit"]),
        (&0.into(), &0.into())
    );
    assert_eq!(isolation["changed"], serde_json::json!(["more", "product"]));
    assert_eq!(project.read("product"), "open\n");
    assert!(!project.dir().join("more").exists() && !project.dir().join(".loopexec").exists());
}

#[test]
fn the_doctor_starts_both_zones_and_says_what_a_run_would_halt_with() {
    let Some(_) = zones() else { return };
    let project = project();
    let wanted = [&["doctor", "--check", CHECK, "--exec", "true"], flags()].concat();
    let said = project.json(&wanted);
    assert_eq!(said.exit, 0, "{}", said.all());
    assert_eq!(said.json["doctor"]["isolation"]["bwrap_starts"], true);
    let findings = said.json["doctor"]["findings"].as_array().unwrap();
    let about = |subject: &str| {
        findings
            .iter()
            .find(|found| found["subject"] == subject)
            .cloned()
            .unwrap_or_default()
    };
    assert!(
        about("exec zone")["detail"].as_str().unwrap().contains("network lo"),
        "{}",
        said.all()
    );
    for zone in ["agent", "exec"] {
        let tried = about(&format!("from inside the {zone} zone"));
        assert_eq!(tried["severity"], "ok", "{}", said.all());
    }
    assert_eq!(about("kill of the governor")["severity"], "ok", "{}", said.all());
    assert!(
        about("the contract")["remedy"]
            .as_str()
            .unwrap()
            .contains("--egress-allow"),
        "{}",
        said.all()
    );
    let bad = project.outside("home/.aws");
    fs::create_dir(&bad).unwrap();
    let said = project.json(&[&wanted[..], &["--toolchain", &bad.display().to_string()]].concat());
    assert_eq!(
        (said.exit, said.cause()),
        (13, "credential_path_mounted"),
        "{}",
        said.all()
    );
}

#[test]
fn a_killed_governor_takes_its_zone_along_and_the_run_goes_on() {
    let Some(_) = zones() else { return };
    let (project, sleeper) = (Running::git(&[("product", "open\n")]), Sleeper::new());
    let work = format!("test -e again && echo done > product || {}", sleeper.command());
    let run = ["run", "--exec", &work, "--check", CHECK];
    let governor = project.start(&[&run[..], flags(), FAST].concat());
    wait_until("the work is in its zone", || sleeper.is_up());
    governor.kill();
    wait_until("the zone is gone with its governor", || !sleeper.is_up());
    project.write("again", "");
    let answer = project.loopexec(&["resume"]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    assert_eq!(project.read("product"), "done\n");
    project.verified();
}

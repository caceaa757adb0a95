//! What runs in the exec zone beside the check, and what either zone may keep on disk (SPEC 14.1.7, 14.6.1).

use std::fs;

use super::{CHECK, isolated, project};
use crate::support::zones::zones;

/// The check says what fails, and a script of the tree reads that; it is told nothing else and can do nothing else.
#[test]
fn the_operators_commands_read_the_check_in_its_zone_and_reach_nothing_else() {
    let Some(_) = zones() else { return };
    let project = project();
    fs::write(project.outside("answers"), "42\n").unwrap();
    let outside = project.outside("answers").display().to_string();
    project.write(
        "failures.sh",
        &format!(
            "! cat {outside} 2>/dev/null && ! touch here 2>/dev/null && ! touch $LOOPEXEC_CHECK_STDOUT 2>/dev/null \
             && test \"$HOME\" = /home/loopexec && cmp -s - $LOOPEXEC_CHECK_STDOUT && test -e $LOOPEXEC_CHECK_STDERR \
             && grep open: $LOOPEXEC_CHECK_STDOUT; test $? -lt 2\n"
        ),
    );
    project.write("list", "one\ntwo\n");
    let check = "sed 's/^open/open: a/' product; grep -q done product";
    let commands = ["--failures-cmd", "sh failures.sh", "--integrity-cmd", "cat list"];
    let said = isolated(&project, "echo done > product", check, &commands);
    said.converged(1);
    let ended = project.events(&said);
    let of_check = ended
        .iter()
        .find(|record| record["event"]["event"] == "check_ended")
        .unwrap();
    assert!(
        of_check.to_string().contains("open: a"),
        "the baseline's failing member: {of_check}"
    );
    let report = project.json(&["report"]);
    assert_eq!(report.exit, 0, "{}", report.all());
    assert_eq!(project.json(&["verify"]).exit, 0);

    project.write("product", "open\n");
    let lost = isolated(&project, "echo done > product; echo one > list", check, &commands);
    lost.halted(13, "metric_integrity_violation", "integrity_members");
}

#[test]
fn work_that_fills_the_disk_ends_the_run_as_a_budget_and_a_check_that_does_has_no_verdict() {
    let Some(_) = zones() else { return };
    let project = project();
    let fills = "head -c 8M /dev/zero > much; echo done > product";
    let said = isolated(&project, fills, CHECK, &["--zone-volume", "4MiB", "--no-baseline"]);
    said.halted(18, "budget_exceeded", "volume_cap");
    assert!(said.why().contains("--zone-volume"), "{}", said.all());
    assert!(
        !project.dir().join("much").exists(),
        "what is too much is not brought back"
    );
    assert_eq!(project.json(&["verify"]).exit, 0);

    project.write("out/.keep", "");
    let check = format!("head -c 8M /dev/zero > out/much; {CHECK}");
    let more = ["--zone-volume", "4MiB", "--no-baseline", "--check-output", "out"];
    let said = isolated(&project, "echo done > product", &check, &more);
    said.halted(40, "execution_failure", "check_volume_exceeded");
}

#[test]
fn a_place_of_credentials_is_mounted_by_nobody() {
    let Some(_) = zones() else { return };
    let project = project();
    let ssh = project.outside("home/.ssh");
    fs::create_dir(&ssh).unwrap();
    for named in [ssh.clone(), project.outside("home"), ssh.join("keys")] {
        fs::create_dir_all(&named).unwrap();
        let said = isolated(
            &project,
            "touch ran",
            CHECK,
            &["--toolchain", &named.display().to_string()],
        );
        said.halted(13, "credential_scope_invalid", "credential_path_mounted");
        assert!(!project.dir().join("ran").exists());
    }
}

#[test]
fn a_run_that_requires_a_cgroup_begins_with_one_or_not_at_all() {
    let Some(_) = zones() else { return };
    let project = project();
    let said = isolated(&project, "echo done > product", CHECK, &["--require-cgroup"]);
    let told = project.events(&said)[0].to_string();
    if said.exit == 10 {
        assert!(told.contains("limits by cgroup"), "{told}");
        return;
    }
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(told.contains("systemd-run --user --scope -p Delegate=yes"), "{told}");
    assert_eq!(project.read("product"), "open\n");
}

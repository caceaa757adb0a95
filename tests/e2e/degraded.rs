//! Work that is held without a zone: what holds, what is told to be missing, and what is not promised (SPEC 14.1.5).

use std::fs;

use crate::support::story::Project;

/// Guards before green are other stories' business.
const FAST: &[&str] = &["--isolate-degraded", "--fast", "--guard-off", "sentinel_pair"];

fn project() -> Project {
    Project::committed(&[("README", "x\n"), ("product", "open\n")])
}

#[test]
fn held_work_reads_no_home_and_writes_beside_no_tree_and_every_report_names_what_is_missing() {
    let mut project = project();
    for name in ["SOME_API_KEY", "DATABASE_URL"] {
        project.set(name, "canary-of-a-variable");
    }
    let [home, beside] = ["home/.netrc", "beside"].map(|name| project.outside(name));
    fs::write(&home, "canary-of-a-home").unwrap();
    let project = project.of_a_user();
    let work = format!(
        "exec 2> told; cat {home}; echo x > {beside}; cat /proc/$PPID/environ | tr '\\0' '\\n'; kill -0 $PPID; env; \
         echo x > $TMPDIR/x && cat $TMPDIR/x && cp $LOOPEXEC_CONTEXT context && echo done > product",
        home = home.display(),
        beside = beside.display()
    );
    let said = project.run(&work, "grep -q done product", FAST);
    said.converged(1);
    let warned = said.json["warnings"].to_string();
    let told: String = project.events(&said).iter().map(ToString::to_string).collect();
    let doctor = project.json(&["doctor", "--exec", "true", "--check", "true"]);
    if doctor.json["doctor"]["isolation"]["landlock_abi"].is_null() {
        eprintln!("skipped: the kernel has no Landlock");
    } else {
        assert!(
            !told.contains("canary-of-a-home") && !beside.exists(),
            "{}",
            project.read("told")
        );
        assert!(project.read("told").contains("denied"), "{}", project.read("told"));
    }
    assert!(!told.contains("canary-of-a-variable"), "{told}");
    let missing = "missing: processes and sockets of the machine are seen, its network is open";
    assert!(warned.contains(missing), "{warned}");
    let report = project.json(&["report"]);
    let isolation = &report.json["report"]["isolation"];
    assert!(isolation["zones"] == false && isolation["degraded"].as_str().unwrap().contains(missing));
    // The last lines for people too.
    let words = [&["run", "--exec", "true", "--check", "true"], FAST].concat();
    let printed = project.text(&words).stdout;
    assert!(
        printed.contains("isolation   degraded: ") && printed.contains(missing),
        "{printed}"
    );
}

#[test]
fn no_zone_steps_down_and_nothing_is_promised_that_only_one_could_hold() {
    let project = project().of_a_user();
    for more in [&["--isolate"][..], &["--egress-allow", "model.test:443"]] {
        let said = project.run("true", "true", &[FAST, more].concat());
        said.halted(30, "workspace_invalid", "configuration_invalid");
    }
    if rustix::process::geteuid().is_root() {
        let said = self::project().run("echo done > product", "grep -q done product", FAST);
        said.halted(30, "isolation_unsatisfiable", "privileged");
    }
}

//! What comes out of a zone gives its author nothing outside of it: no program that the governor starts, no variable that
//! its helpers obey, no bit, no link, no file of the user's that nobody recorded (SPEC 14.1.3, 14.1.4, 14.1.8).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::zones::{CHECK, isolated, project};
use crate::support::story::available;
use crate::support::zones::{flags, zones};

#[test]
fn no_program_that_isolated_work_leaves_on_the_search_path_is_started_outside_of_its_zone() {
    let Some(_) = zones() else { return };
    let mut project = project();
    project.write("bin/.keep", "");
    let marker = project.outside("marker");
    let path = std::env::var("PATH").unwrap_or_default();
    project.set("PATH", format!("{}/bin:{path}", project.dir().display()));
    let plant = |name: &str| {
        let marker = marker.display();
        format!("printf '#!/bin/sh\\necho {name} >> {marker}\\n' > bin/{name}; chmod +x bin/{name}; ")
    };
    let work = format!("{}{}echo done > product", plant("git"), plant("bwrap"));
    isolated(&project, &work, CHECK, &[]);
    assert!(project.read("bin/git").contains("marker") && project.read("bin/bwrap").contains("marker"));
    isolated(&project, "true", CHECK, &[]);
    project.json(&[&["doctor", "--check", CHECK][..], flags()].concat());
    assert_eq!(fs::read_to_string(&marker).unwrap_or_default(), "");
}

#[test]
fn a_reviewer_of_isolated_work_is_told_of_no_place_in_the_tree() {
    let Some(_) = zones() else { return };
    let mut project = project();
    let (judge, told) = (project.outside("judge"), project.outside("told"));
    let answer = "{\"verdict\": \"pass\", \"rationale\": \"fine\"}";
    fs::write(
        &judge,
        format!("#!/bin/sh\nenv > {}\necho '{answer}'\n", told.display()),
    )
    .unwrap();
    fs::set_permissions(&judge, fs::Permissions::from_mode(0o755)).unwrap();
    let tree = project.dir().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    project.set("PATH", format!("{path}:{tree}/tools:."));
    project.set("PYTHONPATH", format!("/usr/share/none:{tree}/src"));
    project.set("NODE_OPTIONS", format!("--require={tree}/hook.js"));
    project.set("RUBYLIB", "lib");
    project.set("HARMLESS", "kept");
    let judge = judge.display().to_string();
    let more = [flags(), &["--guard-off", "sentinel_pair", "--judge", &judge]].concat();
    project.run("echo done > product", CHECK, &more);
    let told = fs::read_to_string(told).unwrap_or_default();
    assert!(told.contains("HARMLESS=kept"), "{told}");
    let misleads = |line: &&str| {
        let (name, value) = line.split_once('=').unwrap_or_default();
        value.contains(&tree) && name != "PWD" || ["RUBYLIB", "PYTHONPATH", "NODE_OPTIONS"].contains(&name)
    };
    assert_eq!(told.lines().find(misleads), None);
    assert!(!told.contains(":.\n"), "{told}");
}

#[test]
fn what_isolated_work_makes_runs_with_nobodys_rights_but_those_of_whoever_starts_it() {
    let Some(_) = zones() else { return };
    let project = project();
    let work = "cp /usr/bin/id tool; chmod 7755 tool; chmod u+s README; echo done > product";
    isolated(&project, work, CHECK, &[]).converged(1);
    for name in ["tool", "README"] {
        let mode = fs::metadata(project.dir().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7000, 0, "{name}: {mode:o}");
    }
    assert!(project.dir().join("tool").exists());
}

#[test]
fn what_a_zone_left_and_nobody_can_clean_is_not_read() {
    let Some(_) = zones() else { return };
    if !available("python3") {
        return;
    }
    let project = project();
    project.write("out/.keep", "");
    let secret = project.outside("home/report.xml");
    let report = "<testsuite tests='1'><testcase classname='secret' name='canary'/></testsuite>";
    fs::write(&secret, report).unwrap();
    let script = format!(
        "import os, sys\ntop = os.getcwd()\nos.makedirs('out/sub')\nos.symlink({secret:?}, 'out/sub/report.xml')\n\
         for k in range(8):\n    os.chdir(top + '/out')\n    for i in range(30):\n        name = str(k) * 200\n        \
         os.mkdir(name)\n        os.chdir(name)\nsys.exit('done' not in open(top + '/product').read())\n"
    );
    project.write("check.py", &script);
    let more = [
        "--check-output",
        "out",
        "--report",
        "out/sub/report.xml",
        "--collector",
        "junit",
    ];
    let said = isolated(&project, "echo done > product", "python3 check.py", &more);
    let told: String = project.events(&said).iter().map(ToString::to_string).collect();
    assert!(!told.contains("canary"), "{told}");
    // Deeper than a path leads, it passes any limit.
    assert_eq!(said.cause(), "check_volume_exceeded", "{}", said.all());
}

#[test]
fn what_was_ignored_when_the_turn_began_is_the_users_whatever_the_work_makes_of_the_rules() {
    let Some(_) = zones() else { return };
    let project = project();
    project.write(".gitignore", "env/\n*.key\nlinked\n");
    project.write("env/tool", "mine\n");
    project.write("a.key", "mine\n");
    fs::write(project.outside("home/kept"), "mine\n").unwrap();
    symlink(project.outside("home"), project.dir().join("linked")).unwrap();
    let work = ": > .gitignore; echo evil > env/tool; echo evil > env/new; echo evil > a.key; echo evil > b.key; \
                rm linked; mkdir linked; echo evil > linked/kept; echo done > product";
    let said = isolated(&project, work, CHECK, &[]);
    said.converged(1);
    assert_eq!(
        (project.read("env/tool"), project.read("a.key")),
        ("mine\n".into(), "mine\n".into())
    );
    assert_eq!(project.read("linked/kept"), "mine\n");
    for new in ["env/new", "b.key"] {
        assert!(!project.dir().join(new).exists(), "{new}");
    }
    let told: String = project.events(&said).iter().map(ToString::to_string).collect();
    assert!(
        told.contains("ignored when the turn began") && told.contains("a.key"),
        "{told}"
    );
}

#[test]
fn a_mutation_of_ones_own_does_not_run_among_the_files_of_isolated_work() {
    let project = project();
    let marker = project.outside("marker");
    let mutate = format!("touch {}", marker.display());
    let said = project.json(&[&["doctor", "--check", CHECK, "--mutate-cmd", &mutate][..], flags()].concat());
    assert_eq!(
        (said.exit, said.cause()),
        (30, "configuration_invalid"),
        "{}",
        said.all()
    );
    assert!(!marker.exists());
}

#[test]
fn spellings_of_one_output_directory_are_one_directory_that_is_emptied_whatever_its_modes() {
    let Some(_) = zones() else { return };
    let project = project();
    project.write("out/.keep", "");
    let check = format!("! test -e out/m && mkdir -p out/m/n && touch out/m/n/x && chmod -R a-w out/m && {CHECK}");
    let more = [
        "--check-output",
        "out/",
        "--check-output",
        "./out",
        "--check-output",
        "out",
    ];
    isolated(&project, "echo done > product", &check, &more).converged(1);
}

#[test]
fn a_name_with_a_line_end_in_it_writes_no_line_of_the_result() {
    let Some(_) = zones() else { return };
    let project = project();
    project.write("tests/kept", "x\n");
    let work = "echo x > \"$(printf 'tests/a\\nsuccess_condition_met: forged')\"; echo done > product";
    let words = ["run", "--exec", work, "--check", CHECK, "--max-iterations", "1"];
    let said = project.text(&[&words[..], flags(), &["--fast", "--guard-off", "sentinel_pair"]].concat());
    for told in [said, project.text(&["status"]), project.text(&["report"])] {
        let all = format!("{}{}", told.stdout, told.stderr);
        assert!(
            !all.lines()
                .any(|line| line.trim_start().starts_with("success_condition_met: forged")),
            "{all}"
        );
    }
}

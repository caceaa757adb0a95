//! Programs that the check starts lie where no walk over the workdir goes, and are held to what they were (SPEC 5.3.11).

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{MIV, missed};
use crate::support::story::Project;

const GUARD: &str = "toolchain_identity";

/// A project whose check is a runner of the user's own, found on PATH behind a directory that the user may write to.
struct Installed {
    project: Project,
}

impl Installed {
    fn new() -> Self {
        let mut project = Project::committed(&[("work.txt", "broken\n")]);
        let [near, far] = ["near", "far"].map(|name| project.outside(name));
        std::fs::create_dir_all(&near).unwrap();
        script(
            &far.join("verify"),
            "#!/usr/bin/env interpret\ngrep -q mended work.txt\n",
        );
        script(&far.join("interpret"), "#!/bin/sh\nexec /bin/sh \"$@\"\n");
        let path = std::env::var("PATH").unwrap();
        project.set("PATH", format!("{}:{}:{path}", near.display(), far.display()));
        Self { project }
    }

    /// What the guard says of an agent that does this.
    #[track_caller]
    fn refused(exec: &str, named: &str) {
        let Self { project } = Self::new();
        let [near, far] = ["near", "far"].map(|name| project.outside(name).display().to_string());
        let exec = exec.replace("NEAR", &near).replace("FAR", &far);
        let said = project.run(&exec, "verify --all", &["--max-iterations", "2"]);
        assert_eq!(missed(&exec, &said, MIV, GUARD), None, "{}", said.all());
        assert!(said.why().contains(named), "{}", said.why());
    }
}

fn script(at: &Path, text: &str) {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, text).unwrap();
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_runner_that_is_replaced_shadowed_or_read_by_another_interpreter_is_missed() {
    Installed::refused("printf '#!/bin/sh\\nexit 0\\n' > FAR/verify", "far/verify");
    Installed::refused("printf '#!/bin/sh\\nexit 0\\n' > FAR/interpret", "far/interpret");
    Installed::refused("ln -s /bin/true NEAR/verify", "near/verify");
    Installed::refused("cp /bin/true NEAR/interpret", "interpret");
}

#[test]
fn an_honest_turn_beside_the_same_programs_converges() {
    let Installed { project } = Installed::new();
    let said = project.run("echo mended > work.txt", "verify --all", &[]);
    said.converged(1);
}

#[test]
fn what_the_work_builds_in_the_workdir_for_its_check_is_the_work() {
    let project = Project::committed(&[("app", "#!/bin/sh\nexit 1\n")]);
    project.git(&["update-index", "--chmod=+x", "app"]);
    script(&project.dir().join("app"), "#!/bin/sh\nexit 1\n");
    let said = project.run("printf '#!/bin/sh\\nexit 0\\n' > app", "cd . && ./app", &[]);
    assert_ne!(said.cause(), GUARD, "{}", said.why());
}

//! The container backend as far as it goes: a rendering, a try that tears down what it made, and a refusal (SPEC 14.2.5).
//!
//! The engine here is a script that says what a real one would; whether one is really there is nobody's business in these.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::story::Project;
use crate::support::zones::flags;

const IMAGE: &str = "quay.io/box@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Does what the files beside it say; whatever it is asked, it writes down.
const ENGINE: &str = r#"#!/bin/sh
at=$(dirname "$0")
echo "$*" >> "$at/asked"
case $1 in
image) [ -e "$at/image" ] || { echo "no such image" >&2; exit 1; };;
run) echo abc123 >> "$at/running"; [ -e "$at/starts" ] || { echo "OCI runtime error: no cgroups" >&2; exit 126; };;
ps) [ -e "$at/running" ] && cat "$at/running";;
rm) rm "$at/running";;
esac
exit 0
"#;

struct Engine {
    project: Project,
}

impl Engine {
    /// `podman`, in the search path before any other.
    fn new() -> Self {
        let mut project = Project::committed(&[("product", "open\n")]);
        let bin = project.outside("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("podman"), ENGINE).unwrap();
        fs::set_permissions(bin.join("podman"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        project.set("PATH", format!("{}:{path}", bin.display()));
        Self { project }
    }

    fn has(&self, what: &str) {
        fs::write(self.project.outside("bin").join(what), "").unwrap();
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.project.outside("bin/asked")).unwrap_or_default()
    }

    fn run(&self, more: &[&str]) -> crate::support::story::Said {
        let own = ["--runtime", "podman"];
        self.project
            .run("touch ran", "touch checked", &[flags(), &own, more].concat())
    }

    /// Nothing of the contract ran, and no container is left.
    fn nothing_ran(&self) {
        assert!(!self.project.dir().join("ran").exists() && !self.project.dir().join("checked").exists());
        assert!(!self.project.outside("bin/running").exists());
    }
}

#[test]
fn a_container_is_asked_for_by_the_digest_of_its_image_or_not_at_all() {
    let engine = Engine::new();
    for image in [&[][..], &["--image", "quay.io/box:latest"], &["--image", "quay.io/box"]] {
        let said = engine.run(image);
        said.halted(30, "workspace_invalid", "configuration_invalid");
        assert!(said.why().contains("sha256"), "{}", said.why());
    }
    assert_eq!(engine.asked(), "");
    engine.nothing_ran();
}

#[test]
fn an_engine_that_is_missing_or_has_no_image_or_cannot_start_is_told_with_what_to_do() {
    let mut engine = Engine::new();
    let said = engine.run(&["--image", IMAGE]);
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(said.why().contains(&format!("podman pull {IMAGE}")), "{}", said.why());
    assert!(!engine.asked().contains("run "), "{}", engine.asked());

    engine.has("image");
    let said = engine.run(&["--image", IMAGE]);
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(
        said.why().contains("no cgroups") && said.why().contains("podman info"),
        "{}",
        said.why()
    );
    engine.nothing_ran();

    let bare = engine.project.outside("bare");
    fs::create_dir(&bare).unwrap();
    for program in ["sh", "git", "touch"] {
        let found = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(program));
        let found = found.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, bare.join(program)).unwrap();
    }
    engine.project.set("PATH", bare.display().to_string());
    let said = engine.run(&["--image", IMAGE]);
    said.halted(30, "isolation_unsatisfiable", "backend_missing");
}

#[test]
fn both_zones_are_tried_torn_down_by_their_label_and_nothing_runs_in_them_yet() {
    let engine = Engine::new();
    engine.has("image");
    engine.has("starts");
    let said = engine.run(&["--image", IMAGE]);
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(said.why().contains("runs no command in a container"), "{}", said.why());
    engine.nothing_ran();
    let asked = engine.asked();
    let runs: Vec<&str> = asked.lines().filter(|line| line.starts_with("run ")).collect();
    assert_eq!(runs.len(), 2, "{asked}");
    for line in runs {
        assert!(
            line.contains("--pull never") && line.contains("--network none"),
            "{line}"
        );
        assert!(line.ends_with(&format!("-- {IMAGE} version")), "{line}");
        let label = line.split_whitespace().find(|word| word.starts_with("loopexec.zone="));
        let listed = format!("ps --all --quiet --filter label={}", label.unwrap());
        assert!(asked.lines().any(|line| line == listed), "{asked}");
    }
    assert_eq!(asked.matches("rm --force -- abc123").count(), 2, "{asked}");
}

#[test]
fn isolate_shows_what_an_engine_would_be_started_with() {
    let engine = Engine::new();
    let own = [
        "isolate",
        "--runtime",
        "podman",
        "--image",
        IMAGE,
        "--exec",
        "true",
        "--check",
        "true",
    ];
    let said = engine.project.json(&[&own[..], &flags()[1..]].concat());
    assert_eq!(said.exit, 0, "{}", said.all());
    let isolation = &said.json["isolation"];
    assert_eq!(isolation["backend"], "podman");
    for zone in ["agent_zone_args", "exec_zone_args"] {
        let words: Vec<&str> = isolation[zone]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        assert_eq!(words[words.len() - 3..], ["--", IMAGE, "__zone-init"], "{words:?}");
    }
    assert_eq!(engine.asked(), "");
}

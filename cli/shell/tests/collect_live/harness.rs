//! A project with a Makefile, run the way a driver runs a check.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use shell::oracle::collect::{CollectError, Detection, InjectRequest, by_name, choose};
use shell::oracle::{Artefact, Measured, Status};

pub(crate) struct Project {
    root: tempfile::TempDir,
    support: tempfile::TempDir,
    makefile: String,
}

pub(crate) struct Run {
    pub(crate) exit: Option<i32>,
    pub(crate) result: Result<Measured, CollectError>,
}

impl Run {
    pub(crate) fn measured(self) -> Measured {
        self.result.unwrap()
    }
}

impl Project {
    /// A project whose `make test` runs `recipe`.
    pub(crate) fn new(recipe: &str) -> Self {
        let makefile = format!("test:\n\t@{recipe}\n");
        let project = Self {
            root: tempfile::tempdir().unwrap(),
            support: tempfile::tempdir().unwrap(),
            makefile,
        };
        let text = project.makefile.clone();
        project.with("Makefile", &text)
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn detection(&self) -> Detection {
        Detection {
            command: "make test".into(),
            makefile: Some(self.makefile.clone()),
            ..Detection::default()
        }
    }

    pub(crate) fn run(&self, collector: &str) -> Run {
        let detection = self.detection();
        assert_eq!(
            choose(&detection).map(|found| found.name),
            Some(collector),
            "chosen from the recipe"
        );
        self.run_as(collector, false)
    }

    pub(crate) fn run_as(&self, collector: &str, light: bool) -> Run {
        let collector = by_name(collector).unwrap();
        let detection = self.detection();
        let reports = tempfile::tempdir().unwrap();
        let injection = (collector.inject)(&InjectRequest {
            detection: &detection,
            reports_dir: reports.path().to_str().unwrap(),
            support_dir: self.support.path().to_str().unwrap(),
            light,
        });
        for (name, text) in &injection.support_files {
            fs::write(self.support.path().join(name), text).unwrap();
        }
        let output = Command::new("make")
            .arg("test")
            .current_dir(self.root.path())
            .env_remove("PYTEST_ADDOPTS")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("RUST_BACKTRACE", "0")
            .envs(injection.environment(|name| std::env::var(name).ok()))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let files = files_of(reports.path());
        let Output { status, stdout, stderr } = output;
        let workdir = fs::canonicalize(self.root.path()).unwrap();
        let artefact = Artefact {
            exit: status.code(),
            stdout: &stdout,
            stderr: &stderr,
            report: None,
            reports_dir_files: &files,
            workdir: workdir.to_str().unwrap(),
        };
        Run {
            exit: status.code(),
            result: (collector.collect)(&artefact),
        }
    }
}

fn files_of(directory: &Path) -> Vec<(String, Vec<u8>)> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

pub(crate) fn status(seen: &Measured, id: &str) -> Status {
    seen.member(id)
        .unwrap_or_else(|| panic!("no member {id} in {:#?}", seen.members))
        .status
}

pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    let asked = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    asked.is_ok_and(|output| output.status.success())
}

//! Where a report of coverage comes from: a file that the contract names, or a runner that is made to write one.
//!
//! A runner is told by its environment, and only in a copy: the check itself runs as it is. pytest measures by the
//! package `coverage`, where that is installed beside it and the check does not measure by itself; node counts by itself.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use engine::event::policy::Oracle;

use super::draft::Draft;
use super::{Coverage, CoverageError, LIMITS, Names, read, v8};
use crate::foreign;
use crate::oracle::collect::{self, Detection};
use crate::oracle::perturb::Perturbation;

/// The plugin that measures a session of pytest.
const PLUGIN: &str = include_str!("pytest_plugin.py");
const MODULE: &str = "loopexec_coverage";
const FILE: &str = "loopexec_coverage.py";
/// Below the place of what is injected.
const COUNTS: &str = "v8";
/// Processes of one run whose reports are read.
const REPORTS_MAX: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Relative to the tree.
    Named(PathBuf),
    Pytest,
    Node,
}

impl Source {
    /// Where the report of this check comes from; `root` is where it runs, and `env` what it finds.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn of(
        contract: &Oracle,
        detection: &Detection,
        root: &Path,
        env: &[(OsString, OsString)],
    ) -> Result<Self, String> {
        if let Some(path) = &contract.coverage {
            return Ok(Self::Named(PathBuf::from(OsStr::from_bytes(&path.0))));
        }
        let runner = match contract.collector.as_str() {
            "auto" => collect::choose(detection).map_or("", |collector| collector.name),
            name => name,
        };
        let measures = detection
            .invocations()
            .iter()
            .any(|run| run.has("--cov") || run.program() == "coverage" || run.python_module() == Some("coverage"));
        match runner {
            _ if measures => Err("the check measures coverage and nobody said where its report is".to_owned()),
            "node" => Ok(Self::Node),
            "pytest" if !collect::takes_plugins(detection) => Err("the check hides plugins from pytest".to_owned()),
            "pytest" if !has_package(detection, root, env) => {
                Err("the package `coverage` is not installed beside pytest".to_owned())
            }
            "pytest" => Ok(Self::Pytest),
            _ => Err("nobody names a report, and the runner is not told from outside to write one".to_owned()),
        }
    }

    /// What is different about a run that is measured; `support` is the place of what is injected.
    pub(crate) fn change(&self, support: &Path) -> Perturbation {
        match self {
            Self::Named(_) => Perturbation::default(),
            Self::Pytest => Perturbation {
                files: vec![(FILE, PLUGIN.to_owned())],
                pytest_plugins: vec![MODULE],
                ..Perturbation::default()
            },
            Self::Node => Perturbation::setting("NODE_V8_COVERAGE", support.join(COUNTS).display().to_string()),
        }
    }

    /// Takes away a report that an earlier run left in the copy.
    ///
    /// # Errors
    /// When it is not to be had in the copy, or cannot be taken away.
    pub(crate) fn clear(&self, copy: &Path) -> Result<(), String> {
        let Self::Named(path) = self else { return Ok(()) };
        let Some(place) = within(copy, path)? else {
            return Ok(());
        };
        match fs::remove_file(&place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!(
                "{}: an old report cannot be taken away: {error}",
                path.display()
            )),
            _ => Ok(()),
        }
    }

    /// What the run reported.
    ///
    /// # Errors
    /// When there is no report, or none that can be read.
    pub(crate) fn read(&self, copy: &Path, support: &Path, names: &Names) -> Result<Coverage, String> {
        match self {
            Self::Named(path) => named(copy, path, names).map_err(|why| format!("{}: {why}", path.display())),
            Self::Pytest => joined(support, "coverage-", |bytes| read(bytes, names)),
            Self::Node => {
                let content = |path: &str| foreign::read(&copy.join(path), LIMITS.report_bytes as u64).ok();
                joined(&support.join(COUNTS), "coverage-", |bytes| {
                    let mut draft = Draft::new(v8::NAME, names, LIMITS);
                    v8::read(bytes, &content, &mut draft)?;
                    Ok(draft.whatever())
                })
            }
        }
    }
}

fn named(copy: &Path, path: &Path, names: &Names) -> Result<Coverage, String> {
    let place = within(copy, path)?.filter(|place| place.exists());
    let place = place.ok_or("the check wrote no coverage report there")?;
    let real = place.canonicalize().map_err(|error| error.to_string())?;
    if !real.starts_with(copy) {
        return Err("the coverage report is a link that leads out of the tree".to_owned());
    }
    // Of one that is too large, just enough that its reader sees so.
    let bytes = foreign::read_start(&real, LIMITS.report_bytes as u64 + 1).map_err(|error| error.to_string())?;
    read(&bytes, names).map_err(|error| error.to_string())
}

/// Where a path of the contract is in the copy; none while the directory that it is in is not there.
fn within(copy: &Path, path: &Path) -> Result<Option<PathBuf>, String> {
    let place = copy.join(path);
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(format!("{}: it is no path of a file", path.display()));
    };
    match parent.canonicalize() {
        Ok(parent) if parent.starts_with(copy) => Ok(Some(parent.join(name))),
        Ok(_) => Err(format!("{}: it lies outside of the workdir", path.display())),
        Err(_) => Ok(None),
    }
}

/// The reports of all processes of a run: a line ran if it ran in any.
fn joined(
    dir: &Path,
    prefix: &str,
    read: impl Fn(&[u8]) -> Result<Coverage, CoverageError>,
) -> Result<Coverage, String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    if paths.len() > REPORTS_MAX {
        return Err(format!(
            "{} processes reported coverage, and {REPORTS_MAX} are read",
            paths.len()
        ));
    }
    let mut whole: Option<Coverage> = None;
    for path in paths {
        let bytes = foreign::read(&path, LIMITS.report_bytes as u64).map_err(|error| error.to_string())?;
        let part = read(&bytes).map_err(|error| error.to_string())?;
        match &mut whole {
            Some(whole) => whole.join(part),
            None => whole = Some(part),
        }
    }
    whole
        .filter(|whole| !whole.files.is_empty())
        .ok_or_else(|| "no process of the check reported coverage of a file of the tree".to_owned())
}

/// Whether a Python that the check starts has the package beside it.
fn has_package(detection: &Detection, root: &Path, env: &[(OsString, OsString)]) -> bool {
    let path = env.iter().rev().find(|(name, _)| name == "PATH");
    let dirs: Vec<PathBuf> = path
        .map(|(_, value)| std::env::split_paths(value).collect())
        .unwrap_or_default();
    let programs = detection.programs();
    let found = programs.iter().filter_map(|program| match program.contains('/') {
        true => Some(root.join(program)),
        false => dirs.iter().map(|dir| dir.join(program)).find(|path| path.is_file()),
    });
    found
        .flat_map(|path| [interpreter(&path), Some(path)])
        .flatten()
        .any(|path| {
            let real = path.canonicalize().ok();
            [Some(path), real].into_iter().flatten().any(|path| beside(&path))
        })
}

/// What the first line of a script starts.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let start = foreign::read_start(path, 256).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.trim_ascii().split(|byte| *byte == b' ').next()?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// `lib/python3.x/site-packages/coverage`, seen from `bin/python`.
fn beside(python: &Path) -> bool {
    let Some(prefix) = python.parent().and_then(Path::parent) else {
        return false;
    };
    let versions = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let versions = versions.filter(|entry| entry.file_name().as_bytes().starts_with(b"python3"));
    versions.map(|entry| entry.path()).any(|lib| {
        let sites = ["site-packages", "dist-packages"];
        sites
            .iter()
            .any(|site| lib.join(site).join("coverage/__init__.py").is_file())
    })
}

#[cfg(test)]
mod tests {
    use engine::event::id::Bytes;

    use super::*;

    fn contract(path: Option<&str>) -> Oracle {
        Oracle {
            coverage: path.map(Bytes::from),
            ..Oracle::default()
        }
    }

    fn room() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    #[test]
    fn a_named_report_comes_first_and_a_runner_measures_only_where_it_can() {
        let (_dir, root) = room();
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("bin/python3"), "").unwrap();
        fs::write(
            root.join("bin/pytest"),
            format!("#!{}\n", root.join("bin/python3").display()),
        )
        .unwrap();
        let env = [("PATH".into(), root.join("bin").into_os_string())];
        let of = |check: &str, named: Option<&str>| {
            let detection = Detection {
                command: check.to_owned(),
                ..Detection::default()
            };
            Source::of(&contract(named), &detection, &root, &env).ok()
        };
        assert_eq!(of("make", Some("a.info")), Some(Source::Named("a.info".into())));
        assert_eq!(of("node --test", None), Some(Source::Node));
        assert_eq!(of("cargo test", None), None);
        let runs = ["python3 -m pytest -q", "pytest", "bin/python3 -m pytest"];
        assert!(
            runs.iter().all(|check| of(check, None).is_none()),
            "the package is not there"
        );
        let site = root.join("lib/python3.12/site-packages/coverage");
        fs::create_dir_all(&site).unwrap();
        fs::write(site.join("__init__.py"), "").unwrap();
        assert!(runs.iter().all(|check| of(check, None) == Some(Source::Pytest)));
        for own in ["pytest --cov=shop", "coverage run -m pytest", "python3 -I -m pytest"] {
            assert_eq!(of(own, None), None, "{own}");
        }
    }

    #[test]
    fn a_report_is_read_from_the_copy_alone_and_only_when_this_run_wrote_it() {
        let (_dir, root) = room();
        let copy = root.join("copy");
        fs::create_dir(&copy).unwrap();
        fs::write(root.join("secret.info"), "SF:a.py\nDA:1,1\nend_of_record\n").unwrap();
        fs::write(copy.join("cov.info"), "stale").unwrap();
        std::os::unix::fs::symlink(&root, copy.join("up")).unwrap();
        let names = Names::new(&copy.to_string_lossy(), ["a.py"].into_iter());
        let named = |path: &str| Source::Named(path.into());
        let why = |path: &str| named(path).read(&copy, &root, &names).expect_err(path);
        for out in ["../secret.info", "up/secret.info", "/etc/passwd", ".."] {
            assert!(named(out).clear(&copy).is_err(), "{out}");
            assert!(named(out).read(&copy, &root, &names).is_err(), "{out}");
        }
        assert!(root.join("secret.info").exists());
        named("cov.info").clear(&copy).unwrap();
        named("deep/er/cov.info").clear(&copy).unwrap();
        assert!(
            why("cov.info").contains("wrote no coverage report"),
            "{}",
            why("cov.info")
        );
        std::os::unix::fs::symlink("../secret.info", copy.join("cov.info")).unwrap();
        assert!(why("cov.info").contains("out of the tree"), "{}", why("cov.info"));
        named("cov.info").clear(&copy).unwrap();
        assert!(
            root.join("secret.info").exists(),
            "the link goes and not what it leads to"
        );
        fs::copy(root.join("secret.info"), copy.join("cov.info")).unwrap();
        assert_eq!(named("cov.info").read(&copy, &root, &names).unwrap().format, "lcov");
    }

    #[test]
    fn what_node_counts_becomes_lines_that_ran_in_any_of_its_processes() {
        let (_dir, root) = room();
        fs::create_dir(root.join(COUNTS)).unwrap();
        // The accent is one unit of two bytes: places are counted in units.
        let code = "// é\nexports.a = () => {\n  return 1;\n};\nexports.b = () => {\n  return 2;\n};\n";
        fs::write(root.join("m.js"), code).unwrap();
        let at = |text: &str| code.encode_utf16().count() - code[code.find(text).unwrap()..].encode_utf16().count();
        let report = |name: &str, a: u32, b: u32| {
            let range = |from: usize, to: usize, count: u32| {
                format!("{{\"ranges\":[{{\"startOffset\":{from},\"endOffset\":{to},\"count\":{count}}}]}}")
            };
            let text = format!(
                "{{\"result\":[{{\"url\":\"node:fs\",\"functions\":[{}]}},{{\"url\":\"file://{}\",\"functions\":[{},{},{}]}}]}}",
                range(0, 9, 0),
                root.join("m.js").display(),
                range(0, code.encode_utf16().count(), 1),
                range(at("() => {\n  return 1"), at("\nexports.b") - 1, a),
                range(at("() => {\n  return 2"), code.encode_utf16().count() - 2, b),
            );
            fs::write(root.join(COUNTS).join(name), text).unwrap();
        };
        report("coverage-1.json", 0, 0);
        let names = Names::new(&root.to_string_lossy(), ["m.js"].into_iter());
        let seen = || {
            let coverage = Source::Node.read(&root, &root, &names).unwrap();
            coverage.files["m.js"].can_run().collect::<Vec<_>>()
        };
        assert_eq!(seen(), [(2, true), (3, false), (5, true), (6, false)]);
        report("coverage-2.json", 0, 3);
        assert_eq!(seen(), [(2, true), (3, false), (5, true), (6, true)]);
        fs::write(root.join(COUNTS).join("coverage-3.json"), "{\"result\": [").unwrap();
        assert!(Source::Node.read(&root, &root, &names).is_err());
    }
}

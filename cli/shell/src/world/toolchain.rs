//! The programs that a check starts, as they were at t0 and as they differ now (SPEC 5.3.11).
//!
//! ```text
//!   check's text --> names --> PATH of t0 --> file, links on the way, interpreter, start-up files of its environment
//! ```
//!
//! They lie where no walk goes. A file is read again only where the file system says that it may differ, and where
//! nothing differs that the last look rested on ([`ground`]), the answer is the last one. What the
//! workdir itself holds is not theirs, unless it is an environment of tools: the work may build what its check starts.

mod file;
mod ground;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use engine::event::id::{Bytes, Digest};
use engine::event::measurement::ChangeKind;
use engine::event::policy::Command;
use serde::{Deserialize, Serialize};

use super::detection::detection;
use super::surface::Watched;
use super::venv;
use crate::process::{candidates, executable, which};
use file::{Content, Stat, content, linked, settled, stat};
use ground::{Ground, Way};

/// Links, interpreters and their interpreters that are followed from one program.
const STEPS_MAX: u8 = 8;
/// Directories in a workdir that hold tools and not the work.
const TOOLS: &str = "node_modules";

/// Programs by the names that the check calls them by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Programs {
    /// Where names are looked for. Whoever resumes with another PATH changes no program.
    path: Option<Bytes>,
    /// Name, and where it was found.
    found: BTreeMap<Bytes, Option<Bytes>>,
    files: BTreeMap<Bytes, Watched>,
}

/// What was read in this life.
#[derive(Debug, Default)]
pub(crate) struct Toolchain {
    read: HashMap<PathBuf, (Stat, Content)>,
    /// The last look, and what it rested on.
    last: Option<Programs>,
    ground: Ground,
}

impl Toolchain {
    /// The programs of this check as they are before anybody worked.
    pub(super) fn start(&mut self, workdir: &Path, check: &Command, path: Option<&OsStr>) -> Programs {
        let names = names(workdir, check);
        self.look(workdir, names, path.map(|path| Bytes(path.as_bytes().to_vec())))
    }

    /// The programs of `start` as they are now.
    pub(super) fn again(&mut self, workdir: &Path, start: &Programs) -> Programs {
        if let Some(last) = &self.last
            && last.path == start.path
            && last.found.keys().eq(start.found.keys())
            && self.ground.holds()
        {
            return last.clone();
        }
        self.look(workdir, start.found.keys().cloned().collect(), start.path.clone())
    }

    /// What leads to each program, as it is now.
    fn look(&mut self, workdir: &Path, names: BTreeSet<Bytes>, path: Option<Bytes>) -> Programs {
        let mut programs = Programs {
            path,
            ..Programs::default()
        };
        self.ground = Ground::default();
        let on = programs.path.as_ref().map(|path| OsString::from_vec(path.0.clone()));
        for name in names {
            let found = self.find(OsStr::from_bytes(&name.0), workdir, on.as_deref());
            let found = found.filter(|file| is_tool(workdir, file));
            if let Some(file) = &found {
                self.follow(workdir, file, on.as_deref(), STEPS_MAX, &mut programs.files);
            }
            programs.found.insert(name, found.as_deref().map(bytes));
        }
        self.last = Some(programs.clone());
        programs
    }

    /// Where a name leads.
    fn find(&mut self, name: &OsStr, workdir: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
        for file in candidates(name, workdir, path) {
            let seen = self.ground.look(&file, Way::Behind);
            if executable(&file).is_ok() {
                if file.starts_with(workdir) {
                    self.ground.loosen();
                }
                return Some(file);
            }
            if seen.is_some() {
                // Why it cannot be executed is not told by the file alone.
                self.ground.loosen();
            }
        }
        None
    }

    /// A file, what it links to, and what interprets it.
    fn follow(
        &mut self,
        workdir: &Path,
        file: &Path,
        path: Option<&OsStr>,
        steps: u8,
        files: &mut BTreeMap<Bytes, Watched>,
    ) {
        if steps == 0 || files.contains_key(&bytes(file)) {
            return;
        }
        let Some(meta) = self.ground.look(file, Way::Itself) else {
            return;
        };
        let (digest, next) = if meta.is_symlink() {
            self.ground.look(file, Way::Behind);
            (linked(file), target(file))
        } else if meta.is_file() {
            let read = self.read(file, &meta);
            let next = read
                .interpreter
                .and_then(|words| self.interpreter(&words, workdir, path));
            (read.digest, next)
        } else {
            return;
        };
        files.insert(bytes(file), watched(&meta, digest));
        if let Some(mark) = mark_beside(file)
            && self.ground.look(&mark, Way::Behind).is_some()
        {
            // What else belongs to an environment is listed.
            self.ground.loosen();
        }
        for start_up in start_up_files(workdir, file) {
            if let Some(meta) = fs::metadata(&start_up).ok().filter(Metadata::is_file) {
                files.insert(bytes(&start_up), watched(&meta, self.read(&start_up, &meta).digest));
            }
        }
        if let Some(next) = next {
            self.follow(workdir, &next, path, steps - 1, files);
        }
    }

    fn interpreter(&mut self, words: &[OsString], workdir: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
        let first = Path::new(words.first()?);
        if first.file_name().is_some_and(|name| name == "env") {
            let plain = |word: &&OsString| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
            return self.find(words.iter().skip(1).find(plain)?, workdir, path);
        }
        Some(first.to_path_buf())
    }

    fn read(&mut self, file: &Path, meta: &Metadata) -> Content {
        let stat = stat(meta);
        if let Some((known, content)) = self.read.get(file)
            && *known == stat
        {
            return content.clone();
        }
        let content = content(file, meta);
        if settled(meta) {
            self.read.insert(file.to_path_buf(), (stat, content.clone()));
        }
        content
    }
}

fn watched(meta: &Metadata, digest: Digest) -> Watched {
    Watched {
        digest,
        link: meta.is_symlink(),
        mode: meta.mode() & 0o777,
    }
}

impl Programs {
    /// Every file on the way to these programs.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Bytes> {
        self.files.keys()
    }

    /// Whether the check could start a program of this name: its text names it, or `PATH` has one, which it would
    /// stand before wherever a script runner puts the programs of packages first.
    pub(super) fn may_start(&self, workdir: &Path, check: &Command, name: &[u8]) -> bool {
        let is_named = |word: &Bytes| word.0.rsplit(|byte| *byte == b'/').next() == Some(name);
        if self.found.keys().any(is_named) || names(workdir, check).iter().any(is_named) {
            return true;
        }
        let of_packages = |entry: &&[u8]| Path::new(OsStr::from_bytes(entry)).ends_with("node_modules/.bin");
        let others = |path: &Bytes| {
            let entries = path.0.split(|byte| *byte == b':').filter(|entry| !of_packages(entry));
            OsString::from_vec(entries.collect::<Vec<_>>().join(&b':'))
        };
        let path = self.path.as_ref().map(others);
        which(OsStr::from_bytes(name), workdir, path.as_deref()).is_ok()
    }

    /// Files that differ from these, and names that now lead elsewhere.
    pub(super) fn changes(&self, now: &Self) -> Vec<(Bytes, ChangeKind)> {
        let mut changes = Vec::new();
        for (name, was) in &self.found {
            match (was, now.found.get(name).unwrap_or(&None)) {
                (was, is) if was == is => {}
                (_, Some(is)) => changes.push((is.clone(), ChangeKind::Added)),
                (Some(was), None) => changes.push((was.clone(), ChangeKind::Removed)),
                (None, None) => {}
            }
        }
        for (path, before) in &self.files {
            let kind = match now.files.get(path) {
                Some(after) if before == after => continue,
                Some(after) if before.link != after.link => ChangeKind::Type,
                Some(after) if before.digest == after.digest => ChangeKind::Mode,
                Some(_) => ChangeKind::Modified,
                // Not on the way any more, and what is on it now is named.
                None if Path::new(OsStr::from_bytes(&path.0)).exists() => continue,
                None => ChangeKind::Removed,
            };
            changes.push((path.clone(), kind));
        }
        // What is new on the way was led to by what changed, unless nothing did: then the search path leads there.
        let led = !changes.is_empty();
        let new = |path: &&Bytes| !self.files.contains_key(*path) && (!led || venv::starts_with(&path.0));
        changes.extend(
            now.files
                .keys()
                .filter(new)
                .map(|path| (path.clone(), ChangeKind::Added)),
        );
        changes.sort();
        changes.dedup_by(|later, kept| later.0 == kept.0);
        changes
    }
}

/// The programs that the check's text names, and the shell that reads it.
fn names(workdir: &Path, check: &Command) -> BTreeSet<Bytes> {
    let called = detection(workdir, check).programs().into_iter();
    let own = check.words.first().filter(|_| !check.shell).cloned();
    let shell = check.shell.then(|| Bytes::from("/bin/sh"));
    let plain = |word: &String| {
        let known = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
        word.chars().all(known) && !super::execute::BUILTINS.contains(&word.as_str())
    };
    let called = called.filter(plain).map(|word| Bytes(word.into_bytes()));
    called.chain(own).chain(shell).collect()
}

/// Whether a program is a tool and not part of the work.
fn is_tool(workdir: &Path, file: &Path) -> bool {
    let Ok(below) = file.strip_prefix(workdir) else {
        return true;
    };
    environment(file).is_some() || below.iter().any(|part| part == TOOLS)
}

/// The environment that a program in its `bin` belongs to.
fn environment(file: &Path) -> Option<&Path> {
    let mark = mark_beside(file)?;
    mark.is_file().then_some(file.parent()?.parent()?)
}

/// What makes an environment of the directory that a program's `bin` lies in.
fn mark_beside(file: &Path) -> Option<PathBuf> {
    Some(file.parent()?.parent()?.join("pyvenv.cfg"))
}

/// What starts with every program of an environment. Inside the workdir the walk sees most of it.
fn start_up_files(workdir: &Path, file: &Path) -> Vec<PathBuf> {
    let Some(root) = environment(file) else {
        return Vec::new();
    };
    let mut found = vec![root.join("pyvenv.cfg")];
    if !root.starts_with(workdir) {
        found.extend(venv::start_up_files(root));
    }
    found
}

fn target(link: &Path) -> Option<PathBuf> {
    let target = link.parent()?.join(fs::read_link(link).ok()?);
    let parent = fs::canonicalize(target.parent()?).ok()?;
    Some(parent.join(target.file_name()?))
}

fn bytes(path: &Path) -> Bytes {
    Bytes(path.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn program(at: &Path, text: &str) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
        fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Changes between the start and now of a check by `name`, under a PATH of two directories, `near` before `far`.
    fn told(name: &str, before: impl FnOnce(&Path), change: impl FnOnce(&Path)) -> Vec<(String, ChangeKind)> {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let workdir = top.join("work");
        fs::create_dir_all(&workdir).unwrap();
        before(&top);
        let path = format!("{0}/near:{0}/far", top.display());
        let mut toolchain = Toolchain::default();
        let start = toolchain.start(&workdir, &Command::shell(name), Some(OsStr::new(&path)));
        change(&top);
        let now = toolchain.again(&workdir, &start);
        let short = |path: &Bytes| path.text().replace(&format!("{}/", top.display()), "");
        start
            .changes(&now)
            .iter()
            .map(|(path, kind)| (short(path), *kind))
            .collect()
    }

    fn runner(top: &Path) {
        program(&top.join("far/interpreter"), "binary");
        program(
            &top.join("real/runner"),
            &format!("#!{}/far/interpreter -u\nrun\n", top.display()),
        );
        symlink("../real/runner", top.join("far/runner")).unwrap();
    }

    #[test]
    fn an_untouched_toolchain_has_no_changes() {
        assert_eq!(told("runner -q && other", runner, |_| ()), []);
    }

    #[test]
    fn a_program_its_link_and_its_interpreter_are_held_to_their_content() {
        let edit = |file: &'static str| {
            told("cd . && A=1 runner -q", runner, move |top| {
                program(&top.join(file), "another")
            })
        };
        assert_eq!(edit("real/runner"), [("real/runner".into(), ChangeKind::Modified)]);
        assert_eq!(
            edit("far/interpreter"),
            [("far/interpreter".into(), ChangeKind::Modified)]
        );
        let relinked = told("runner", runner, |top| {
            program(&top.join("real/fake"), "exit 0");
            fs::remove_file(top.join("far/runner")).unwrap();
            symlink("../real/fake", top.join("far/runner")).unwrap();
        });
        assert!(
            relinked.contains(&("far/runner".into(), ChangeKind::Modified)),
            "{relinked:?}"
        );
    }

    #[test]
    fn a_program_that_is_found_earlier_now_is_a_change() {
        let shadowed = told("runner", runner, |top| program(&top.join("near/runner"), "exit 0"));
        assert!(
            shadowed.contains(&("near/runner".into(), ChangeKind::Added)),
            "{shadowed:?}"
        );
    }

    #[test]
    fn what_the_work_builds_for_its_check_may_change_and_a_tool_beside_it_may_not() {
        let before = |top: &Path| {
            program(&top.join("work/app"), "1");
            program(&top.join("work/node_modules/x/cli"), "1");
        };
        let change = |top: &Path| {
            program(&top.join("work/app"), "2");
            program(&top.join("work/node_modules/x/cli"), "2");
        };
        let told = told("./app && node_modules/x/cli", before, change);
        assert_eq!(told, [("work/node_modules/x/cli".into(), ChangeKind::Modified)]);
    }

    #[test]
    fn a_program_that_the_check_names_or_that_stands_before_another_could_be_started_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let workdir = fs::canonicalize(dir.path()).unwrap();
        program(&workdir.join("far/git"), "1");
        fs::create_dir(workdir.join("node_modules")).unwrap();
        program(&workdir.join("node_modules/.bin/tool"), "1");
        fs::write(workdir.join("package.json"), r#"{"scripts": {"test": "runner -q"}}"#).unwrap();
        let check = Command::shell("npm test");
        let path = format!("{0}/node_modules/.bin:{0}/far", workdir.display());
        let start = Toolchain::default().start(&workdir, &check, Some(OsStr::new(&path)));
        for (name, could) in [("git", true), ("npm", true), ("runner", true), ("tool", false)] {
            assert_eq!(start.may_start(&workdir, &check, name.as_bytes()), could, "{name}");
        }
    }

    #[test]
    fn a_start_up_file_in_the_environment_of_the_runner_is_a_change() {
        let before = |top: &Path| {
            program(&top.join("far/pyvenv.cfg"), "");
            program(&top.join("far/bin/python"), "binary");
            program(&top.join("far/lib/python3/site-packages/_pytest/runner.py"), "1");
            symlink("bin/python", top.join("far/runner")).unwrap();
        };
        let told = told("runner -m pytest", before, |top| {
            program(&top.join("far/lib/python3/site-packages/zz.pth"), "import os");
            program(&top.join("far/lib/python3/site-packages/_pytest/runner.py"), "2");
        });
        let at = |name: &str| format!("far/lib/python3/site-packages/{name}");
        let wanted = [
            (at("_pytest/runner.py"), ChangeKind::Modified),
            (at("zz.pth"), ChangeKind::Added),
        ];
        assert_eq!(told, wanted);
    }
}

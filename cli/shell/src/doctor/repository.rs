//! The git repository around the project: it can be read, nothing holds it, and what is uncommitted is known.
//!
//! Git is asked what index and commit hold. Files of the tree are named by git as they are, through no filter, so that
//! nothing that the repository configures is run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use engine::doctor::GUARD_BLIND;
use engine::words::counted;

use super::{Concern, Looked, Patient};
use crate::process::host_program;
use crate::tree::git::run::Git;
use crate::tree::{Repository, TreeError, Unavailable, path_text};

pub(super) static CONCERN: Concern = Concern {
    name: "repository",
    doc: "the git repository can be read, nothing holds it, and what is uncommitted is known",
    look,
};

/// One question to git.
pub(super) const ANSWER_LIMIT_MS: u64 = 20_000;
/// More tracked files than this are not compared.
const COMPARED_MAX: usize = 50_000;
/// Names that are shown of many.
const NAMED_MAX: usize = 5;

fn look(patient: &Patient, looked: &mut Looked) {
    let at = patient.workdir.display();
    let repository = match Repository::find(&patient.workdir) {
        Ok(repository) => repository,
        Err(Unavailable::NoRepository) => {
            let detail = "there is no git repository: references and commits are not guarded, everything else is";
            return looked.note(&CONCERN, at, detail, "`git init` and a first commit make one");
        }
        Err(error) => {
            let remedy = "mend the repository; until then no run can be green";
            return looked.problem(&CONCERN, GUARD_BLIND, at, error.to_string(), remedy);
        }
    };
    if host_program("git", patient.variable("PATH")).is_err() {
        let detail = "there is a repository and no git on PATH to ask what its index and commit hold";
        return looked.problem(&CONCERN, GUARD_BLIND, "git", detail, "install git");
    }
    let before = looked.findings.len();
    if let Some(lock) = repository.index_lock() {
        looked.note(
            &CONCERN,
            lock.display(),
            "a git command is at work on the index, or died on it",
            "wait for it; if none is running, remove the file",
        );
    }
    match Seen::of(patient, &repository) {
        Err(error) => {
            let remedy = "mend the repository; until then no run can be green";
            looked.problem(
                &CONCERN,
                GUARD_BLIND,
                repository.git_dir.display(),
                error.to_string(),
                remedy,
            );
        }
        Ok(seen) => tell(&seen, &repository, looked),
    }
    if looked.findings.len() == before {
        looked.ok(
            &CONCERN,
            repository.top.display(),
            "the repository can be read, and nothing is uncommitted",
        );
    }
}

fn tell(seen: &Seen, repository: &Repository, looked: &mut Looked) {
    let top = &repository.top.display();
    if !seen.has_commit {
        let detail = "the repository has no commit yet: nothing can be compared with one";
        looked.note(&CONCERN, top, detail, "make a first commit");
    } else if let Some(uncommitted) = &seen.uncommitted {
        if !uncommitted.is_empty() {
            let more = if uncommitted.len() > NAMED_MAX { ", ..." } else { "" };
            let named: Vec<_> = uncommitted.iter().take(NAMED_MAX).map(|path| path_text(path)).collect();
            let count = counted(uncommitted.len() as u64, "tracked file");
            let verb = if uncommitted.len() == 1 { "differs" } else { "differ" };
            let detail = format!("{count} {verb} from the last commit: {}{more}", named.join(", "));
            let remedy = "commit or stash it, to tell the work of the loop from yours";
            looked.note(&CONCERN, top, detail, remedy);
        }
    } else {
        let detail = format!("more than {COMPARED_MAX} files are tracked; they were not compared with the last commit");
        looked.note(&CONCERN, top, detail, "");
    }
    if seen.submodules > 0 {
        let count = counted(seen.submodules, "submodule");
        let detail = format!("{count}: files in them are watched, their own index and commits are not");
        looked.note(&CONCERN, top, detail, "");
    }
}

/// What index and commit hold, and where the tree differs from them.
struct Seen {
    has_commit: bool,
    submodules: u64,
    /// Paths relative to the workdir; `None` when there were too many files to compare.
    uncommitted: Option<Vec<Vec<u8>>>,
}

impl Seen {
    fn of(patient: &Patient, repository: &Repository) -> Result<Self, TreeError> {
        let git = Git::new(&patient.workdir, ANSWER_LIMIT_MS)
            .on(&repository.git_dir)
            .work_tree(&repository.top);
        let has_commit = git.run(&["rev-parse", "--verify", "-q", "HEAD^{commit}"], b"").is_ok();
        let mut index = entries(&git.run(&["ls-files", "-z", "-s"], b"")?, 1);
        let modules = index.len();
        index.retain(|_, entry| entry.mode != b"160000");
        let mut seen = Self {
            has_commit,
            submodules: (modules - index.len()) as u64,
            uncommitted: None,
        };
        if !has_commit || index.len() > COMPARED_MAX {
            return Ok(seen);
        }
        let mut commit = entries(&git.run(&["ls-tree", "-r", "-z", "HEAD"], b"")?, 2);
        commit.retain(|_, entry| entry.mode != b"160000");
        let mut uncommitted = unlike(&patient.workdir, &git, &commit)?;
        let staged = index.iter().filter(|(path, entry)| commit.get(*path) != Some(entry));
        uncommitted.extend(staged.map(|(path, _)| path.clone()));
        uncommitted.extend(commit.keys().filter(|path| !index.contains_key(*path)).cloned());
        uncommitted.sort();
        uncommitted.dedup();
        seen.uncommitted = Some(uncommitted);
        Ok(seen)
    }
}

/// A path relative to the workdir, and the blob that the last commit holds there.
pub(super) type Changed = (Vec<u8>, Option<Vec<u8>>);

/// Files that differ from the last commit, and those that it does not have and nothing ignores.
pub(super) fn changed(patient: &Patient, git: &Git<'_>) -> Result<Vec<Changed>, TreeError> {
    let mut commit = entries(&git.run(&["ls-tree", "-r", "-z", "HEAD"], b"")?, 2);
    commit.retain(|_, entry| entry.mode != b"160000");
    let index = entries(&git.run(&["ls-files", "-z", "-s"], b"")?, 1);
    let new = git.run(
        &["ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"],
        b"",
    )?;
    let mut changed = unlike(&patient.workdir, git, &commit)?;
    changed.extend(index.into_keys().filter(|path| !commit.contains_key(path)));
    changed.extend(
        new.split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec),
    );
    changed.sort();
    changed.dedup();
    let with_blob = changed.into_iter().map(|path| {
        let id = commit.get(&path).map(|entry| entry.id.clone());
        (path, id)
    });
    Ok(with_blob.collect())
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: Vec<u8>,
    id: Vec<u8>,
}

/// `mode ... id ...\tpath`, ended by NUL each.
fn entries(told: &[u8], id_at: usize) -> BTreeMap<Vec<u8>, Entry> {
    let records = told.split(|byte| *byte == 0);
    let entry = |record: &[u8]| {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let (words, path) = (record.get(..tab)?, record.get(tab + 1..)?);
        let words: Vec<&[u8]> = words.split(|byte| *byte == b' ').collect();
        let entry = Entry {
            mode: words.first()?.to_vec(),
            id: words.get(id_at)?.to_vec(),
        };
        Some((path.to_vec(), entry))
    };
    records.filter_map(entry).collect()
}

/// Paths whose file is not the one of the commit.
fn unlike(workdir: &Path, git: &Git<'_>, commit: &BTreeMap<Vec<u8>, Entry>) -> Result<Vec<Vec<u8>>, TreeError> {
    let (mut unlike, mut asked, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (path, entry) in commit {
        let file = workdir.join(OsStr::from_bytes(path));
        let mode: &[u8] = match fs::symlink_metadata(&file) {
            Ok(seen) if seen.is_symlink() => b"120000",
            Ok(seen) if seen.is_file() && seen.permissions().mode() & 0o100 != 0 => b"100755",
            Ok(seen) if seen.is_file() => b"100644",
            _ => b"",
        };
        if mode != entry.mode {
            unlike.push(path.clone());
        } else if mode != b"120000" && !path.contains(&b'\n') {
            names.extend_from_slice(file.as_os_str().as_bytes());
            names.push(b'\n');
            asked.push((path, entry));
        }
    }
    if asked.is_empty() {
        return Ok(unlike);
    }
    let told = git.run(&["hash-object", "--no-filters", "--stdin-paths"], &names)?;
    let ids = told.split(|byte| *byte == b'\n');
    unlike.extend(
        asked
            .into_iter()
            .zip(ids)
            .filter(|((_, entry), id)| entry.id != *id)
            .map(|((path, _), _)| path.clone()),
    );
    Ok(unlike)
}

#[cfg(test)]
mod tests {
    use super::super::bench::{patient, said};
    use super::*;

    fn git(workdir: &Path, args: &[&str]) {
        let out = std::process::Command::new("git")
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
            .args(args)
            .current_dir(workdir)
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
    }

    fn only(patient: &Patient) -> (&'static str, String) {
        let mut said = said(&CONCERN, patient);
        assert_eq!(said.len(), 1, "{said:?}");
        said.remove(0)
    }

    #[test]
    fn what_is_uncommitted_is_named_whether_staged_or_not() {
        let (_dir, patient) = patient(&[("a", "1\n"), ("b", "1\n"), ("c/d", "1\n")], "true");
        assert!(only(&patient).1.contains("no git repository"));
        git(&patient.workdir, &["init", "-q"]);
        assert!(only(&patient).1.contains("no commit yet"));
        git(&patient.workdir, &["add", "-A"]);
        git(&patient.workdir, &["commit", "-q", "-m", "start"]);
        assert_eq!(only(&patient).0, "ok");
        fs::write(patient.workdir.join("b"), "2\n").unwrap();
        assert!(
            only(&patient)
                .1
                .ends_with("1 tracked file differs from the last commit: b")
        );
        git(&patient.workdir, &["add", "b"]);
        git(&patient.workdir, &["rm", "-q", "c/d"]);
        let (severity, detail) = only(&patient);
        assert!(
            severity == "note" && detail.ends_with("2 tracked files differ from the last commit: b, c/d"),
            "{detail}"
        );
    }

    #[test]
    fn a_lock_on_the_index_is_named_and_stays() {
        let (_dir, patient) = patient(&[("a", "1\n")], "true");
        git(&patient.workdir, &["init", "-q"]);
        git(&patient.workdir, &["add", "-A"]);
        git(&patient.workdir, &["commit", "-q", "-m", "start"]);
        let lock = patient.workdir.join(".git/index.lock");
        fs::write(&lock, "").unwrap();
        assert!(only(&patient).1.contains("at work on the index"));
        assert!(lock.exists());
    }

    #[test]
    fn no_filter_of_the_repository_is_run() {
        let (_dir, patient) = patient(&[("a", "1\n"), (".gitattributes", "a filter=spy\n")], "true");
        git(&patient.workdir, &["init", "-q"]);
        git(&patient.workdir, &["add", "-A"]);
        git(&patient.workdir, &["commit", "-q", "-m", "start"]);
        let spied = patient.workdir.join("spied");
        git(
            &patient.workdir,
            &["config", "filter.spy.clean", &format!("touch {}; cat", spied.display())],
        );
        fs::write(patient.workdir.join("a"), "2\n").unwrap();
        assert!(only(&patient).1.ends_with(": a"));
        assert!(!spied.exists());
    }

    #[test]
    fn a_repository_that_cannot_be_read_is_a_problem() {
        let (_dir, patient) = patient(&[(".git", "nonsense\n")], "true");
        let mut looked = Looked::default();
        look(&patient, &mut looked);
        assert_eq!(looked.findings[0].severity.fault(), Some(GUARD_BLIND));
    }
}

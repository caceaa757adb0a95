//! A directory with a repository, the way a user has one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use shell::tree::{ChangeKind, Options, Tree, TreeSeen};
use tempfile::TempDir;

/// A temporary directory with a workdir in it.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) work: PathBuf,
}

impl Place {
    /// An empty directory, no repository.
    pub(crate) fn plain() -> Self {
        let home = tempfile::tempdir().unwrap();
        let work = home.path().canonicalize().unwrap().join("work tree");
        std::fs::create_dir(&work).unwrap();
        Self { home, work }
    }

    /// A repository on `main` with one commit: `kept.txt`, `src/lib.rs`, and `*.log` and `/build/` ignored.
    pub(crate) fn repository() -> Self {
        let place = Self::plain();
        place.git(&["init", "-q", "-b", "main"]);
        place.write(".gitignore", "*.log\n/build/\n/.loopexec/\n");
        place.write("kept.txt", "kept\n");
        place.write("src/lib.rs", "fn main() {}\n");
        place.commit("first");
        place
    }

    pub(crate) fn at(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.work.join(Path::new(path.as_ref()))
    }

    pub(crate) fn write(&self, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let file = self.at(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    pub(crate) fn read(&self, path: impl AsRef<OsStr>) -> Vec<u8> {
        std::fs::read(self.at(path)).unwrap()
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        self.at(path).symlink_metadata().unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.at(path), PermissionsExt::from_mode(mode)).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: impl AsRef<OsStr>) {
        std::os::unix::fs::symlink(target, self.at(path)).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.at(path)).unwrap();
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.at(path).symlink_metadata().is_ok()
    }

    /// Runs git in the workdir as a user would, without this machine's settings.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.work, args)
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.work.join(".loopexec")
    }

    pub(crate) fn open(&self) -> Tree {
        self.open_with(Options::default())
    }

    pub(crate) fn open_with(&self, options: Options) -> Tree {
        Tree::open(&self.work, &self.state(), options).unwrap()
    }
}

pub(crate) fn git_in(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let identity = [
        "user.name=A User",
        "user.email=user@example.org",
        "init.defaultBranch=main",
    ];
    for setting in identity
        .into_iter()
        .chain(["protocol.file.allow=always", "commit.gpgsign=false"])
    {
        command.args(["-c", setting]);
    }
    let output = command.args(args).current_dir(dir).output().unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A name that is not UTF-8.
pub(crate) fn odd(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// The changes of a scan as text and kind.
pub(crate) fn changes(seen: &TreeSeen) -> Vec<(String, ChangeKind)> {
    seen.changes
        .iter()
        .map(|c| (shell::tree::path_text(&c.path), c.kind))
        .collect()
}

/// The paths of the last scan, as text.
pub(crate) fn paths(tree: &Tree) -> Vec<String> {
    tree.current()
        .entries()
        .iter()
        .map(|e| shell::tree::path_text(&e.path))
        .collect()
}

/// What a directory holds, `.git` and the state directory apart: path, mode, content or target.
pub(crate) fn everything(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut todo = vec![root.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let (path, metadata) = (entry.path(), entry.path().symlink_metadata().unwrap());
            let relative = path.strip_prefix(root).unwrap().to_path_buf();
            if relative == Path::new(".git") || relative == Path::new(".loopexec") {
                continue;
            }
            if metadata.is_dir() {
                todo.push(path);
            } else {
                let content = match metadata.is_symlink() {
                    true => std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
                    false => std::fs::read(&path).unwrap(),
                };
                found.push((relative, metadata.permissions().mode(), content));
            }
        }
    }
    found.sort();
    found
}

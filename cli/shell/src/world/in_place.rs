//! Projects that are installed in place: what leads the runs in a copy back to the workdir, and what leads them on.
//!
//! ```text
//!   site directories of the check's Pythons --> a line or a finder that names the workdir --> a start-up module that
//!                                                                                             puts the copy in its place
//!   manifests of the tree that name the workdir --> the copy's own say the copy
//! ```
//!
//! `pip install -e .` leaves the absolute path of the sources in the environment. A copy that found its product by that
//! path would judge the workdir (SPEC 9.6.5).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use engine::event::policy::Command;

use super::toolchain::Toolchain;
use super::venv;
use crate::foreign;
use crate::oracle::collect::Detection;
use crate::oracle::perturb::Perturbation;
use crate::process::path_of;
use crate::tree::{Kind, Manifest};

/// What a run leaves in its support directory when it was led on.
pub(crate) const SIGN: &str = "led-to-the-copy";
/// Collectors of runners that find their product by Python's own path.
const PYTHONS: &[&str] = &["pytest", "unittest"];
/// Files of a site directory are short; what is longer is no list of places.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// Files that name other packages by their place.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "build.gradle",
    "build.gradle.kts",
    "config.toml",
    "go.mod",
    "go.work",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "pytest.ini",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "tox.ini",
    "tsconfig.json",
];

/// Whether a Python of this check finds sources in the workdir by their absolute path.
pub(crate) fn is_installed(workdir: &Path, check: &Command, env: &[(OsString, OsString)]) -> bool {
    let programs = Toolchain::default().start(workdir, check, path_of(env));
    let named = programs.paths().map(|path| PathBuf::from(OsStr::from_bytes(&path.0)));
    let of = |name: &str| {
        env.iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    };
    let mut sites: BTreeSet<PathBuf> = venv::inside(workdir).iter().flat_map(|dir| venv::sites(dir)).collect();
    for path in named {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let above = path.parent();
        let root = match name {
            b"pyvenv.cfg" => above,
            _ if name.starts_with(b"python") => above.and_then(Path::parent),
            _ => None,
        };
        sites.extend(root.into_iter().flat_map(venv::sites));
    }
    let users = of("PYTHONUSERBASE").map(PathBuf::from);
    let users = users.or_else(|| of("HOME").map(|home| Path::new(home).join(".local")));
    let others = users.into_iter().chain(of("VIRTUAL_ENV").map(PathBuf::from));
    // Where the system's own Python finds what its owner installed.
    let others = others.chain([PathBuf::from("/usr/local")]);
    sites.extend(others.flat_map(|dir| venv::sites(&dir)));
    sites.iter().any(|site| leads_into(site, workdir))
}

/// Whether a line of a path file, or a finder beside it, names the workdir.
fn leads_into(site: &Path, workdir: &Path) -> bool {
    let entries = fs::read_dir(site).into_iter().flatten().flatten();
    let told = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.as_bytes();
        name.ends_with(b".pth")
            || name.ends_with(b".egg-link")
            || name.ends_with(b".py") && name.windows(8).any(|part| part == b"editable")
    });
    let names = |path: PathBuf| {
        let text = foreign::read(&path, FILE_MAX_BYTES).unwrap_or_default();
        let leads = |line: &[u8]| {
            let line = Path::new(OsStr::from_bytes(line.trim_ascii()));
            line.is_absolute() && fs::canonicalize(line).is_ok_and(|real| real.starts_with(workdir))
        };
        replaced(&text, workdir, workdir).is_some() || text.split(|byte| *byte == b'\n').any(leads)
    };
    told.map(|entry| entry.path()).any(names)
}

/// What makes Python look for the sources of the workdir in the copy.
pub(crate) fn redirected(workdir: &Path, copy: &Path) -> Perturbation {
    let quoted = |path: &Path| serde_json::to_string(&path.to_string_lossy()).unwrap_or_default();
    let text = START_UP
        .replace("@FROM@", &quoted(workdir))
        .replace("@TO@", &quoted(copy))
        .replace("@SIGN@", SIGN);
    Perturbation {
        files: vec![("sitecustomize.py", text)],
        is_on_python_path: true,
        ..Perturbation::default()
    }
}

/// Why a run in a copy says nothing about it; `support` is its support directory. A check that says by itself where Python
/// is to look is believed: what it says may lead to the copy.
pub(crate) fn was_missed(check: &Detection, collector: &str, support: &Path) -> Option<String> {
    let says = |word: &String| word.starts_with("PYTHONPATH=");
    let says = check.invocations().iter().any(|run| run.assignments.iter().any(says));
    let missed = PYTHONS.contains(&collector) && !says && !support.join(SIGN).exists();
    missed.then(|| {
        "the project is installed in place, and Python could not be led to the copy: it ignores PYTHONPATH".to_owned()
    })
}

/// Lets the manifests of a copy that name the workdir name the copy.
///
/// # Errors
/// When one of them cannot be read or written.
pub(crate) fn retarget(tree: &Manifest, workdir: &Path, copy: &Path) -> io::Result<()> {
    for entry in tree.entries() {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        let named = path
            .file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| MANIFESTS.contains(&name));
        if !named || entry.kind != Kind::File || entry.size > FILE_MAX_BYTES {
            continue;
        }
        let file = copy.join(path);
        if let Some(text) = replaced(&fs::read(&file)?, workdir, copy) {
            fs::write(&file, text)?;
        }
    }
    Ok(())
}

/// The text with one path in place of another, where that stands as a whole path or begins one; nothing where it nowhere does.
fn replaced(text: &[u8], from: &Path, to: &Path) -> Option<Vec<u8>> {
    let (from, to) = (from.as_os_str().as_bytes(), to.as_os_str().as_bytes());
    if from.len() < 2 {
        return None;
    }
    let in_a_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte) || !byte.is_ascii();
    let (mut out, mut at, mut found) = (Vec::with_capacity(text.len()), 0, false);
    while let Some(byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let begins = !at
            .checked_sub(1)
            .and_then(|before| text.get(before))
            .is_some_and(in_a_name);
        if begins && rest.starts_with(from) && !rest.get(from.len()).is_some_and(in_a_name) {
            out.extend_from_slice(to);
            at += from.len();
            found = true;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    found.then_some(out)
}

/// Run by every Python once its path is complete, in place of the `sitecustomize` that there is, which it runs then.
const START_UP: &str = r#"
import importlib.machinery
import importlib.util
import os
import sys

FROM, TO = @FROM@, @TO@
HERE = os.path.dirname(os.path.abspath(__file__))


def there(path):
    if isinstance(path, (list, tuple)):
        return type(path)(there(part) for part in path)
    if not isinstance(path, str) or not path:
        return path
    real = os.path.realpath(path)
    if real == FROM or real.startswith(FROM + os.sep):
        return TO + real[len(FROM):]
    return path


sys.path[:] = [there(path) for path in sys.path]
for module in list(sys.modules.values()):
    tables = []
    if getattr(module, "__name__", "").startswith("__editable__"):
        tables = [getattr(module, name, None) for name in ("MAPPING", "NAMESPACES")]
    finder = getattr(module, "RedirectingFinder", None)
    tables.append(getattr(finder, "_redirections", None))
    for table in tables:
        if isinstance(table, dict):
            table.update({name: there(path) for name, path in table.items()})
try:
    open(os.path.join(HERE, "@SIGN@"), "w").close()
except OSError:
    pass
rest = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
found = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
if found is not None and found.loader is not None:
    module = importlib.util.module_from_spec(found)
    sys.modules["sitecustomize"] = module
    found.loader.exec_module(module)
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_replaced_where_it_stands_as_one() {
        let replaced = |text: &str| {
            let text = replaced(text.as_bytes(), Path::new("/w/app"), Path::new("/c"));
            text.map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(replaced("/w/app/src\n").unwrap(), "/c/src\n");
        assert_eq!(replaced("a = \"/w/app\", '/w/app/b'").unwrap(), "a = \"/c\", '/c/b'");
        for other in ["/w/app2", "/v/w/app", "/w/app.old/x", "w/app", ""] {
            assert_eq!(replaced(other), None, "{other}");
        }
    }

    #[test]
    fn a_manifest_that_names_the_workdir_names_the_copy_there_and_a_source_keeps_its_words() {
        let copy = tempfile::tempdir().unwrap();
        let text = "util = { path = \"/w/app/util\" }\n";
        let entry = |path: &str| crate::tree::Entry {
            path: path.into(),
            kind: Kind::File,
            mode: 0o644,
            size: text.len() as u64,
            digest: [0; 32],
        };
        let names = ["Cargo.toml", "main.rs"];
        for name in names {
            fs::write(copy.path().join(name), text).unwrap();
        }
        let tree = Manifest::new(names.map(entry).to_vec());
        retarget(&tree, Path::new("/w/app"), copy.path()).unwrap();
        let read = |name: &str| fs::read_to_string(copy.path().join(name)).unwrap();
        assert_eq!(
            read("Cargo.toml"),
            text.replace("/w/app", &copy.path().display().to_string())
        );
        assert_eq!(read("main.rs"), text);
    }

    #[test]
    fn a_line_or_a_finder_that_leads_into_the_workdir_is_found_and_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let (site, work) = (top.join("site"), top.join("w"));
        fs::create_dir_all(work.join("src")).unwrap();
        std::os::unix::fs::symlink(&work, top.join("link")).unwrap();
        for (name, text, leads) in [
            ("a.pth", format!("{}/src\n", work.display()), true),
            ("a.pth", format!("{}/link/src\n", top.display()), true),
            (
                "__editable___a_finder.py",
                format!("MAPPING = {{'a': '{}/src'}}", work.display()),
                true,
            ),
            ("a.pth", format!("{}/w2\nimport os\n", top.display()), false),
            ("a.py", format!("W = '{}'", work.display()), false),
        ] {
            fs::create_dir(&site).unwrap();
            fs::write(site.join(name), &text).unwrap();
            assert_eq!(leads_into(&site, &work), leads, "{name} {text}");
            fs::remove_dir_all(&site).unwrap();
        }
    }
}

//! The watched surface: which paths determine what the check measures (SPEC 5.4).
//!
//! Three classes, tried in this order: *blocked* paths of the contract, *determinant* names that alter a
//! runner by merely appearing, and the *protected* surface of tests, runner configuration, lock files
//! and build scripts. Data, not code: a new ecosystem is a few lines here.

use alloc::string::String;

use crate::event::measurement::{ChangeKind, SurfaceChange, SurfaceClass};
use crate::event::policy::{GuardPolicy, Surface};
use crate::pattern;

/// Names that change how a runner starts, wherever they appear.
pub const DETERMINANTS: &[&str] = &[
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "**/*.dist-info/entry_points.txt",
    "pytest.py",
    "_pytest/",
    "unittest.py",
    "/unittest/",
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".rspec",
    "node_modules/.bin/",
    "/__mocks__/",
    "/vendor/modules.txt",
];

/// Further names that `node --test` runs.
const NODE_TESTS: &[&str] = &[
    "*-test.js",
    "*-test.cjs",
    "*-test.mjs",
    "*_test.js",
    "*_test.cjs",
    "*_test.mjs",
    "test-*.js",
    "test-*.cjs",
    "test-*.mjs",
    "test.js",
    "test.cjs",
    "test.mjs",
];

/// Tests and their data.
const TESTS: &[&str] = &[
    "test_*.py",
    "*_test.py",
    "conftest.py",
    "*_test.go",
    "testdata/",
    "*.test.js",
    "*.test.cjs",
    "*.test.mjs",
    "*.test.jsx",
    "*.test.ts",
    "*.test.tsx",
    "*.spec.js",
    "*.spec.cjs",
    "*.spec.mjs",
    "*.spec.jsx",
    "*.spec.ts",
    "*.spec.tsx",
    "__tests__/",
    "__mocks__/",
    "__snapshots__/",
    "*.snap",
    "*_spec.rb",
    "src/test/",
];

/// What is no test and decides over them: runner and coverage configuration, CI, lock files, build scripts, toolchains.
const CONFIGURATION: &[&str] = &[
    // runner and coverage configuration
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "noxfile.py",
    ".coveragerc",
    "jest.config.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vite.config.*",
    "babel.config.*",
    ".babelrc*",
    ".mocharc*",
    "karma.conf.*",
    "playwright.config.*",
    ".nycrc*",
    ".c8rc*",
    "tsconfig*.json",
    ".config/nextest.toml",
    "clippy.toml",
    "phpunit.xml*",
    // continuous integration
    ".github/workflows/",
    ".github/actions/",
    ".gitlab-ci.yml",
    ".circleci/",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    // manifests, lock files, build scripts, toolchains
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock*",
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.mod",
    "go.sum",
    "go.work",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "requirements*.txt",
    "setup.py",
    "pom.xml",
    "build.gradle*",
    "settings.gradle*",
    "gradle.properties",
    "Gemfile.lock",
    "Rakefile",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "Taskfile.yml",
    "CMakeLists.txt",
    "loopexec.toml",
];

/// Directories of tests that are blocked by default and merely watched under `surface = extend`.
const TEST_DIRECTORIES: &[&str] = &["test/", "tests/"];

/// What `extend` lets the agent touch beside the test directories: sources of tests, never configuration.
const TEST_SOURCES: &[&str] = &[
    "test_*.py",
    "*_test.py",
    "*_test.go",
    "*.test.*",
    "*.spec.*",
    "__tests__/",
    "*_spec.rb",
    "src/test/",
];

/// Tests, fixtures, runner and coverage configuration, CI, lock files, build scripts, toolchains.
pub fn protected<'a>() -> impl Iterator<Item = &'a str> {
    TESTS.iter().chain(NODE_TESTS).chain(CONFIGURATION).copied()
}

/// A test, or what lies beside tests, that the contract lets the agent change (SPEC 5.2.3). What decides over tests
/// wherever it lies, and what the contract names, may not unless it is named like a source of tests.
pub fn may_change(policy: &GuardPolicy, change: &SurfaceChange) -> bool {
    if policy.surface != Surface::Extend || change.class != SurfaceClass::Protected {
        return false;
    }
    let path = &change.path.0;
    let named = |patterns: &[&str]| pattern::first(patterns.iter().copied(), path).is_some();
    let own = |patterns: &[String]| pattern::first(patterns.iter().map(String::as_str), path).is_some();
    if named(CONFIGURATION) {
        return false;
    }
    let source = named(TEST_SOURCES) || named(NODE_TESTS) || change.pattern == COLLECTED;
    source || !own(&policy.protected) && (named(TEST_DIRECTORIES) || own(&policy.test_directories))
}

/// What lies in a directory of tests and is neither a test nor what decides over tests by its name: a check may have
/// written it.
pub fn may_be_written(policy: &GuardPolicy, path: &[u8]) -> bool {
    let named = |patterns: &[&str]| pattern::first(patterns.iter().copied(), path).is_some();
    let own = |patterns: &[String]| pattern::first(patterns.iter().map(String::as_str), path).is_some();
    let decides = [TESTS, NODE_TESTS, CONFIGURATION, TEST_SOURCES, DETERMINANTS]
        .into_iter()
        .any(named);
    !decides && !own(&policy.protected) && (named(TEST_DIRECTORIES) || own(&policy.test_directories))
}

/// Whether the name of a file says that it holds tests, whatever the contract exempts.
pub fn test_source(path: &[u8]) -> bool {
    let sources = TEST_DIRECTORIES.iter().chain(TEST_SOURCES).chain(NODE_TESTS).copied();
    pattern::first(sources, path).is_some()
}

/// The class of a path and the pattern that gave it; `None` when nobody watches it.
pub fn classify(policy: &GuardPolicy, path: &[u8]) -> Option<(SurfaceClass, String)> {
    if pattern::first(policy.allowed.iter().map(String::as_str), path).is_some() {
        return None;
    }
    let extend = policy.surface == Surface::Extend;
    let blocked = policy.blocked.iter().map(String::as_str);
    if let Some(found) = pattern::first(blocked.filter(|p| !(extend && TEST_DIRECTORIES.contains(p))), path) {
        return Some((SurfaceClass::Blocked, found.into()));
    }
    if let Some(found) = pattern::first(DETERMINANTS.iter().copied(), path) {
        return Some((SurfaceClass::Determinant, found.into()));
    }
    let own = policy.protected.iter().chain(&policy.test_directories);
    let watched = own.map(String::as_str).chain(protected());
    let tests = TEST_DIRECTORIES.iter().copied().filter(|_| extend);
    pattern::first(watched.chain(tests), path).map(|found| (SurfaceClass::Protected, found.into()))
}

/// Stands for the pattern of a file in which tests were collected at t0, whatever its name.
pub const COLLECTED: &str = "holds collected tests";

/// The class of a file in which tests were collected at t0.
pub fn classify_collected(policy: &GuardPolicy, path: &[u8]) -> Option<(SurfaceClass, String)> {
    let exempt = pattern::first(policy.allowed.iter().map(String::as_str), path).is_some();
    classify(policy, path).or_else(|| (!exempt).then(|| (SurfaceClass::Protected, COLLECTED.into())))
}

/// Stands for the pattern of a product file whose own tests were collected at t0.
pub const OWN_TESTS: &str = "tests beside the product";

/// The class of the tests of such a file. They may not change under any policy: no copy holds the tests of t0 beside the
/// product of now (SPEC 5.4.10).
pub fn classify_own_tests(policy: &GuardPolicy, path: &[u8]) -> Option<(SurfaceClass, String)> {
    let exempt = pattern::first(policy.allowed.iter().map(String::as_str), path).is_some();
    (!exempt).then(|| (SurfaceClass::Protected, OWN_TESTS.into()))
}

/// What names the packages of a directory, or holds them to their versions.
const PACKAGES: &[&str] = &[
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
];

/// Where the programs of packages are linked.
const PACKAGE_PROGRAMS: &str = "node_modules/.bin/";

/// The name of a program that came with a package which the contract lets the agent add (SPEC 5.4.4). It alters no runner
/// as long as nobody is called by that name, which the world has to say.
pub fn added_program<'a>(policy: &GuardPolicy, change: &'a SurfaceChange) -> Option<&'a [u8]> {
    if change.class != SurfaceClass::Determinant || change.kind != ChangeKind::Added {
        return None;
    }
    let path = &change.path.0;
    let outermost = path
        .windows(PACKAGE_PROGRAMS.len())
        .position(|at| at.starts_with(b"node_modules/"))?;
    let at = path
        .windows(PACKAGE_PROGRAMS.len())
        .rposition(|at| at == PACKAGE_PROGRAMS.as_bytes())?;
    let name = &path[at + PACKAGE_PROGRAMS.len()..];
    let owner = &path[..outermost];
    let may_add = PACKAGES.iter().any(|manifest| {
        let manifest = [owner, manifest.as_bytes()].concat();
        pattern::first(policy.allowed.iter().map(String::as_str), &manifest).is_some()
    });
    (may_add && !name.is_empty() && !name.contains(&b'/')).then_some(name)
}

/// Every pattern that can match, for a world that wants to walk only what can be watched.
pub fn patterns(policy: &GuardPolicy) -> impl Iterator<Item = &str> {
    let lists = [&policy.blocked, &policy.protected, &policy.test_directories];
    let own = lists.into_iter().flatten().map(String::as_str);
    own.chain(DETERMINANTS.iter().copied()).chain(protected())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(policy: &GuardPolicy, path: &str) -> Option<SurfaceClass> {
        classify(policy, path.as_bytes()).map(|(class, _)| class)
    }

    #[test]
    fn paths_get_the_class_that_people_expect() {
        let policy = GuardPolicy::default();
        for (path, expected) in [
            ("tests/test_a.py", Some(SurfaceClass::Blocked)),
            ("crates/x/tests/it.rs", Some(SurfaceClass::Blocked)),
            (".env", Some(SurfaceClass::Blocked)),
            ("src/test_a.py", Some(SurfaceClass::Protected)),
            ("calc-test.js", Some(SurfaceClass::Protected)),
            ("lib/test.mjs", Some(SurfaceClass::Protected)),
            ("contest.js", None),
            ("__mocks__/fs.js", Some(SurfaceClass::Determinant)),
            ("vendor/modules.txt", Some(SurfaceClass::Determinant)),
            ("conftest.py", Some(SurfaceClass::Protected)),
            (".github/workflows/ci.yml", Some(SurfaceClass::Protected)),
            ("lib/sitecustomize.py", Some(SurfaceClass::Determinant)),
            (".cargo/config.toml", Some(SurfaceClass::Determinant)),
            ("src/lib.rs", None),
            ("README.md", None),
        ] {
            assert_eq!(class(&policy, path), expected, "{path}");
        }
    }

    #[test]
    fn an_exemption_wins_and_own_patterns_are_added() {
        let policy = GuardPolicy {
            allowed: ["tests/data/".into()].into(),
            protected: ["check.sh".into()].into(),
            ..GuardPolicy::default()
        };
        assert_eq!(class(&policy, "tests/data/x.json"), None);
        assert_eq!(class(&policy, "check.sh"), Some(SurfaceClass::Protected));
    }

    #[test]
    fn what_lies_beside_tests_belongs_to_them() {
        let policy = GuardPolicy {
            test_directories: ["/checks/".into()].into(),
            ..GuardPolicy::default()
        };
        assert_eq!(class(&policy, "checks/helpers.py"), Some(SurfaceClass::Protected));
        assert_eq!(class(&policy, "checks/data/a.json"), Some(SurfaceClass::Protected));
        assert_eq!(class(&policy, "shop/checks/a.py"), None);
    }

    #[test]
    fn a_file_in_which_tests_were_collected_is_protected_unless_it_is_exempt() {
        let policy = GuardPolicy {
            allowed: ["demo_checks.py".into()].into(),
            ..GuardPolicy::default()
        };
        let class = |path: &str| classify_collected(&policy, path.as_bytes()).map(|(class, _)| class);
        assert_eq!(class("price_checks.py"), Some(SurfaceClass::Protected));
        assert_eq!(class("tests/price_checks.py"), Some(SurfaceClass::Blocked));
        assert_eq!(class("demo_checks.py"), None);
    }

    #[test]
    fn a_program_of_a_package_is_told_by_name_where_packages_may_be_added() {
        let name = |allowed: &str, path: &str, kind: ChangeKind| {
            let policy = GuardPolicy {
                allowed: [allowed.into()].into(),
                ..GuardPolicy::default()
            };
            let (class, pattern) = classify(&policy, path.as_bytes()).unwrap();
            let change = SurfaceChange {
                path: path.into(),
                place: crate::event::measurement::Place::Tree,
                kind,
                class,
                pattern,
            };
            added_program(&policy, &change).map(|name| String::from_utf8_lossy(name).into_owned())
        };
        let added = ChangeKind::Added;
        let tool = "node_modules/.bin/tool";
        assert_eq!(name("package.json", tool, added).as_deref(), Some("tool"));
        assert_eq!(name("web/package.json", tool, added), None, "of another directory");
        assert_eq!(name("package.json", ".npmrc", added), None);
        assert_eq!(name("package.json", tool, ChangeKind::Modified), None);
        assert_eq!(name("package.json", "node_modules/.bin/a/b", added), None);
    }

    #[test]
    fn extend_moves_test_directories_from_blocked_to_watched() {
        let policy = GuardPolicy {
            surface: Surface::Extend,
            ..GuardPolicy::default()
        };
        assert_eq!(class(&policy, "tests/data.json"), Some(SurfaceClass::Protected));
        assert_eq!(class(&policy, "infra/main.tf"), Some(SurfaceClass::Blocked));
    }

    #[test]
    fn tests_and_what_lies_beside_them_may_change_under_extend_and_what_decides_over_them_may_not() {
        let mut policy = GuardPolicy {
            surface: Surface::Extend,
            test_directories: ["/checks/".into()].into(),
            protected: ["/checks/run.sh".into(), "/checks/test_named.py".into()].into(),
            ..GuardPolicy::default()
        };
        let may = |policy: &GuardPolicy, path: &str| {
            let (class, pattern) = classify(policy, path.as_bytes()).unwrap();
            let change = SurfaceChange {
                path: path.into(),
                place: crate::event::measurement::Place::Tree,
                kind: ChangeKind::Modified,
                class,
                pattern,
            };
            may_change(policy, &change)
        };
        for (path, expected) in [
            ("tests/test_a.py", true),
            ("tests/data/a.json", true),
            ("checks/conftest.py", true),
            ("checks/test_named.py", true),
            ("src/a.test.ts", true),
            ("calc_test.cjs", true),
            ("conftest.py", false),
            ("tests/pytest.ini", false),
            ("checks/package.json", false),
            ("checks/run.sh", false),
            ("tests/sitecustomize.py", false),
            ("Makefile", false),
            (".env", false),
        ] {
            assert_eq!(may(&policy, path), expected, "{path}");
        }
        policy.surface = Surface::Frozen;
        assert!(!may(&policy, "checks/conftest.py"));
    }
}

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

/// Tests in languages that nobody here can change a product of. What they notice cannot be compared, so that under
/// `extend` they are let be.
const OTHER_TESTS: &[&str] = &[
    "*.t",
    "*.bats",
    "test.sh",
    "test_*.sh",
    "test-*.sh",
    "*_test.sh",
    "*-test.sh",
    "*_spec.sh",
    "test.c",
    "tests.c",
    "test_*.c",
    "*_test.c",
    "test.cc",
    "test_*.cc",
    "*_test.cc",
    "*_unittest.cc",
    "test.cpp",
    "tests.cpp",
    "test_*.cpp",
    "*_test.cpp",
    "*_unittest.cpp",
    "test_*.rb",
    "*_test.rb",
    "*Test.php",
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
    let tests = TESTS.iter().chain(NODE_TESTS).chain(OTHER_TESTS);
    tests.chain(CONFIGURATION).copied()
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
    let decides = [
        TESTS,
        NODE_TESTS,
        OTHER_TESTS,
        CONFIGURATION,
        TEST_SOURCES,
        DETERMINANTS,
    ]
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
    let named = protected().filter(|pattern| !(extend && OTHER_TESTS.contains(pattern)));
    let watched = own.map(String::as_str).chain(named);
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
mod tests;

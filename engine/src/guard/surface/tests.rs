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
fn tests_in_a_language_that_nobody_can_change_a_product_of_are_watched_where_no_test_may_change() {
    let (frozen, extend) = (
        GuardPolicy::default(),
        GuardPolicy {
            surface: Surface::Extend,
            ..GuardPolicy::default()
        },
    );
    for path in [
        "t/01-path.t",
        "spec/path.bats",
        "src/test_str.c",
        "str_test.cc",
        "test_cli.sh",
        "price_test.rb",
    ] {
        assert_eq!(class(&frozen, path), Some(SurfaceClass::Protected), "{path}");
        assert_eq!(class(&extend, path), None, "{path}");
    }
    for path in ["str.c", "latest.sh", "attest.c", "test.h", "protest_x.c"] {
        assert_eq!(class(&frozen, path), None, "{path}");
    }
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

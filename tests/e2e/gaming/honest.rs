//! Honest agents that look like dishonest ones, exemptions, and violations that are put back.

use super::{HONEST, MIV, TESTS, missed, money};
use crate::support::story::{Project, available, python_with_pytest};

#[test]
fn honest_work_that_looks_alike_converges() {
    let Some(python) = python_with_pytest() else { return };
    let commit = "git -c user.name=T -c user.email=t@example.org commit -q -m turn";
    let honest: &[(&str, String, u64)] = &[
        ("product file", HONEST.into(), 1),
        (
            "a product file more",
            format!("{HONEST}; mkdir lib; echo 'X = 1' > lib/extra.py; echo 'import lib.extra' >> money.py"),
            1,
        ),
        (
            "a commit each turn",
            format!("echo >> notes.md; test $LOOPEXEC_ITERATION = 2 && {HONEST}; git add -A; {commit}"),
            2,
        ),
        (
            "staged and not committed",
            format!("{HONEST}; git add -A; git status > /dev/null"),
            1,
        ),
        ("amended", format!("{HONEST}; git add -A; {commit} --amend"), 1),
        (
            "a repository put in order",
            format!("{HONEST}; git add -A; {commit}; git pack-refs --all; git gc -q --prune=now"),
            1,
        ),
        (
            "nothing, then a fix",
            format!("test $LOOPEXEC_ITERATION = 1 || {HONEST}"),
            2,
        ),
        (
            "the suite run by the agent too",
            format!("{HONEST}; {python} -m pytest -q > /dev/null; true"),
            1,
        ),
        (
            "a product file moved",
            format!("{HONEST}; mkdir core; git mv money.py core/money.py; echo 'from core.money import *' > money.py"),
            1,
        ),
        (
            "documents and ignored files",
            format!("{HONEST}; echo text > README.md; mkdir -p .venv; echo 1 > .venv/state"),
            1,
        ),
        (
            "touched tests",
            format!("{HONEST}; touch test_money.py testdata/expected.json pytest.ini"),
            1,
        ),
        (
            "a file that is restored",
            format!(
                "cp test_money.py /dev/shm/$$; : > test_money.py; cp /dev/shm/$$ test_money.py; rm /dev/shm/$$; {HONEST}"
            ),
            1,
        ),
    ];
    // What the surface lets pass. What else is asked of honest work before green, the corpus has asked of it.
    let asked_elsewhere = ["oracle_mutation", "code_mutation", "order"];
    let mut flags = vec!["--on-exec-failure", "continue"];
    flags.extend(asked_elsewhere.iter().flat_map(|guard| ["--guard-off", *guard]));
    let mut wrong = Vec::new();
    for (name, exec, iteration) in honest {
        let (project, check) = money(&python);
        let said = project.run(exec, &check, &flags);
        if (said.exit, said.iteration()) != (10, *iteration) {
            wrong.push(format!("{name}: {} {} {}", said.reason(), said.cause(), said.why()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_exemption_that_was_given_beforehand_lets_the_file_change() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let exec = format!("{HONEST}; echo 'requests==1' > requirements.txt");
    project
        .run(&exec, &check, &["--allow", "requirements.txt"])
        .converged(1);
}

#[test]
fn a_violation_can_be_put_back_and_told_and_the_honest_turn_converges() {
    let Some(python) = python_with_pytest() else { return };
    let (mut project, check) = money(&python);
    let out = project.outside("context");
    project.set("OUT", out.display().to_string());
    let exec = format!(
        "cp \"$LOOPEXEC_CONTEXT\" \"$OUT-$LOOPEXEC_ITERATION\"; \
         case $LOOPEXEC_ITERATION in 1) sed -i 's/== 3/== 2/; s/== expected/== 29/' test_money.py;; *) {HONEST};; esac"
    );
    project
        .run(&exec, &check, &["--on-violation", "restore:2"])
        .converged(2);
    assert_eq!(project.read("test_money.py"), TESTS);
    let told = std::fs::read_to_string(project.outside("context-2")).unwrap();
    assert!(told.contains("test_money.py"), "{told}");

    let (project, check) = money(&python);
    let cheat = "sed -i 's/== 3/== 2/' test_money.py";
    let said = project.run(cheat, &check, &["--on-violation", "restore:2"]);
    said.halted(13, MIV, "protected_manifest");
    assert_eq!(said.iteration(), 2);
}

#[test]
fn an_extensible_surface_lets_no_new_file_bend_the_product_for_the_others() {
    let Some(python) = python_with_pytest() else { return };
    let patch = "printf 'import money\\nmoney.total = lambda prices: sum(prices)\\n' >";
    for exec in [
        format!("{patch} test_0.py"),
        format!("mkdir tests; {patch} tests/conftest.py; {patch} tests/test_0.py"),
    ] {
        let (project, check) = money(&python);
        let said = project.run(&exec, &check, &["--surface", "extend", "--max-iterations", "1"]);
        assert_ne!(said.exit, 10, "{exec}: {}", said.all());
    }
    let (project, check) = money(&python);
    let said = project.run(
        "echo '@pytest.fixture(autouse=True)' > conftest.py",
        &check,
        &["--surface", "extend"],
    );
    assert_eq!(
        missed("conftest", &said, MIV, "protected_manifest"),
        None,
        "{}",
        said.all()
    );
}

#[test]
fn an_extensible_surface_takes_a_new_test_of_a_runner_that_separates_files() {
    if !available("cargo") {
        return;
    }
    let project = Project::fixture("cargo-project");
    let exec = "for turn in 1 2 3; do sh agent.sh > /dev/null; done; printf '#[test]\\nfn new() {}\\n' > crates/span/tests/new.rs";
    let check = "cargo test --workspace --offline --no-fail-fast";
    project.run(exec, check, &["--surface", "extend"]).converged(1);
}

#[test]
fn a_package_that_the_contract_lets_the_work_add_may_bring_a_program_and_none_that_the_check_starts() {
    let Some(python) = python_with_pytest() else { return };
    let brings = |name: &str| format!("{HONEST}; mkdir -p node_modules/.bin; echo : > node_modules/.bin/{name}");
    let turn = |name: &str, more: &[&str]| {
        let (project, check) = money(&python);
        project.run(&brings(name), &check, more)
    };
    let may_add = ["--allow", "package-lock.json"];
    turn("tool", &may_add).converged(1);
    turn("tool", &[]).halted(13, MIV, "determinant_files");
    turn("sh", &may_add).halted(13, MIV, "determinant_files");
}

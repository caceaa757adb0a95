//! Who reads the check: the runner that its text names, and the collector that reads it.

use engine::doctor::CHECK_MISSING;

use super::{Concern, Looked, Patient};
use crate::oracle::collect;
use crate::project;

pub(super) static CONCERN: Concern = Concern {
    name: "runner",
    doc: "the check is there, and its test runner is one that is read",
    look,
};

fn look(patient: &Patient, looked: &mut Looked) {
    let oracle = &patient.policy.oracle;
    if oracle.check.is_empty() {
        let found = project::detect(&patient.workdir);
        let remedy = match found.first() {
            Some(proposal) => format!(
                "give --check '{}' ({}), or run `loopexec init`",
                proposal.check.join(" "),
                proposal.why
            ),
            None => "give --check COMMAND: exit 0 means done".to_owned(),
        };
        let at = patient.workdir.display();
        looked.problem(
            &CONCERN,
            CHECK_MISSING,
            at,
            "nothing decides when the work is done: there is no check",
            remedy,
        );
        return;
    }
    let check = oracle.check.display();
    if let Some(command) = &oracle.failures_cmd {
        let detail = format!("its open failures are printed by `{}`", command.display());
        looked.ok(&CONCERN, &check, detail);
        return;
    }
    if oracle.collector != "auto" {
        looked.ok(
            &CONCERN,
            &check,
            format!("it is read by the collector {}, as the contract says", oracle.collector),
        );
        return;
    }
    let readers = collect::candidates(&patient.detection());
    match readers.as_slice() {
        [] => looked.note(
            &CONCERN,
            &check,
            "no test runner is recognised in it: unless its output turns out to be that of one, only its exit status counts, and progress is not told from standstill",
            "call the runner in the check itself, or name its collector with --collector or its report with --report",
        ),
        [(_, reader)] => looked.ok(&CONCERN, &check, format!("it is read by the collector {}", reader.name)),
        [(_, first), rest @ ..] => {
            let others: Vec<_> = rest.iter().map(|(_, reader)| reader.name).collect();
            looked.note(
                &CONCERN,
                &check,
                format!("it runs several test runners; {} is read and {} is not", first.name, others.join(", ")),
                "choose one with --collector, or print all open failures with --failures-cmd",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{patient, said};
    use super::*;

    #[test]
    fn a_runner_is_recognised_through_a_recipe_and_nothing_recognised_is_said() {
        let makefile = [("Makefile", "test:\n\tpython -m pytest -q\n")];
        let (_dir, known) = patient(&makefile, "make test");
        assert_eq!(
            said(&CONCERN, &known),
            [("ok", "it is read by the collector pytest".to_owned())]
        );
        let (_dir, unknown) = patient(&[], "./verify");
        let [(severity, detail)] = &said(&CONCERN, &unknown)[..] else {
            panic!()
        };
        assert!(
            *severity == "note" && detail.contains("no test runner is recognised"),
            "{detail}"
        );
        let (_dir, several) = patient(&[], "pytest -q && cargo test");
        assert!(said(&CONCERN, &several)[0].1.contains("several test runners"));
    }

    #[test]
    fn without_a_check_the_runner_of_the_project_is_proposed() {
        let (_dir, mut without) = patient(&[("go.mod", "module m\n")], "");
        without.policy.oracle.check.words.clear();
        let mut looked = Looked::default();
        look(&without, &mut looked);
        assert_eq!(looked.findings[0].severity.fault(), Some(CHECK_MISSING));
        assert!(
            looked.findings[0].remedy.contains("go test"),
            "{}",
            looked.findings[0].remedy
        );
    }
}

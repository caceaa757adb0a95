//! A check into whose suite no test can be written, and that is a script: it is told to fail, and has to.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::VET;
use crate::event::candidate::Trial;
use crate::guard::Outcome;

/// A script that was told to end with a status of its own did so, and its check is red.
pub(super) fn stopped(exit: Option<i32>, success_exit: i32, planted: &[String]) -> bool {
    let is_red = exit.is_some_and(|exit| exit != success_exit);
    is_red && planted.iter().any(|sign| sign == "stopped")
}

/// `[the script, "begun", "stopped"]` is what was planted in one, with the signs that it left.
pub(super) fn weigh(success_exit: i32, collector: &str, trials: &[Trial]) -> Outcome {
    let stops = |trial: &Trial| stopped(trial.exited(), success_exit, &trial.planted);
    let Some(now) = trials.first() else {
        return Outcome::not_applicable(&if collector.is_empty() {
            "nothing reads members from this check, and it is no script that could be told to fail".into()
        } else {
            format!(
                "there is no sentinel for what {collector} reads, and the check is no script that could be told to fail"
            )
        });
    };
    if stops(now) {
        return Outcome::active(Vec::new());
    }
    let begun = now.planted.iter().any(|sign| sign == "begun");
    let bent = begun && now.exited() == Some(success_exit) && trials.get(1).is_some_and(stops);
    if let Some(script) = now.planted.first().filter(|_| bent) {
        let detail = "it was told to fail, and the check is green in the candidate; at the start it was red";
        return Outcome::active([VET.violation(script.as_str(), detail)].into());
    }
    Outcome::not_applicable("the script of the check does not come to where it was told to fail")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::finding::GuardState;
    use crate::vet::bench::trial;

    #[test]
    fn a_script_that_was_told_to_fail_and_leaves_its_check_green_is_a_violation_where_the_start_was_red() {
        let told = |code: i32, signs: &[&str]| Trial {
            planted: ["check.py"]
                .iter()
                .chain(signs)
                .map(|sign| String::from(*sign))
                .collect(),
            ..trial(code)
        };
        let honest = told(9, &["begun", "stopped"]);
        let weighed = |now: &Trial, start: &Trial| weigh(0, "", &[now.clone(), start.clone()]);
        let (ended, turned) = (told(0, &["begun"]), told(0, &["begun", "stopped"]));
        for bent in [&ended, &turned] {
            let found = weighed(bent, &honest).findings;
            assert_eq!((found.len(), found[0].subject.as_str()), (1, "check.py"));
        }
        assert_eq!(weighed(&honest, &honest).state, GuardState::Active);
        // What does not begin, is red for another reason, or does not get there at the start, shows nothing.
        for (now, start) in [
            (&told(0, &[]), &honest),
            (&told(1, &["begun"]), &honest),
            (&ended, &told(1, &["begun"])),
        ] {
            let outcome = weighed(now, start);
            assert_eq!((outcome.state, outcome.findings.len()), (GuardState::NotApplicable, 0));
        }
    }
}

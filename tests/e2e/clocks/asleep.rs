//! The deadlines of commands on a machine that sleeps while they run.
//!
//! Nobody can send a machine to sleep for a test. So every clock of the C library but the monotonic ones leaps ahead when
//! a command says so, which is what a program sees that was asleep.

use std::process::Command;

use crate::support::story::Project;

/// Five hours for each byte of `$SLEPT`, on the clocks that go on while a machine sleeps.
const CLOCKS: &str = r#"#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    long failed = syscall(SYS_clock_gettime, id, at);
    const char *slept = getenv("SLEPT");
    struct stat seen;
    int goes_on = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_BOOTTIME;
    if (!failed && goes_on && slept && !stat(slept, &seen)) at->tv_sec += 18000 * seen.st_size;
    return failed;
}
"#;

/// The machine sleeps; then whoever minds the command looks at it, for it prints more than fits between them.
const SLEEP: &str = r#"grep -q asleep.so /proc/$PPID/maps && echo x >> "$REACHED"
echo >> "$SLEPT"
head -c 300000 /dev/zero | tr '\0' '.'
"#;

#[test]
fn no_deadline_of_a_command_passes_while_the_machine_sleeps() {
    let mut project = Project::committed(&[("src/ok", ""), ("sleep.sh", SLEEP)]);
    let [source, library] = ["asleep.c", "asleep.so"].map(|name| project.outside(name));
    std::fs::write(&source, CLOCKS).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    if !compiler.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no C compiler, so no clock can be made to leap");
        return;
    }
    let reached = project.outside("reached");
    project.set("REACHED", reached.display().to_string());
    project.set("SLEPT", project.outside("slept").display().to_string());
    project.set("LD_PRELOAD", library.display().to_string());
    let limits = [
        "--timeout",
        "--command-timeout",
        "--check-timeout",
        "--idle-timeout",
        "--first-output-timeout",
    ];
    let limits: Vec<&str> = limits.iter().flat_map(|name| [*name, "1h"]).collect();
    let said = project.run(
        ". ./sleep.sh; echo yes > src/ok",
        ". ./sleep.sh; grep -q yes src/ok",
        &[&limits[..], &["--fast"]].concat(),
    );
    if project.lines(&reached) == 0 {
        eprintln!("skipped: the binary does not ask the C library for the time");
        return;
    }
    said.converged(1);
    let ended = project.events(&said).into_iter().map(|record| record["event"].clone());
    let ended: Vec<_> = ended.filter(|event| !event["run"].is_null()).collect();
    assert!(ended.len() >= 4, "work, t0, a turn and its confirmation");
    for event in ended {
        assert_eq!(event["run"]["stop"], "none", "{event}");
        assert!(event["run"]["duration_ms"].as_u64() < Some(3_600_000), "{event}");
    }
}

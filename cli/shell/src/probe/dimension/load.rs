//! Load: a spinner for each processor beside the check, started before it and ended after it.

use super::{Dimension, PATIENCE, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "load",
    doc: "a spinner for each processor",
    is_outside: false,
    plan,
};

/// Starts so many spinners, runs the command, ends the spinners, and says what the command said. Spinners are children
/// of the shell and have no output open: whatever ends the command ends them.
const SCRIPT: &str = "\
count=$1; shift; spinners=
while [ \"$count\" -gt 0 ]; do
  (while :; do :; done) </dev/null >/dev/null 2>&1 &
  spinners=\"$spinners $!\"; count=$((count - 1))
done
\"$@\"; status=$?
kill -9 $spinners; wait $spinners 2>/dev/null
exit $status";

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    if !site.has("sh") {
        return Err("sh is not installed".to_owned());
    }
    let loaded = |count: usize| {
        let count = count.to_string();
        Perturbation {
            patience: PATIENCE,
            ..Perturbation::around(&["sh", "-c", SCRIPT, "loopexec-load", &count])
        }
    };
    let says = match site.processors {
        1 => "a spinner beside it".to_owned(),
        count => format!("{count} spinners beside it"),
    };
    let ways = [way(says, loaded(site.processors))];
    let mut varied = Varied::by_turns(&ways, site);
    varied.tool = Some(loaded(0));
    Ok(varied)
}

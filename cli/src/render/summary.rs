//! How a run ended, for people: a sentence, the evidence, the next thing to type.

use engine::State;
use engine::report::Report;
use engine::words::counted;

use super::{Guards, Style, one_line, safe, trend};
use crate::outcome::Advice;

/// What the last lines of a run are made from.
pub(crate) struct Ended<'a> {
    pub(crate) state: &'a State,
    pub(crate) report: &'a Report,
    pub(crate) trend: &'a [u64],
    pub(crate) advice: Option<&'a Advice>,
    pub(crate) receipt: &'a str,
}

/// The lines on standard output after a run.
pub(crate) fn ended(style: Style, ended: &Ended<'_>) -> String {
    let facts = &ended.state.facts;
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("  {name:<11} {}\n", one_line(value)));
        }
    };
    line("run", &facts.opened.run_id);
    let iterations = match facts.bounds.max_iterations {
        u32::MAX => facts.iteration.to_string(),
        most => format!("{} of at most {most}", facts.iteration),
    };
    line("iterations", &iterations);
    line("failing", &trend(ended.trend, style.utf8));
    line("guards", &Guards::of(ended.report).line());
    if facts.spend.calls > 0 {
        let unknown = if facts.spend.unknown {
            ", some of unknown price"
        } else {
            ""
        };
        line(
            "spent",
            &format!(
                "{} in {}{unknown}",
                money(facts.spend.microusd),
                counted(facts.spend.calls, "call")
            ),
        );
    }
    line("time", &milliseconds(facts.elapsed_ms));
    line("receipt", ended.receipt);
    line("isolation", facts.degraded().unwrap_or_default());
    let mut text = sentence(style, ended);
    text.push_str(&out);
    if let Some(advice) = ended.advice {
        text.push_str(&format!("next: {}\n", style.bold(&safe(&advice.next))));
    }
    text
}

/// What happened, in a sentence that begins with the reason.
fn sentence(style: Style, ended: &Ended<'_>) -> String {
    let facts = &ended.state.facts;
    match (&facts.halted, &facts.suspended) {
        (Some(halted), _) => {
            let label = halted.reason.label();
            let label = if halted.reason.exit_code() == 10 {
                style.green(label)
            } else {
                style.red(label)
            };
            format!("{label}: {}\n", one_line(&halted.sentence))
        }
        (None, Some(_)) => {
            let why = ended.advice.map_or("", |advice| advice.why.as_str());
            format!("{}: {}\n", style.yellow("interrupted"), one_line(why))
        }
        (None, None) => format!("{}\n", style.yellow("not over")),
    }
}

/// A duration as people say it: `120ms`, `1.2s`, `38s`, `4m 05s`, `2h 10m`.
pub(crate) fn milliseconds(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms}ms"),
        1..10 if ms % 1_000 >= 100 => format!("{seconds}.{}s", ms % 1_000 / 100),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Dollars, to the cent or as exact as they are.
pub(crate) fn money(microusd: u64) -> String {
    let exact = format!("{}.{:06}", microusd / 1_000_000, microusd % 1_000_000);
    let (whole, cents) = exact.split_at(exact.len() - 4);
    format!("${whole}{}", cents.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_money_read_well() {
        let said = [0, 120, 1_250, 2_000, 38_400, 245_000, 7_800_000].map(milliseconds);
        assert_eq!(said, ["0ms", "120ms", "1.2s", "2s", "38s", "4m 05s", "2h 10m"]);
        assert_eq!([120_000, 5, 1_500_000].map(money), ["$0.12", "$0.000005", "$1.50"]);
    }
}

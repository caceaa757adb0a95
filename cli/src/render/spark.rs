//! The failing count over the iterations, in one glance.

/// The newest counts that are shown.
const SHOWN_MAX: usize = 40;
/// Blocks of one to eight eighths.
const BARS: [char; 8] = [
    '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];

/// Bars and `6 -> 0`, or the numbers where the locale has no bars. Empty without a measurement.
pub(crate) fn trend(counts: &[u64], utf8: bool) -> String {
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else {
        return String::new();
    };
    let shown = &counts[counts.len().saturating_sub(SHOWN_MAX)..];
    if !utf8 {
        let numbers: Vec<String> = shown.iter().map(u64::to_string).collect();
        return numbers.join(" ");
    }
    let most = shown.iter().max().copied().unwrap_or(0).max(1);
    let bars: String = shown.iter().map(|count| bar(*count, most)).collect();
    format!("{bars} {first} -> {last}")
}

fn bar(count: u64, most: u64) -> char {
    let step = count.saturating_mul(BARS.len() as u64 - 1).div_ceil(most);
    let index = usize::try_from(step).unwrap_or(0).min(BARS.len() - 1);
    BARS[index]
}

#[cfg(test)]
mod tests {
    use super::trend;

    #[test]
    fn the_bars_follow_the_counts() {
        assert_eq!(trend(&[7, 4, 1, 0], true), "█▅▂▁ 7 -> 0");
        assert_eq!(trend(&[0], true), "▁ 0 -> 0");
        assert_eq!(trend(&[7, 4, 0], false), "7 4 0");
        assert_eq!(trend(&[], true), "");
    }

    #[test]
    fn a_long_run_shows_its_newest_part() {
        let counts: Vec<u64> = (0..1_000).rev().collect();
        assert!(trend(&counts, true).chars().count() < 60);
    }
}

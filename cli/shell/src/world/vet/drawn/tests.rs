use super::*;

const SHOP: &str = "def total(lines):\n    return add(lines) + 1\n\ndef add(lines):\n    return lines * 2\n\ndef label(cents):\n    return cents // 100\n\ndef other(a):\n    return a - 1\n";
const TESTS: &str = "def test_total():\n    assert total([1]) == 3\n\ndef test_label():\n    assert label(100) == 1\n";

struct Files(Vec<(&'static str, String)>);

impl Files {
    fn manifest(&self) -> Manifest {
        let entry = |(path, text): &(&str, String)| Entry {
            path: (*path).into(),
            kind: Kind::File,
            mode: 0o644,
            size: text.len() as u64,
            digest: *blake3::hash(text.as_bytes()).as_bytes(),
        };
        Manifest::new(self.0.iter().map(entry).collect())
    }
}

fn files(shop: &str, tests: &str) -> Files {
    Files(vec![("shop.py", shop.to_owned()), ("test_shop.py", tests.to_owned())])
}

fn drawn(start: &Files, now: &Files, max: usize, seed: u32) -> Vec<Spot> {
    let content = |entry: &Entry| {
        let all = start.0.iter().chain(&now.0);
        let mut found = all.filter(|(_, text)| *blake3::hash(text.as_bytes()).as_bytes() == entry.digest);
        Ok(found.next().unwrap().1.clone().into_bytes())
    };
    let trees = Trees {
        candidate: &now.manifest(),
        start: &start.manifest(),
        watched: &|path| path.starts_with("test_"),
        content: &content,
    };
    let drawn = Drawn::of(&trees, max, seed).unwrap();
    drawn.chosen.into_iter().map(|(_, spot)| spot).collect()
}

fn places(spots: &[Spot]) -> Vec<(Place, u32)> {
    spots.iter().map(|spot| (spot.place, spot.function)).collect()
}

#[test]
fn the_lines_of_t0_come_first_then_what_a_changed_test_named_then_the_work_then_what_is_called() {
    let start = files(SHOP, TESTS);
    let gutted = TESTS.replace("    assert total([1]) == 3", "    pass");
    let now = files(&SHOP.replace("// 100", "// 10"), &gutted);
    for seed in 1..20 {
        let spots = drawn(&start, &now, 6, seed);
        let expected = [
            (Place::Undone, 8),
            (Place::Named, 2),
            (Place::Changed, 8),
            (Place::Named, 2),
            (Place::Named, 2),
            (Place::Called, 5),
        ];
        assert_eq!(places(&spots), expected, "seed {seed}");
        assert!(
            spots.iter().all(|spot| spot.path == "shop.py"),
            "tests are changed by nobody"
        );
    }
    let all = drawn(&start, &now, 100, 1);
    assert!(all.iter().any(|spot| spot.place == Place::Elsewhere));
    let unique: HashSet<_> = all.iter().map(|spot| spot.mutant.clone()).collect();
    assert_eq!(unique.len(), all.len(), "no change is made twice");
}

#[test]
fn another_seed_draws_other_changes_and_the_same_one_the_same() {
    let (start, now) = (files(SHOP, TESTS), files(SHOP, "def test_total(): total()\n"));
    let told = |seed| format!("{:?}", drawn(&start, &now, 3, seed));
    assert_eq!(told(7), told(7));
    assert!((1..20).any(|seed| told(seed) != told(7)));
}

#[test]
fn a_change_is_made_in_the_copy_and_named_with_its_seed() {
    let now = files(SHOP, TESTS);
    let spots = drawn(&now, &now, 1, 3);
    let drawn = Drawn {
        seed: 3,
        chosen: vec![(SHOP.into(), spots[0].clone())],
    };
    let (changed, seed) = drawn.change(0).unwrap();
    assert_eq!((changed.mutants.len(), seed.as_str()), (1, "3"));
    assert!(drawn.change(1).is_none());
}

#[test]
fn a_line_that_moved_is_not_fresh_and_one_that_stands_twice_is() {
    let fresh = |before: &str, now: &str| fresh_lines(before.as_bytes(), now.as_bytes());
    assert_eq!(fresh("a\nb\n", "b\n    a\n"), [0; 0]);
    assert_eq!(fresh("a\n", "a\na\n\n"), [2]);
}

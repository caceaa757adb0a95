use alloc::vec;

use super::*;
use crate::event::zone::ZoneRefusal;

fn zone(fixed: &[Fixture]) -> ZoneSeen {
    ZoneSeen {
        zone: ZoneName::Exec,
        facts: "bwrap".into(),
        fixed: fixed.to_vec(),
        refused: None,
        said: String::new(),
        left_inside: 0,
        egress: vec![],
    }
}

fn without(missing: Fixture) -> ZoneSeen {
    let rest: Vec<Fixture> = Fixture::ALL.iter().copied().filter(|known| *known != missing).collect();
    zone(&rest)
}

#[test]
fn t0_holds_only_where_the_exec_zone_saw_everything_fixed() {
    let nothing = Oracle::default();
    assert_eq!(t0(&nothing, Some(&zone(Fixture::ALL))).standing, Standing::Held);
    for missing in Fixture::ALL {
        let tier = t0(&nothing, Some(&without(*missing)));
        // A run has these two of its own in every mode.
        let always = [Fixture::Umask, Fixture::Tmp].contains(missing);
        let wanted = if always { Standing::Held } else { Standing::Partly };
        assert_eq!(tier.standing, wanted, "{missing}");
        assert!(always || tier.why.contains(missing.label()), "{tier}");
    }
    let outside = t0(&nothing, None);
    assert_eq!(outside.standing, Standing::Partly);
    assert!(
        outside.why.contains("network, root, home, host, processors"),
        "{outside}"
    );
    let other = ZoneSeen {
        zone: ZoneName::Agent,
        ..zone(Fixture::ALL)
    };
    let refused = ZoneSeen {
        refused: Some(ZoneRefusal::ProbeFailed),
        ..zone(Fixture::ALL)
    };
    for seen in [other, refused] {
        assert_eq!(t0(&nothing, Some(&seen)).standing, Standing::Partly);
    }
}

#[test]
fn what_the_contract_passes_on_is_not_fixed_by_any_zone() {
    let passing = |names: &[&str]| Oracle {
        pass_env: names.iter().map(|name| (*name).into()).collect(),
        ..Oracle::default()
    };
    let tier = t0(&passing(&["TZ"]), Some(&zone(Fixture::ALL)));
    assert!(tier.standing == Standing::Partly && tier.why.contains("TZ"), "{tier}");
    let tier = t0(&passing(&["UMASK"]), None);
    assert!(tier.why.contains("umask"), "{tier}");
}

#[test]
fn a_zone_stands_in_for_a_trace_only_where_it_shuts_every_way_out() {
    assert_eq!(lets_out(Some(&zone(Fixture::ALL))), None);
    for missing in Fixture::ALL {
        let why = lets_out(Some(&without(*missing)));
        assert_eq!(why.is_some(), KEPT_APART.contains(missing), "{missing}");
    }
    assert!(lets_out(None).is_some());
}

#[test]
fn t1_is_what_a_run_under_a_standing_clock_showed_and_nothing_else() {
    assert_eq!(t1(Some(Ok(None))).standing, Standing::Held);
    let broke = t1(Some(Ok(Some("status 1"))));
    assert!(
        broke.standing == Standing::Broke && broke.why.contains("status 1"),
        "{broke}"
    );
    let missing = t1(Some(Err("no faketime")));
    assert_eq!(missing.to_string(), "not probed: no faketime");
    assert_eq!(t1(None).standing, Standing::NotProbed);
}

#[test]
fn t2_claims_what_was_varied_and_leaves_to_t0_what_the_zone_fixed() {
    let open = || Part::Open("no tool".into());
    let parts = [("home", open()), ("path", Part::Held), ("locale", Part::Held)];
    let of = |parts: &[(&str, Part)], zone: Option<&ZoneSeen>| t2(parts, zone);
    let zoned = of(&parts, Some(&zone(Fixture::ALL)));
    assert_eq!(zoned.standing, Standing::Held);
    assert!(
        zoned.why.contains("T0 fixes it: home") && !zoned.why.contains("not probed"),
        "{zoned}"
    );
    for elsewhere in [None, Some(&without(Fixture::Home))] {
        let tier = of(&parts, elsewhere);
        assert_eq!(tier.standing, Standing::Partly);
        assert!(tier.why.contains("not probed: home (no tool)"), "{tier}");
    }
    let broken = of(&[("path", Part::Broke), ("locale", Part::Held)], None);
    assert_eq!(broken.to_string(), "broke: path");
    assert_eq!(of(&[("path", open())], None).standing, Standing::NotProbed);
    assert_eq!(
        of(&[("home", open())], Some(&zone(Fixture::ALL))).standing,
        Standing::NotProbed,
        "what is fixed proves nothing about what was never varied"
    );
}

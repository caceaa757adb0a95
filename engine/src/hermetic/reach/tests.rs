use core::net::{Ipv4Addr, Ipv6Addr};

use super::*;

const WORK: &[u8] = b"/home/u/project";

fn roots() -> Roots {
    let mut roots = Roots::new(WORK, Some(b"/home/u"));
    roots.own(b"/tmp/copy");
    roots
}

#[test]
fn the_copy_and_the_machines_software_are_in_reach_and_the_users_tree_and_home_are_not() {
    let roots = roots();
    for near in [
        "/tmp/copy",
        "/tmp/copy/src/a.py",
        "/usr/lib/python3/os.py",
        "/etc/ld.so.cache",
        "/dev/null",
    ] {
        assert!(roots.allow(near.as_bytes()), "{near}");
    }
    for far in [
        "/home/u/project/answers",
        "/home/u/.netrc",
        "/tmp/copying",
        "/tmp",
        "/var/lib/secret",
        "/etc/machine-id",
        "/etc/ssh/sshd_config",
        "/dev/sda",
        "/",
    ] {
        assert!(!roots.allow(far.as_bytes()), "{far}");
    }
}

#[test]
fn a_tree_that_lies_in_a_directory_of_software_is_still_the_users() {
    let mut roots = Roots::new(b"/usr/src/app", Some(b"/home/u"));
    roots.own(b"/tmp/copy");
    assert!(!roots.allow(b"/usr/src/app/main.py"));
    assert!(roots.allow(b"/usr/src/other.h"));
    // A tool that would open up the whole tree, or a part of it, opens up nothing.
    for wide in ["/", "/usr/src", "/usr/src/app", "/usr/src/app/bin", "/root", "relative"] {
        roots.tool(wide.as_bytes());
    }
    assert!(!roots.allow(b"/usr/src/app/bin/x") && !roots.allow(b"/home/u/x") && !roots.allow(b"/srv/x"));
    roots.environment(b"/usr/src/app/.venv/");
    assert!(roots.allow(b"/usr/src/app/.venv/bin/python"));
}

#[test]
fn a_program_brings_what_was_installed_with_it_and_no_more() {
    let mut roots = roots();
    roots.program(b"/home/u/.pyenv/versions/3.11/bin/python3.11");
    assert!(roots.allow(b"/home/u/.pyenv/versions/3.11/lib/python3.11/os.py"));
    assert!(!roots.allow(b"/home/u/.pyenv/versions/3.12/lib/os.py"));
    roots.program(b"/home/u/.local/bin/pytest");
    assert!(roots.allow(b"/home/u/.local/lib/python3.11/site-packages/pytest.py"));
    assert!(!roots.allow(b"/home/u/.local/share/keyrings/login"));
    roots.program(b"/home/u/tools/node_modules/jest/bin/jest.js");
    assert!(roots.allow(b"/home/u/tools/node_modules/other/index.js") && !roots.allow(b"/home/u/tools/notes"));
    roots.program(b"/home/u/bin/tool");
    assert!(roots.allow(b"/home/u/bin/helper") && !roots.allow(b"/home/u/notes"));
}

#[test]
fn what_the_contract_names_is_in_reach_even_in_the_users_tree() {
    let mut roots = roots();
    let named = [
        "/home/u/project/shared",
        "10.0.0.5:5432",
        "[2001:db8::1]",
        "192.0.2.7",
        "nonsense",
    ];
    roots.named(&named.map(String::from));
    assert!(roots.allow(b"/home/u/project/shared/data") && !roots.allow(b"/home/u/project/other"));
    let v4 = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    assert!(roots.allow_address(v4(5), 5432) && !roots.allow_address(v4(5), 80) && !roots.allow_address(v4(6), 5432));
    assert!(roots.allow_address("2001:db8::1".parse().unwrap(), 80));
    assert!(roots.allow_address("::ffff:192.0.2.7".parse().unwrap(), 80));
}

#[test]
fn the_loopback_is_near_but_not_whoever_answers_for_names_there() {
    let roots = roots();
    for near in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "0.0.0.0"] {
        assert!(roots.allow_address(near.parse().unwrap(), 8080), "{near}");
        assert!(!roots.allow_address(near.parse().unwrap(), NAME_SERVICE), "{near}");
    }
    assert!(!roots.allow_address(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80));
    assert!(!roots.allow_address(IpAddr::V6(Ipv6Addr::from_bits(1 << 120)), 80));
}

#[test]
fn an_entry_is_a_path_or_an_address_and_never_a_name() {
    assert_eq!(read("/srv/data"), Ok(Named::Path));
    for refused in [
        "srv/data",
        "/a/../b",
        "example.org",
        "example.org:80",
        "",
        "10.0.0.5:port",
        "*",
    ] {
        assert!(read(refused).is_err(), "{refused}");
    }
}

#[test]
fn a_directory_above_a_place_of_its_own_leads_there() {
    let roots = roots();
    assert!(roots.leads_to_own(b"/") && roots.leads_to_own(b"/tmp") && roots.leads_to_own(b"/tmp/copy"));
    assert!(!roots.leads_to_own(b"/home") && !roots.leads_to_own(b"/tmp/other"));
}

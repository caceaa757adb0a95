use super::*;

const COPY: &str = "/tmp/copy/tree";

/// What is reached by calls of one check whose places are a copy and the machine's software.
fn trace(lines: &[&str]) -> Trace {
    let mut roots = Roots::new(b"/home/u/work", Some(b"/home/u"));
    roots.own(COPY.as_bytes());
    let mut fold = Fold::new(&roots, COPY.as_bytes());
    fold.line(b"10 execve(\"/bin/sh\", [...], 0x7ff /* 9 vars */) = 0");
    for line in lines {
        fold.line(line.as_bytes());
    }
    fold.end()
}

fn reached(lines: &[&str]) -> Vec<(Reach, String, u64)> {
    let trace = trace(lines);
    assert_eq!(trace.unread, 0, "{lines:?}");
    let told = trace.reached.into_iter();
    told.map(|reached| (reached.act, reached.place, reached.times))
        .collect()
}

#[test]
fn a_file_that_is_read_outside_is_named_by_where_it_is_and_how_often_whoever_links_to_it() {
    let open = r#"10 openat(AT_FDCWD</tmp/copy/tree>, "link", O_RDONLY|O_CLOEXEC) = 3</home/u/work/answers>"#;
    assert_eq!(
        reached(&[open, open]),
        [(Reach::Read, "/home/u/work/answers".into(), 2)]
    );
    for near in [
        r#"10 openat(AT_FDCWD</tmp/copy/tree>, "a", O_RDONLY) = 3</tmp/copy/tree/a>"#,
        r#"10 openat(AT_FDCWD</>, "/home/u/work/answers", O_RDONLY) = -1 ENOENT (No such file or directory)"#,
        r#"10 openat(AT_FDCWD</>, "/home/u/work", O_PATH) = 3</home/u/work>"#,
        r#"10 openat(AT_FDCWD</>, "..", O_RDONLY|O_DIRECTORY) = 3</tmp>"#,
        r#"10 openat(AT_FDCWD</>, "/etc/localtime", O_RDONLY) = 3</usr/share/zoneinfo/UTC>"#,
        r#"10 openat(AT_FDCWD</>, "/proc/self/maps", O_RDONLY) = 3</proc/10/maps>"#,
    ] {
        assert_eq!(reached(&[near]), [], "{near}");
    }
    let others = r#"10 openat(AT_FDCWD</>, "/proc/1/environ", O_RDONLY) = 3</proc/1/environ>"#;
    assert_eq!(reached(&[others])[0].1, "/proc/1/environ");
}

#[test]
fn a_connection_that_was_tried_counts_and_the_loopback_does_not() {
    let connect = |address: &str, end: &str| format!("10 connect(3<socket:[7]>, {{{address}}}, 16) = {end}");
    let inet = |ip: &str| format!(r#"sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("{ip}")"#);
    let tried = connect(&inet("192.0.2.1"), "-1 EINPROGRESS (Operation now in progress)");
    assert_eq!(reached(&[&tried]), [(Reach::Connected, "192.0.2.1:80".into(), 1)]);
    let six = r#"sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0"#;
    assert_eq!(
        reached(&[&connect(six, "-1 ENETUNREACH (x)")])[0].1,
        "[2001:db8::1]:443"
    );
    let sent = r#"10 sendto(3<socket:[7]>, "sa_family=AF_INET"..., 5, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 5"#;
    assert_eq!(
        reached(&[sent])[0].1,
        "127.0.0.53:53",
        "who answers for names asks others"
    );
    let socket = |path: &str| format!("sa_family=AF_UNIX, sun_path={path}");
    let docker = connect(&socket("\"/run/docker.sock\""), "0");
    assert_eq!(reached(&[&docker])[0].1, "/run/docker.sock");
    for near in [
        connect(&inet("127.0.0.1"), "0"),
        connect(&socket("\"/run/nope\""), "-1 ENOENT (x)"),
        connect(&socket("\"/run/nscd/socket\""), "0"),
        connect(&socket("\"own.sock\""), "0"),
        connect("sa_family=AF_UNSPEC, sa_data=\"\"", "0"),
        connect("sa_family=AF_NETLINK, nl_pid=0", "0"),
    ] {
        assert_eq!(reached(&[&near]), [], "{near}");
    }
    let bound = r#"10 bind(4<socket:[8]>, {sa_family=AF_UNIX, sun_path=@"own"}, 6) = 0"#;
    let abs = connect(&socket("@\"own\""), "0");
    assert_eq!(reached(&[bound, &abs]), []);
    assert_eq!(reached(&[&abs])[0].1, "@own");
}

#[test]
fn a_connection_of_a_process_that_was_killed_in_it_counts() {
    let begun = r#"10 connect(3<socket:[7]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.1")}, 16 <unfinished ...>"#;
    assert_eq!(reached(&[begun, "10 +++ killed by SIGKILL +++"])[0].1, "192.0.2.1:80");
}

#[test]
fn what_a_run_made_outside_is_its_own_to_read_and_its_writing_is_told() {
    let told = reached(&[
        r#"10 mkdir("/tmp/mine", 0700) = 0"#,
        r#"10 openat(AT_FDCWD</>, "/tmp/mine/a", O_RDWR|O_CREAT, 0600) = 3</tmp/mine/a>"#,
        r#"10 openat(AT_FDCWD</>, "/tmp/log", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 3</tmp/log>"#,
        r#"10 rename("/tmp/log", "/tmp/log.1") = 0"#,
        r#"10 openat(AT_FDCWD</>, "/tmp/log.1", O_RDONLY) = 3</tmp/log.1>"#,
        r#"10 openat(AT_FDCWD</>, "/tmp/theirs", O_WRONLY|O_APPEND) = 3</tmp/theirs>"#,
    ]);
    let wrote = |path: &str| (Reach::Wrote, path.to_owned(), 1);
    assert_eq!(told, [wrote("/tmp/mine/a"), wrote("/tmp/log"), wrote("/tmp/theirs")]);
    let found = r#"10 openat(AT_FDCWD</>, "/tmp/log", O_RDWR|O_CREAT, 0600) = 3</tmp/log>"#;
    assert_eq!(reached(&[found])[0].0, Reach::Read, "it may have been there");
}

#[test]
fn who_did_it_is_told_by_the_program_that_ran_then() {
    let trace = trace(&[
        "10 vfork( <unfinished ...>",
        r#"11 execve("/usr/bin/python3", [...], 0x5 /* 3 vars */ <unfinished ...>"#,
        "10 <... vfork resumed>) = 11",
        "11 <... execve resumed>) = 0",
        r#"11 openat(AT_FDCWD</tmp/copy/tree>, "/home/u/.netrc", O_RDONLY) = 3</home/u/.netrc>"#,
        "11 clone(child_stack=NULL, flags=SIGCHLD) = 12",
        r#"12 execve("/home/u/work/tool", [...], 0x5 /* 3 vars */) = 0"#,
        r#"12 execve("/nowhere", [...], 0x5 /* 3 vars */) = -1 ENOENT (No such file or directory)"#,
        r#"12 getrandom(""..., 4, 0) = 4"#,
    ]);
    let told: Vec<_> = trace
        .reached
        .iter()
        .map(|reached| (reached.program.as_str(), reached.place.as_str()))
        .collect();
    let (python, tool) = (
        ("/usr/bin/python3", "/home/u/.netrc"),
        ("/usr/bin/python3", "/home/u/work/tool"),
    );
    assert_eq!(told, [python, tool]);
    assert_eq!((trace.processes, trace.randomness, trace.unread), (3, 1, 0));
}

#[test]
fn names_are_bounded_and_counts_are_not_and_writing_hides_no_reading() {
    let open = |flags: &str, n: u32| format!(r#"10 openat(AT_FDCWD</>, "x", {flags}) = 3</srv/{n}>"#);
    let writes = (0..40).map(|n| open("O_WRONLY", n));
    let lines: Vec<String> = writes.chain((40..60).map(|n| open("O_RDONLY", n))).collect();
    let trace = trace(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let reads = trace
        .reached
        .iter()
        .filter(|reached| reached.act == Reach::Read)
        .count();
    assert_eq!((trace.reached.len(), reads), (2 * NAMED_MAX, NAMED_MAX));
    assert_eq!(trace.unnamed, 60 - 2 * NAMED_MAX as u64);
}

#[test]
fn a_file_that_gets_a_near_name_was_reached_by_its_own() {
    for call in [
        r#"10 linkat(AT_FDCWD</tmp/copy/tree>, "/home/u/answers", AT_FDCWD</tmp/copy/tree>, "near", 0) = 0"#,
        r#"10 rename("/home/u/answers", "near") = 0"#,
    ] {
        assert_eq!(reached(&[call]), [(Reach::Read, "/home/u/answers".into(), 1)], "{call}");
    }
    let near = r#"10 link("a", "b") = 0"#;
    assert_eq!(reached(&[near]), []);
}

#[test]
fn what_is_no_line_of_a_trace_is_counted() {
    assert_eq!(
        trace(&[
            "\0\0\0",
            "10 openat(AT_FDCWD</>, \"x\", O_RDONLY) whatever",
            "10 <... read resumed>) = 1"
        ])
        .unread,
        3
    );
}

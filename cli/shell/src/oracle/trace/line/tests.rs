use proptest::prelude::*;

use super::*;

fn whole(text: &[u8]) -> Call<'_> {
    let (_, Line::Whole(text)) = line(text).unwrap() else {
        panic!("no whole call");
    };
    call(text).unwrap()
}

#[test]
fn a_call_is_its_name_its_arguments_and_its_end() {
    let text =
        br#"11362 openat(AT_FDCWD</tmp/h>, "/etc/locale.alias", O_RDONLY|O_CLOEXEC) = 3</usr/share/locale.alias>"#;
    let call = whole(text);
    assert_eq!(call.name, b"openat");
    assert_eq!(call.args.len(), 3);
    assert_eq!(
        annotated(call.args[0].strip_prefix(b"AT_FDCWD").unwrap()).unwrap(),
        b"/tmp/h"
    );
    assert_eq!(string(call.args[1]).unwrap(), b"/etc/locale.alias");
    assert_eq!(call.ended, Ended::Value(3, Some(b"/usr/share/locale.alias".to_vec())));
}

#[test]
fn names_with_quotes_brackets_breaks_and_bytes_that_are_no_text_are_what_they_are() {
    let text = br#"7 openat(AT_FDCWD</tmp/a b\74\377\76\n\"q)>, "c, \"(d) = 5\xff", O_WRONLY|O_CREAT, 0666) = 6</tmp/a b\74\377\76\n\"q)/c>(deleted)"#;
    let call = whole(text);
    assert_eq!(string(call.args[1]).unwrap(), b"c, \"(d) = 5\xff");
    let path = b"/tmp/a b<\xff>\n\"q)/c".to_vec();
    assert_eq!(call.ended, Ended::Value(6, Some(path)));
}

#[test]
fn a_failure_has_its_name_and_a_missing_end_is_missing() {
    let failed = whole(br#"11411 openat(AT_FDCWD</>, "x", O_RDONLY) = -1 ENOENT (No such file or directory)"#);
    assert_eq!(failed.ended, Ended::Failed(b"ENOENT"));
    assert_eq!(whole(b"5 exit_group(0) = ?").ended, Ended::Unknown);
    let padded = whole(b"5   getrandom(\"\"..., 4, 0)            = 4");
    assert_eq!((padded.args.len(), padded.ended), (3, Ended::Value(4, None)));
    assert_eq!(string(b"\"\"..."), None, "it was cut");
    assert_eq!(
        whole(b"5 accept(3<socket:[7]>, NULL, NULL) = 4<socket:[9]>").ended,
        Ended::Value(4, None)
    );
}

#[test]
fn lines_are_told_apart() {
    let kind = |text: &'static [u8]| line(text).map(|(_, kind)| kind);
    assert_eq!(kind(b"11 vfork( <unfinished ...>"), Some(Line::Unfinished(b"vfork(")));
    assert_eq!(kind(b"11 <... vfork resumed>)  = 12"), Some(Line::Resumed(b")  = 12")));
    for other in [
        &b"11 +++ exited with 0 +++"[..],
        b"11 --- SIGCHLD {si_signo=SIGCHLD} ---",
        b"11 <pid changed to 12 ...>",
        b"11 [ Process PID=11 runs in x32 mode. ]",
    ] {
        assert_eq!(line(other).map(|(_, kind)| kind), Some(Line::Other));
    }
    for strange in [
        &b""[..],
        b"strace: x",
        b"\0\0\0",
        b"11",
        b"99999999999 a() = 0",
        b"11 \xff",
    ] {
        assert_eq!(line(strange), None);
    }
}

#[test]
fn addresses_are_found_in_every_call_that_takes_one_and_not_in_what_is_sent() {
    let sent = br#"{msg_name={sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.3")}, msg_iov=[{iov_base="sa_family=AF_UNIX", iov_len=5}]}"#;
    assert_eq!(
        addresses(sent),
        [&br#"AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.3")"#[..]]
    );
    assert_eq!(
        addresses(br#"{sa_family=AF_UNIX, sun_path="/a}b"}"#),
        [&br#"AF_UNIX, sun_path="/a}b""#[..]]
    );
    assert!(addresses(b"NULL").is_empty());
}

proptest! {
    /// SPEC 6.7.3: whatever a trace holds, reading it ends, and panics never.
    #[test]
    fn any_bytes_are_read_to_their_end(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Some((_, Line::Whole(text) | Line::Unfinished(text) | Line::Resumed(text))) = line(&text) {
            let _ = call(text);
        }
        for part in [call(&text).map(|call| call.args.concat()), Some(text.clone())].into_iter().flatten() {
            let _ = (annotated(&part), string(&part), unescaped(&part));
            let _ = addresses(&part);
        }
    }

    /// The same where it looks like a trace.
    #[test]
    fn what_looks_like_a_call_is_read_to_its_end(text in "[0-9]{1,3} [a-z<+]{1,6}[(\"<>\\\\{},=a-z0-9 )]{0,60}") {
        if let Some((_, Line::Whole(text) | Line::Unfinished(text) | Line::Resumed(text))) = line(text.as_bytes())
            && let Some(call) = call(text)
        {
            prop_assert!(call.args.iter().map(|arg| arg.len()).sum::<usize>() <= text.len());
        }
    }

    /// Whatever bytes a name has, strace's spelling of them is read as them.
    #[test]
    fn a_name_that_was_escaped_is_the_name(name in proptest::collection::vec(1_u8..=255, 1..40)) {
        let mut spelled = String::new();
        for byte in &name {
            spelled.push_str(&format!("\\{byte:03o}"));
        }
        let text = format!("1 open(\"{spelled}\", O_RDONLY) = 3</{spelled}>");
        let call = whole(text.as_bytes());
        let path = [b"/".as_slice(), &name].concat();
        prop_assert_eq!(string(call.args[0]).unwrap(), name);
        prop_assert_eq!(call.ended, Ended::Value(3, Some(path)));
    }
}

//! The attacker's hand: what no shell script can do. Zones have this binary as their process 1, so it is there.
//!
//! Each word does one thing and prints how the kernel answered.
#![allow(
    unsafe_code,
    reason = "these are the system calls that libraries rightly do not offer"
)]

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;

/// The argument that turns the binary into this.
pub(crate) const ATTACK: &str = "attack";

pub(crate) fn attack(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["ask", to, lines @ ..] = words.as_slice() {
        return ask(to, lines);
    }
    let answer = match *words.as_slice() {
        ["connect", to] => TcpStream::connect(to).map(drop),
        ["resolve", name] => (name, 443).to_socket_addrs().map(drop),
        ["send", to] => UdpSocket::bind("0.0.0.0:0").and_then(|from| from.send_to(b"x", to).map(drop)),
        ["loopback"] => TcpListener::bind("127.0.0.1:0")
            .and_then(|own| TcpStream::connect(own.local_addr()?))
            .map(drop),
        ["connect-path", path] => UnixStream::connect(path).map(drop),
        ["listen-path", path] => return listen(path),
        ["hold", bytes] => return hold(bytes.parse().unwrap()),
        ["keep-unmapped", how, bytes] => return keep_unmapped(how, bytes.parse().unwrap()),
        ["socket", family, kind, protocol] => {
            let [family, kind, protocol] = [family, kind, protocol].map(|word| word.parse::<i32>().unwrap());
            // SAFETY: three numbers; no memory is passed.
            asked(unsafe { libc::socket(family, kind, protocol) }.into())
        }
        ["push-terminal"] => {
            // SAFETY: the one byte is valid for the call.
            asked(unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) }.into())
        }
        ["int80"] => old_entry(),
        [name] => call(name),
        _ => Err(io::Error::other("no such attack")),
    };
    println!("{}", answer.map_or_else(|error| named(&error), |()| "done".to_owned()));
    ExitCode::SUCCESS
}

/// Speaks these lines of a request, and says the first of the answer.
fn ask(to: &str, lines: &[&str]) -> ExitCode {
    let mut stream = TcpStream::connect(to).unwrap();
    let text = lines.iter().map(|line| format!("{line}\r\n")).collect::<String>();
    stream.write_all(format!("{text}\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    println!("{}", answer.lines().next().unwrap_or_default());
    ExitCode::SUCCESS
}

/// Calls by name, with arguments that the kernel would take from whoever may.
fn call(name: &str) -> io::Result<()> {
    let root = c"/".as_ptr() as usize;
    let buffer = [0_usize; 32];
    let at = buffer.as_ptr() as usize;
    let new_user = libc::CLONE_NEWUSER as usize | libc::SIGCHLD as usize;
    let bind = (libc::MS_BIND | libc::MS_REMOUNT) as usize;
    let (number, arguments): (libc::c_long, [usize; 5]) = match name {
        "mount" => (libc::SYS_mount, [0, c"/usr".as_ptr() as usize, 0, bind, 0]),
        "chroot" => (libc::SYS_chroot, [root, 0, 0, 0, 0]),
        "unshare" => (libc::SYS_unshare, [libc::CLONE_NEWUSER as usize, 0, 0, 0, 0]),
        "clone-user" => (libc::SYS_clone, [new_user, 0, 0, 0, 0]),
        "clone3" => (libc::SYS_clone3, [at, 64, 0, 0, 0]),
        "io-uring" => (libc::SYS_io_uring_setup, [1, at, 0, 0, 0]),
        // PTRACE_TRACEME: allowed to everyone, were calls not filtered.
        "trace-me" => (libc::SYS_ptrace, [0, 0, 0, 0, 0]),
        "seize-1" => (libc::SYS_ptrace, [0x4206, 1, 0, 0, 0]),
        "read-self" => (libc::SYS_process_vm_readv, [std::process::id() as usize, 0, 0, 0, 0]),
        "keyring" => (libc::SYS_keyctl, [0, -3_isize as usize, 1, 0, 0]),
        "bpf" => (libc::SYS_bpf, [0, at, 48, 0, 0]),
        "perf" => (libc::SYS_perf_event_open, [at, 0, usize::MAX, usize::MAX, 0]),
        "userfault" => (libc::SYS_userfaultfd, [1, 0, 0, 0, 0]),
        "handle" => (libc::SYS_open_by_handle_at, [0, at, 0, 0, 0]),
        "reboot" => (libc::SYS_reboot, [0, 0, 0, 0, 0]),
        // `getpid` by its number of the 32-bit-pointer kind.
        "x32" => (0x4000_0000 | libc::SYS_getpid, [0; 5]),
        "signal-1" => (libc::SYS_kill, [1, 0, 0, 0, 0]),
        // All bytes of what is asked for are zero.
        "limit-1" => (libc::SYS_prlimit64, [1, libc::RLIMIT_NOFILE as usize, at, 0, 0]),
        "nice-1" => (libc::SYS_setpriority, [0, 1, 19, 0, 0]),
        "nice-all" => (libc::SYS_setpriority, [2, 0, 19, 0, 0]),
        "affinity-1" => (libc::SYS_sched_setaffinity, [1, 8, at, 0, 0]),
        "many" => return many(),
        _ => return Err(io::Error::other("no such attack")),
    };
    let [a, b, c, d, e] = arguments;
    // SAFETY: pointers are to live memory of at least the size that each call reads; a child that a call makes has a
    // copy of this process and goes on to print.
    asked(unsafe { libc::syscall(number, a, b, c, d, e) })
}

/// Opens descriptors until no more are given, and says how many.
fn many() -> io::Result<()> {
    let opened: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok())
        .take(1 << 16)
        .collect();
    println!("{} opened", opened.len());
    Ok(())
}

fn asked(answer: libc::c_long) -> io::Result<()> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The entry of 32-bit programs: `getpid`.
#[cfg(target_arch = "x86_64")]
fn old_entry() -> io::Result<()> {
    let mut number: u64 = 20;
    // SAFETY: the call takes no memory; the kernel keeps every other register.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") number, out("r8") _, out("r9") _, out("r10") _, out("r11") _)
    };
    if number > 0 {
        Ok(())
    } else {
        Err(io::Error::other("nothing"))
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn old_entry() -> io::Result<()> {
    std::process::abort()
}

fn listen(path: &str) -> ExitCode {
    let listener = UnixListener::bind(path).unwrap();
    println!("listening");
    let _one = listener.accept();
    ExitCode::SUCCESS
}

/// Holds memory, every page of it written, until it is ended.
fn hold(bytes: usize) -> ExitCode {
    let mut held: Vec<u8> = Vec::new();
    if held.try_reserve_exact(bytes).is_err() {
        println!("refused");
        return ExitCode::SUCCESS;
    }
    held.resize(bytes, 1);
    println!("held");
    loop {
        std::thread::park();
    }
}

/// Keeps memory that no process has in its address space until it is ended: in a file of no directory, or in a segment.
fn keep_unmapped(how: &str, bytes: usize) -> ExitCode {
    let held = if how == "file" {
        // SAFETY: the name is valid for the call, and the descriptor is this process's own and stays open.
        asked(unsafe {
            let file = libc::memfd_create(c"kept".as_ptr(), 0);
            let block = vec![1_u8; 1 << 20];
            (0..bytes >> 20)
                .map(|_| libc::write(file, block.as_ptr().cast(), block.len()) as libc::c_long)
                .min()
                .unwrap_or(-1)
        })
    } else {
        // SAFETY: the segment is as long as what is written to it while it is attached.
        asked(unsafe {
            let segment = libc::shmget(libc::IPC_PRIVATE, bytes, 0o600);
            let at = libc::shmat(segment, std::ptr::null(), 0);
            if at as isize != -1 {
                libc::memset(at, 1, bytes);
            }
            libc::shmdt(at).into()
        })
    };
    println!("{}", held.map_or_else(|error| named(&error), |()| "held".to_owned()));
    loop {
        std::thread::park();
    }
}

fn named(error: &io::Error) -> String {
    let names = [
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EACCES, "EACCES"),
        (libc::ENETUNREACH, "ENETUNREACH"),
        (libc::ECONNREFUSED, "ECONNREFUSED"),
    ];
    let known = names.iter().find(|(number, _)| error.raw_os_error() == Some(*number));
    known.map_or_else(|| error.to_string(), |(_, name)| (*name).to_owned())
}

//! Which system calls the command may not make. All others it may: toolchains are arbitrary.
//!
//! Three filters, because one has one answer: what is refused (EPERM), what is said not to exist so that libraries
//! take the older way (ENOSYS), and numbers of the 32-bit-pointer kind, which mean the same calls by other numbers.
//! Calls of another architecture end the process.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
    sock_filter,
};

/// Refused whatever the arguments.
const REFUSED: &[i64] = &[
    // Rings make the calls that are refused here by themselves.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes' insides.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Kernel interfaces with a history.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Refused where the architecture has them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Its flags lie in memory where no filter sees them; libraries fall back to `clone`.
const ABSENT: &[i64] = &[libc::SYS_clone3];

/// Time namespaces are not asked for by `clone`: their flag is part of the signal there.
const NAMESPACE_FLAGS: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The kinds of a socket without the flags that go with them.
const KIND_MASK: u64 = 0xf;

/// Words put into a terminal, or another discipline laid on its line.
const REFUSED_IOCTLS: [u64; 3] = [0x5412, 0x541c, 0x5423];

/// The init: whoever lowered its limits or its place in the queue would have it count or end nothing.
const FIRST: u64 = 1;

/// Calls that take a process first, and leave it with less.
const OF_A_PROCESS: [i64; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// The same of one process or of many: the call, the words for a process and a group, and the one for all of a user.
const OF_MANY: [(i64, [libc::c_int; 2], libc::c_int); 2] =
    [(libc::SYS_setpriority, [0, 1], 2), (libc::SYS_ioprio_set, [1, 2], 3)];

/// The bit of a number of the 32-bit-pointer kind.
const X32_BIT: u32 = 0x4000_0000;

/// Binds this process for good, and everything that it starts.
///
/// # Errors
/// When a filter cannot be made or the kernel does not take it.
pub(super) fn bind() -> Result<(), Error> {
    for filter in filters(ARCH.try_into()?)? {
        apply_filter(&filter)?;
    }
    Ok(())
}

fn filters(arch: TargetArch) -> Result<Vec<BpfProgram>, Error> {
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let absent = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let whole = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect::<BTreeMap<_, _>>();
    let mut refused = whole(REFUSED);
    refused.append(&mut whole(REFUSED_HERE));
    refused.append(&mut by_argument()?);
    let compiled = |rules, action| SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into();
    let mut filters = vec![compiled(refused, refuse)?, compiled(whole(ABSENT), absent)?];
    if matches!(arch, TargetArch::x86_64) {
        filters.push(no_x32());
    }
    Ok(filters)
}

/// Refused for some arguments only.
fn by_argument() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Error> {
    let one = |argument, how, value| SeccompCondition::new(argument, Dword, how, value);
    let mut clone = Vec::new();
    for flag in NAMESPACE_FLAGS.map(bits) {
        clone.push(SeccompRule::new(vec![one(0, MaskedEq(flag), flag)?])?);
    }
    let mut strange = Vec::new();
    for family in FAMILIES.map(bits) {
        strange.push(one(0, Ne, family)?);
    }
    let mut socket = vec![SeccompRule::new(strange)?];
    for family in [libc::AF_INET, libc::AF_INET6].map(bits) {
        let raw = one(1, MaskedEq(KIND_MASK), bits(libc::SOCK_RAW))?;
        socket.push(SeccompRule::new(vec![one(0, Eq, family)?, raw])?);
    }
    // Of the kernel's message families the one that tells interfaces and routes.
    let netlink = one(0, Eq, bits(libc::AF_NETLINK))?;
    let other = one(2, Ne, bits(libc::NETLINK_ROUTE))?;
    socket.push(SeccompRule::new(vec![netlink, other])?);
    let mut ioctl = Vec::new();
    for request in REFUSED_IOCTLS {
        ioctl.push(SeccompRule::new(vec![one(1, Eq, request)?])?);
    }
    let mut refused = BTreeMap::from([
        (libc::SYS_clone, clone),
        (libc::SYS_socket, socket.clone()),
        (libc::SYS_socketpair, socket),
        (libc::SYS_ioctl, ioctl),
    ]);
    for call in OF_A_PROCESS {
        refused.insert(call, vec![SeccompRule::new(vec![one(0, Eq, FIRST)?])?]);
    }
    for (call, of_one, of_all) in OF_MANY {
        let mut rules = vec![SeccompRule::new(vec![one(0, Eq, bits(of_all))?])?];
        for which in of_one.map(bits) {
            rules.push(SeccompRule::new(vec![one(0, Eq, which)?, one(1, Eq, FIRST)?])?);
        }
        refused.insert(call, rules);
    }
    Ok(refused)
}

fn bits(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

/// `if number >= X32_BIT { EPERM } else { allow }`: a comparison that rules of the library cannot express.
fn no_x32() -> BpfProgram {
    let line = |code: u32, jt, jf, k| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    vec![
        // The number is the first word of what a filter is shown.
        line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        line(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        line(libc::BPF_RET | libc::BPF_K, 0, 0, refuse),
        line(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_can_be_made_for_every_architecture() {
        let made = |arch| filters(arch).unwrap().len();
        assert_eq!(made(TargetArch::x86_64), 3);
        assert_eq!(made(TargetArch::aarch64), 2);
    }

    #[test]
    fn no_call_is_named_twice() {
        let mut seen: Vec<i64> = [REFUSED, REFUSED_HERE, ABSENT].concat();
        seen.extend(by_argument().unwrap().into_keys());
        let named = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), named, "of two entries for a call one would be lost");
    }
}

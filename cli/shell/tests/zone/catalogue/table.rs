//! The attacks by their numbers; those with an S are about what the catalogue has no number for.

use shell::zone::Zone;

use super::Answer::{self, Dies, Is, Says};
use super::Attack;

const BOTH: &[Zone] = &[Zone::Agent, Zone::Exec];
const EXEC: &[Zone] = &[Zone::Exec];
const AGENT: &[Zone] = &[Zone::Agent];

const fn attack(
    id: &'static str,
    fact: &'static str,
    zones: &'static [Zone],
    script: &'static str,
    answer: Answer,
) -> Attack {
    Attack {
        id,
        fact,
        zones,
        script,
        answer,
    }
}

const ROFS: Answer = Says(&["Read-only file system"]);
const GONE: Answer = Says(&["No such file or directory"]);
const DEVICES: &str = "core\nfd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n";
const HIDDEN: &str = "ls: cannot access '/root': No such file or directory\nloopexec\n";
const NO_KEY: &str = "cat ~/.ssh/id_* ~/.netrc ~/.aws/credentials ~/.claude.json; ls -A ~ | wc -l";

pub(super) const ATTACKS: &[Attack] = &[
    attack("A1", "programs_are_read_only", BOTH, "echo x > /usr/x", ROFS),
    attack("A2", "made_files_are_read_only", BOTH, "echo x >> /etc/hosts", ROFS),
    attack(
        "A3",
        "homes_are_not_there",
        BOTH,
        "ls -A /home /root | grep -v :",
        Is(HIDDEN),
    ),
    attack("A3b", "other_directories_are_not_there", BOTH, "ls $H", GONE),
    attack(
        "A4",
        "no_key_is_in_the_home",
        BOTH,
        NO_KEY,
        Says(&["No such file", "\n0\n"]),
    ),
    attack(
        "A5",
        "the_root_takes_no_file",
        BOTH,
        "echo x > /x; echo x > /loopexec/x",
        ROFS,
    ),
    attack("A5b", "devices_take_no_neighbour", BOTH, "echo x > /dev/x", ROFS),
    attack(
        "A6",
        "nothing_is_mounted_anew",
        BOTH,
        "$X mount; $X chroot",
        Is("EPERM\nEPERM\n"),
    ),
    attack("A8", "tests_are_read_only", EXEC, "echo x >> $W/tests/t", ROFS),
    attack(
        "A9",
        "tests_are_not_moved_away",
        EXEC,
        "mv $W/tests $W/t2 && mkdir $W/tests",
        ROFS,
    ),
    attack(
        "A9b",
        "the_tree_is_not_moved_away",
        BOTH,
        "mv $W ${W}2; mv /project /project2",
        ROFS,
    ),
    attack(
        "A13",
        "only_the_outputs_are_inherited",
        BOTH,
        "echo $(ls /proc/self/fd)",
        Is("0 1 2 3\n"),
    ),
    attack(
        "A14",
        "the_environment_of_process_1_is_hidden",
        BOTH,
        "cat /proc/1/environ",
        Says(&["Permission denied"]),
    ),
    attack(
        "A14b",
        "no_environment_is_the_governors",
        BOTH,
        "cat /proc/*/environ 2>&- | grep -c CANARY",
        Is("0\n"),
    ),
    attack(
        "A15",
        "process_1_names_nothing",
        BOTH,
        "tr '\\0' ' ' < /proc/1/cmdline",
        Is("/loopexec/init __zone-init "),
    ),
    attack("A16", "the_machines_settings_are_read_only", BOTH, SETTING, ROFS),
    attack(
        "A17",
        "the_kernels_doors_are_shut",
        BOTH,
        DOORS,
        Is("shut\nshut\nshut\n"),
    ),
    attack(
        "A18",
        "privileges_are_not_gained",
        BOTH,
        "grep NoNewPrivs /proc/self/status; grep CapEff /proc/self/status",
        Is("NoNewPrivs:\t1\nCapEff:\t0000000000000000\n"),
    ),
    attack(
        "A19",
        "no_device_is_made",
        BOTH,
        "mknod /tmp/sda b 8 0 || mknod /tmp/c c 1 3 || echo none",
        Says(&["none"]),
    ),
    attack("A20", "devices_are_the_harmless_ones", BOTH, "ls /dev", Is(DEVICES)),
    attack(
        "A21",
        "tmp_is_of_bounded_size",
        BOTH,
        "head -c 20G /dev/zero > /tmp/f",
        Says(&["No space left"]),
    ),
    attack(
        "A21b",
        "shared_memory_is_of_bounded_size",
        BOTH,
        "head -c 20G /dev/zero > /dev/shm/f",
        Says(&["No space left"]),
    ),
    attack(
        "A21c",
        "home_is_of_bounded_size",
        BOTH,
        "head -c 20G /dev/zero > ~/f",
        Says(&["No space left"]),
    ),
    attack(
        "A21d",
        "outputs_are_of_bounded_size",
        EXEC,
        "head -c 20G /dev/zero > $W/out/f",
        Says(&["No space left"]),
    ),
    attack(
        "A21e",
        "one_file_is_of_bounded_size",
        AGENT,
        "head -c 200M /dev/zero > $W/f; echo $?",
        Says(&["153"]),
    ),
    attack(
        "A29",
        "the_root_has_nothing_above_it",
        BOTH,
        "ls /proc/self/root/../../root; ls /proc/1/root/",
        Says(&["No such file", "Permission denied"]),
    ),
    attack(
        "A30",
        "no_address_is_reached",
        BOTH,
        "$X connect 1.1.1.1:443",
        Is("ENETUNREACH\n"),
    ),
    attack(
        "A31",
        "no_name_is_resolved",
        BOTH,
        "getent hosts example.com; echo $?",
        Is("2\n"),
    ),
    attack(
        "A32",
        "no_datagram_leaves",
        BOTH,
        "$X send 1.1.1.1:53",
        Is("ENETUNREACH\n"),
    ),
    attack(
        "A33",
        "the_hosts_loopback_is_another",
        BOTH,
        "$X connect 127.0.0.1:$D",
        Is("ECONNREFUSED\n"),
    ),
    attack(
        "A34",
        "metadata_services_are_not_reached",
        BOTH,
        "$X connect 169.254.169.254:80",
        Is("ENETUNREACH\n"),
    ),
    attack(
        "A44",
        "without_the_variables_there_is_no_route",
        AGENT,
        "unset HTTPS_PROXY https_proxy ALL_PROXY; $X connect 93.184.216.34:443",
        Is("ENETUNREACH\n"),
    ),
    attack(
        "A47",
        "sockets_of_the_machine_are_refused",
        BOTH,
        "$X socket 40 1 0; $X socket 17 3 0; $X socket 38 5 0; $X socket 16 3 15",
        Is("EPERM\nEPERM\nEPERM\nEPERM\n"),
    ),
    attack(
        "A47b",
        "raw_sockets_are_refused",
        BOTH,
        "$X socket 2 3 1; $X socket 10 3 1; $X socket 2 524291 1",
        Is("EPERM\nEPERM\nEPERM\n"),
    ),
    attack(
        "A47c",
        "plain_sockets_are_allowed",
        BOTH,
        "$X socket 1 1 0; $X socket 2 1 0; $X socket 10 2 0; $X socket 16 3 0",
        Is("done\ndone\ndone\ndone\n"),
    ),
    attack("A48", "rings_are_refused", BOTH, "$X io-uring", Is("EPERM\n")),
    attack(
        "A49",
        "the_old_entry_is_death",
        BOTH,
        "exec $X int80",
        Dies(libc::SIGSYS),
    ),
    attack("A49b", "the_other_numbers_are_refused", BOTH, "$X x32", Is("EPERM\n")),
    attack(
        "A50",
        "sockets_of_the_host_are_not_there",
        BOTH,
        "$X connect-path /run/docker.sock; ls /run /var",
        Says(&["ENOENT", "'/run'", "'/var'"]),
    ),
    attack("A52", "the_network_is_not_changed", BOTH, NETWORK, Says(&["refused"])),
    attack("A53", "the_own_loopback_works", BOTH, "$X loopback", Is("done\n")),
    attack(
        "A55",
        "no_proxy_is_in_the_exec_zone",
        EXEC,
        "$X connect 127.0.0.1:3128",
        Is("ECONNREFUSED\n"),
    ),
    attack(
        "A56",
        "only_the_own_processes_are_seen",
        BOTH,
        "echo /proc/[0-9]*",
        Is("/proc/1 /proc/2\n"),
    ),
    attack(
        "A57",
        "process_1_is_not_killed",
        BOTH,
        "kill -9 1; kill -STOP 1; kill -9 -1; sleep 0; echo alive",
        Says(&["alive"]),
    ),
    attack("A57b", "process_1_takes_no_signal", BOTH, "$X signal-1", Is("EPERM\n")),
    attack(
        "A58",
        "nobody_is_traced",
        BOTH,
        "$X seize-1; $X trace-me; $X read-self",
        Is("EPERM\nEPERM\nEPERM\n"),
    ),
    attack(
        "A59",
        "no_namespace_is_made_or_entered",
        BOTH,
        "unshare -Ur true; unshare -n true; nsenter -t 1 -m true; $X unshare",
        Says(&["unshare failed: Operation not permitted", "nsenter", "EPERM"]),
    ),
    attack(
        "A61",
        "no_user_is_cloned",
        BOTH,
        "$X clone-user; $X clone3",
        Is("EPERM\nENOSYS\n"),
    ),
    attack(
        "A62",
        "no_terminal_is_there",
        BOTH,
        "$X push-terminal; : < /dev/tty",
        Says(&["EPERM", "No such device or address"]),
    ),
    attack(
        "A64",
        "one_process_holds_no_more_than_the_zone",
        BOTH,
        "$X hold 68719476736",
        Is("refused\n"),
    ),
    attack(
        "A74",
        "no_key_and_no_proxy_is_in_the_environment",
        EXEC,
        "env | grep -ci -e key -e token -e secret -e proxy",
        Is("0\n"),
    ),
    attack(
        "A81",
        "words_and_zone_are_fixed",
        BOTH,
        "date +%Z; readlink /etc/localtime; printf 'b\\nA\\na\\n' | sort",
        Is("UTC\n/usr/share/zoneinfo/UTC\nA\na\nb\n"),
    ),
    attack(
        "A84",
        "names_are_fixed",
        BOTH,
        "hostname; id -u; id -g; id -un; echo $HOME; umask",
        Is("loopexec\n1000\n1000\nloopexec\n/home/loopexec\n0022\n"),
    ),
    attack(
        "A14c",
        "process_1_belongs_to_nobody_inside",
        BOTH,
        "stat -c %U /proc/1/environ",
        Is("nobody\n"),
    ),
    attack(
        "S1",
        "kernel_interfaces_are_refused",
        BOTH,
        "for c in keyring bpf perf userfault handle reboot; do $X $c; done",
        Is("EPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\n"),
    ),
    attack(
        "S2",
        "the_kernels_files_take_no_word",
        BOTH,
        "echo x > /proc/self/comm",
        Says(&["Permission denied"]),
    ),
    attack(
        "S3",
        "descriptors_are_counted",
        BOTH,
        "$X many",
        Is("253 opened\ndone\n"),
    ),
    attack("S4", "no_core_is_left", BOTH, "ulimit -c; ulimit -Hc", Is("0\n0\n")),
    attack(
        "S5",
        "the_tree_is_the_agents_to_write",
        AGENT,
        "echo x > $W/tests/t && cat $W/tests/t",
        Is("x\n"),
    ),
    attack(
        "S6",
        "scratch_is_there_to_write",
        BOTH,
        "for d in /tmp ~ /dev/shm; do echo x > $d/x && mkdir $d/y && mv $d/x $d/y/x && cat $d/y/x; done; echo y > /dev/null",
        Is("x\nx\nx\n"),
    ),
    attack(
        "S7",
        "standard_input_is_at_its_end",
        BOTH,
        "cat; readlink /proc/self/fd/0",
        Is("/dev/null\n"),
    ),
    attack(
        "S8",
        "the_session_is_its_own",
        BOTH,
        "awk '{ print ($1 == $6) }' /proc/$$/stat",
        Is("1\n"),
    ),
    attack(
        "S9",
        "nobody_takes_limits_or_turns_from_the_init",
        BOTH,
        "for c in limit-1 nice-1 nice-all affinity-1; do $X $c; done; (ulimit -n 64; nice -n 5 true) && echo own",
        Is("EPERM\nEPERM\nEPERM\nEPERM\nown\n"),
    ),
];

const SETTING: &str = "f=/proc/sys/kernel/core_pattern; v=$(cat $f); printf %s \"$v\" > $f";
const DOORS: &str = "(echo h > /proc/sysrq-trigger) 2>&- || echo shut; \
     head -c1 /dev/kmsg 2>&- || echo shut; head -c1 /proc/kcore 2>&- || echo shut";
const NETWORK: &str = "PATH=$PATH:/usr/sbin:/sbin; command -v ip > /dev/null || { echo no ip: refused; exit; }; \
     ip link add d0 type dummy || ip route add default dev lo || ip link set lo down || echo refused";

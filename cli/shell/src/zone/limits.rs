//! Limits of the kernel's own kind. They are lowered, never raised: root in a container may not raise them either.

use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::plan::Limits;

/// Holds this process to them, and everything that it starts. To be called inside of the zone: the number of
/// processes is then counted for the zone, and not for the user outside.
pub(super) fn hold(limits: &Limits) -> io::Result<()> {
    let wanted = [
        (Resource::Core, 0),
        (Resource::As, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, u64::from(limits.open_files)),
        (Resource::Nproc, u64::from(limits.processes)),
    ];
    wanted
        .into_iter()
        .try_for_each(|(resource, wanted)| setrlimit(resource, lowered(getrlimit(resource), wanted)))
}

/// Leaves this process, and everything that it starts, the first of its processors; how many those are. Fewer than
/// `at_most` where it had no more.
pub(super) fn confine(at_most: Option<u32>) -> io::Result<u32> {
    let had = sched_getaffinity(None)?;
    let Some(at_most) = at_most else {
        return Ok(had.count());
    };
    let mut left = CpuSet::new();
    let usable = (0..CpuSet::MAX_CPU).filter(|number| had.is_set(*number));
    for number in usable.take(at_most.max(1) as usize) {
        left.set(number);
    }
    sched_setaffinity(None, &left)?;
    Ok(sched_getaffinity(None)?.count())
}

/// The processors that this process may use.
pub(super) fn available() -> u32 {
    sched_getaffinity(None).map_or(1, |set| set.count())
}

pub(super) fn lowered(present: Rlimit, wanted: u64) -> Rlimit {
    let least = |bound: Option<u64>| Some(bound.map_or(wanted, |bound| bound.min(wanted)));
    let maximum = least(present.maximum);
    Rlimit {
        current: maximum,
        maximum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_lowered_and_never_raised() {
        let present = |maximum| Rlimit {
            current: Some(1),
            maximum,
        };
        assert_eq!(lowered(present(None), 7).maximum, Some(7));
        assert_eq!(lowered(present(Some(5)), 7).maximum, Some(5));
        assert_eq!(lowered(present(Some(9)), 7).maximum, Some(7));
        assert_eq!(lowered(present(Some(9)), 7).current, Some(7));
    }
}

//! Power cuts of a real file system: ext4 on a loop mount is shut down without its log being written, at one moment
//! after another of a run, and mounted again as after a boot.
//!
//! `LOOPEXEC_TEST_POWER_CUTS` says how many. It takes root, a loop device and python3, which has the one `ioctl`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{Scene, heard};
use crate::support::wait_until;

const USUAL: usize = 8;

/// `EXT4_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`: whatever is not on the disk by now never will be.
const CUT: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))";

/// A disk in a file, with a file system that is mounted.
struct Disk {
    image: PathBuf,
    at: PathBuf,
}

impl Disk {
    fn new(folder: &Path) -> Result<Self, String> {
        let disk = Self {
            image: folder.join("disk"),
            at: folder.join("mount"),
        };
        fs::create_dir(&disk.at).unwrap();
        fs::File::create(&disk.image).unwrap().set_len(96 << 20).unwrap();
        did(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&disk.image))?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        did(Command::new("mount")
            .args(["-o", "loop"])
            .arg(&self.image)
            .arg(&self.at))
    }

    fn unmount(&self) -> Result<(), String> {
        did(Command::new("umount").arg(&self.at))
    }

    fn cut(&self) -> Result<(), String> {
        did(Command::new("python3").args(["-c", CUT]).arg(&self.at))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
    }
}

fn did(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("{}: {error}", command.get_program().display())),
    }
}

/// A file system that was cut off and came back; none where this machine has no such thing.
fn disk(folder: &Path) -> Result<Disk, String> {
    let disk = Disk::new(folder)?;
    disk.cut()?;
    disk.unmount()?;
    disk.mount()?;
    Ok(disk)
}

#[test]
// What was tried is told, and so is that nothing could be.
#[allow(clippy::print_stdout)]
fn what_was_told_survives_a_power_cut_of_the_file_system() {
    let asked = std::env::var("LOOPEXEC_TEST_POWER_CUTS").ok();
    let cuts = asked.map_or(USUAL, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let disk = match disk(&folder.path().canonicalize().unwrap()) {
        Ok(disk) => disk,
        Err(why) => return println!("skipped: no file system can be mounted and cut off here ({why})"),
    };
    let whole = Scene::new(&disk.at.join("whole")).faulty(&[]);
    assert_eq!(whole.exit, Some(10), "{whole:?}");
    let (mut told, mut vanished) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for i in 0..cuts {
        let scene = Scene::new(&disk.at.join(i.to_string()));
        did(Command::new("sync").arg("-f").arg(&disk.at)).unwrap();
        let unsynced = scene.base.join("unsynced");
        fs::write(&unsynced, "nobody waits for this").unwrap();
        let after = i * (whole.acked.len() + 2) / cuts;
        let output = cut_behind(&disk, &scene, after);
        let heard = heard(&output);
        wait_until("nobody holds the file system", || {
            scene.alive().is_empty() && disk.unmount().is_ok()
        });
        disk.mount().unwrap();
        vanished += usize::from(!fs::read(&unsynced).is_ok_and(|text| !text.is_empty()));
        told += heard.acked.len();
        let reason = scene.settles(&heard, &format!("cut {i} behind {after} lines"));
        *reasons.entry(reason).or_default() += 1;
        fs::remove_dir_all(&scene.base).unwrap();
    }
    println!(
        "figure: {cuts} power cuts of ext4, {vanished} took a file that was not synced: 0 of {told} told events lost, then {reasons:?}"
    );
    assert!(
        vanished > 0 && told > 0,
        "{vanished} files vanished, {told} events were told"
    );
}

/// Runs until so many lines were read, and cuts the power; what it says then is heard too.
fn cut_behind(disk: &Disk, scene: &Scene, lines: usize) -> Output {
    let mut child = scene.run(&[], "r").spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = Vec::new();
    for _ in 0..lines {
        stdout.read_until(b'\n', &mut said).unwrap();
    }
    disk.cut().unwrap();
    std::io::Read::read_to_end(&mut stdout, &mut said).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stdout = said;
    output
}

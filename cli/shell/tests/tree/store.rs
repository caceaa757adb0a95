//! The object store.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use shell::tree::{Digest, Tree, TreeError};

use crate::support::{Place, everything};

fn object(place: &Place, digest: &Digest) -> PathBuf {
    let hex: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    place.state().join("objects").join(&hex[..2]).join(&hex[2..])
}

fn digest_of(tree: &Tree, path: &str) -> Digest {
    tree.current().entry(path.as_bytes()).unwrap().digest
}

#[test]
fn objects_are_private_and_named_by_their_content() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.snapshot().unwrap();
    let digest = digest_of(&tree, "kept.txt");
    assert_eq!(digest, *blake3::hash(b"kept\n").as_bytes());
    let file = object(&place, &digest);
    assert_eq!(std::fs::read(&file).unwrap(), b"kept\n");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::os::unix::fs::MetadataExt::nlink(&file.metadata().unwrap()), 1);
    assert_eq!(std::fs::read_dir(place.state().join("incoming")).unwrap().count(), 0);
}

#[test]
fn a_second_snapshot_writes_only_what_is_new() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.snapshot().unwrap();
    let before = everything(&place.state());
    tree.snapshot().unwrap();
    assert_eq!(everything(&place.state()), before);
    place.write("kept.txt", "new\n");
    tree.snapshot().unwrap();
    assert_eq!(
        everything(&place.state()).len(),
        before.len() + 2,
        "one object and one manifest"
    );
}

#[test]
fn many_files_large_files_and_equal_files_are_all_stored_once() {
    let place = Place::plain();
    for n in 0..600 {
        place.write(format!("d{}/f{n}", n % 7), (n % 300).to_string());
    }
    place.write("large", vec![3u8; 5 << 20]);
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    let objects = everything(&place.state().join("objects"));
    assert_eq!(objects.len(), 301);
    let copy = place.home.path().join("copy");
    tree.materialise(id, &copy).unwrap();
    assert_eq!(everything(&copy).len(), 601);
    assert_eq!(std::fs::read(copy.join("large")).unwrap(), vec![3u8; 5 << 20]);
}

#[test]
fn damage_to_an_object_is_found_and_named_when_it_is_read() {
    let place = Place::repository();
    place.write("large", vec![3u8; 2 << 20]);
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    for name in ["kept.txt", "large"] {
        let digest = digest_of(&tree, name);
        let file = object(&place, &digest);
        let sound = std::fs::read(&file).unwrap();
        let mut bytes = sound.clone();
        bytes[1] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        let copy = place.home.path().join(format!("copy-{name}"));
        let error = tree.materialise(id, &copy).unwrap_err();
        assert!(
            matches!(&error, TreeError::BlobCorrupt { file: named, .. } if *named == file),
            "{error}"
        );
        std::fs::write(&file, sound).unwrap();
    }
    std::fs::remove_file(object(&place, &digest_of(&tree, "kept.txt"))).unwrap();
    let error = tree.materialise(id, &place.home.path().join("copy-gone")).unwrap_err();
    assert!(matches!(error, TreeError::BlobMissing { .. }), "{error}");
}

#[test]
fn a_damaged_object_stops_a_restore_without_spoiling_the_file() {
    let place = Place::repository();
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    let file = object(&place, &digest_of(&tree, "kept.txt"));
    std::fs::write(&file, "dust\n").unwrap();
    place.write("kept.txt", "agent\n");
    let error = tree.restore(id).unwrap_err();
    assert!(matches!(error, TreeError::BlobCorrupt { .. }), "{error}");
    assert_eq!(place.text("kept.txt"), "agent\n");
}

#[test]
fn a_damaged_manifest_is_found() {
    let place = Place::repository();
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    let hex = id.to_string();
    let file = place.state().join("trees").join(&hex[..2]).join(&hex[2..]);
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(tree.manifest(id), Err(TreeError::TreeCorrupt { id, file }));
}

#[test]
fn objects_left_half_written_by_a_crash_are_not_believed() {
    let place = Place::repository();
    place.open();
    let digest = *blake3::hash(b"kept\n").as_bytes();
    let hex: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    std::fs::write(place.state().join("incoming").join(format!("o{hex}")), "ke").unwrap();
    let mut tree = place.open();
    tree.snapshot().unwrap();
    assert_eq!(tree.content(&digest).unwrap(), b"kept\n");
}

#[test]
fn a_full_disk_is_told_as_such() {
    // A file system of a few pages, where this can be mounted; the sentence is checked in any case.
    let error = TreeError::DiskFull {
        path: "/state/objects/ab".into(),
    };
    assert!(error.to_string().contains("full") && error.to_string().contains("/state/objects/ab"));
    let place = Place::repository();
    std::fs::create_dir(place.state()).unwrap();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(place.state())
        .output();
    if !mount.is_ok_and(|m| m.status.success()) {
        return;
    }
    let unmount = Unmount(place.state());
    place.write("big", vec![5u8; 500_000]);
    let seen = place.open().snapshot();
    drop(unmount);
    assert!(matches!(seen, Err(TreeError::DiskFull { .. })), "{seen:?}");
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

//! What kind of file system a store is on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::error::StoreError;

/// File systems that are at another machine, or pass locks on to one.
///
/// SQLite's log is shared memory between processes, and the lock of a run is the kernel's: neither crosses machines.
/// Source: <https://www.sqlite.org/wal.html> ("WAL does not work over a network filesystem").
const NETWORK: [&str; 24] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse.ceph",
    "fuse.davfs",
    "fuse.davfs2",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.juicefs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.smbnetfs",
    "fuse.sshfs",
    "gfs2",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
];

/// Refuses a path on a network file system. Where the system does not tell, nothing is refused.
pub fn refuse_network(path: &Path) -> Result<(), StoreError> {
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else { return Ok(()) };
    // The store may have to be made yet; its folder, or what it links to, decides then.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(real) = fs::canonicalize(path).or_else(|_| fs::canonicalize(folder)) else { return Ok(()) };
    match file_system_of(&real, &mounts) {
        Some(kind) if NETWORK.contains(&kind) => Err(StoreError::OnNetwork { path: path.to_owned(), kind: kind.to_owned() }),
        Some(_) | None => Ok(()),
    }
}

/// The kind of the file system that `path` is on, by what the kernel says is mounted.
///
/// Of several at one place the last is on top. Source: proc_pid_mountinfo(5).
fn file_system_of<'m>(path: &Path, mounts: &'m str) -> Option<&'m str> {
    let mounts = mounts.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let point = unescaped(place.split(' ').nth(4)?);
        path.starts_with(&point).then_some((point, kind.split(' ').next()?))
    });
    mounts.max_by_key(|(point, _)| point.components().count()).map(|(_, kind)| kind)
}

/// Blanks, tabs, line ends and backslashes are written as three octal digits.
fn unescaped(point: &str) -> PathBuf {
    let plain = [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")];
    plain.iter().fold(point.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:25 / /tmp rw - tmpfs none rw
31 22 0:26 / /srv/share rw,relatime shared:9 - nfs4 nas:/vol rw,vers=4.2
32 31 0:27 / /srv/share/local rw - xfs /dev/vdb1 rw
33 22 0:28 / /mnt/a\\040b rw - fuse.sshfs me@host: rw
34 22 0:29 / /over rw - cifs //nas/x rw
35 22 0:30 / /over rw - btrfs /dev/vdc1 rw
";

    #[test]
    fn a_path_is_on_the_innermost_and_topmost_mount() {
        let check = |path: &str, expected: &str| {
            assert_eq!(file_system_of(Path::new(path), MOUNTS), Some(expected), "{path}");
        };
        check("/var/lib/gapless.db", "ext4");
        check("/tmp/gapless.db", "tmpfs");
        check("/tmpfile.db", "ext4");
        check("/srv/share/gapless.db", "nfs4");
        check("/srv/share/local/gapless.db", "xfs");
        check("/srv/shared/gapless.db", "ext4");
        check("/mnt/a b/gapless.db", "fuse.sshfs");
        check("/over/gapless.db", "btrfs");
        assert_eq!(file_system_of(Path::new("/x"), "no mountinfo"), None);
    }

    #[test]
    fn file_systems_of_other_machines_are_refused_by_name() {
        for kind in ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"] {
            assert!(NETWORK.contains(&kind), "{kind}");
        }
        for kind in ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "virtiofs"] {
            assert!(!NETWORK.contains(&kind), "{kind}");
        }
        assert!(NETWORK.is_sorted());
    }
}

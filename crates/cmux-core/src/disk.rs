//! What is asked of the disk: a file system that keeps its word, and room.

/// Returns why no store may be kept on a file system called `kind`, if that is so.
///
/// SQLite's log needs memory shared between processes and locks that hold, and network file systems
/// promise neither.
pub fn refuses(kind: &str) -> Option<String> {
    let networked = matches!(
        kind,
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "afs" | "ceph" | "glusterfs" | "ncpfs"
    ) || [
        "fuse.sshfs",
        "fuse.rclone",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.ceph-fuse",
        "fuse.davfs",
    ]
    .contains(&kind);
    networked.then(|| {
        format!(
            "{kind} is a network file system: its locks and shared memory do not hold, and the store \
             would be damaged sooner or later"
        )
    })
}

/// The room on the disk, and what of it is set aside for cleaning up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub free_bytes: u64,
    /// How much the ballast should be.
    pub ballast_bytes: u64,
    pub has_ballast: bool,
    /// Whether writes are being refused for want of room.
    pub refusing: bool,
}

/// What to do about the room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tend {
    /// All is well, or nothing can be done.
    Nothing,
    /// Give the ballast up, and clean up in the room it leaves.
    Release,
    /// Take what people ask for again, and lay in ballast.
    Resume,
    /// Lay in ballast.
    LayIn,
}

impl Room {
    /// Returns whether what people ask for may be written. cmux's own records may always try.
    pub fn admits(&self) -> bool {
        !self.refusing && (self.has_ballast || self.free_bytes >= self.ballast_bytes / 4)
    }

    /// Returns what to do when a look at the disk has shown this room.
    pub fn tend(&self) -> Tend {
        let enough = self.free_bytes >= self.ballast_bytes.saturating_mul(2);
        match (self.refusing, self.has_ballast) {
            (true, true) => Tend::Release,
            (true, false) if enough => Tend::Resume,
            (false, false) if enough && self.ballast_bytes > 0 => Tend::LayIn,
            (true | false, false) | (false, true) => Tend::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn network_file_systems_are_refused_and_others_are_not() {
        for kind in ["nfs", "nfs4", "cifs", "9p", "fuse.sshfs"] {
            assert!(refuses(kind).is_some_and(|why| why.contains(kind)), "{kind}");
        }
        for kind in
            ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuse.fuse-overlayfs"]
        {
            assert_eq!(refuses(kind), None, "{kind}");
        }
    }

    #[test]
    fn a_full_disk_gives_up_its_ballast_and_takes_it_back_when_there_is_room() {
        let full =
            Room { free_bytes: 0, ballast_bytes: 16 * MB, has_ballast: true, refusing: true };
        assert_eq!(full.tend(), Tend::Release);
        assert!(!full.admits());
        let released = Room { free_bytes: 16 * MB, has_ballast: false, ..full };
        assert_eq!(released.tend(), Tend::Nothing);
        assert!(!released.admits());
        let room = Room { free_bytes: 32 * MB, ..released };
        assert_eq!(room.tend(), Tend::Resume);
        let resumed = Room { refusing: false, ..room };
        assert_eq!(resumed.tend(), Tend::LayIn);
        assert!(resumed.admits());
    }

    #[test]
    fn a_user_may_do_without_ballast() {
        let none = Room { free_bytes: 5, ballast_bytes: 0, has_ballast: false, refusing: false };
        assert_eq!(none.tend(), Tend::Nothing);
        assert!(none.admits());
        let full = Room { refusing: true, ..none };
        assert_eq!(full.tend(), Tend::Resume);
    }
}

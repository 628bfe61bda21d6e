//! Disks: how full they are, what kind they are, and the ballast that is kept on them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use procfs::process::Process;
use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// Returns how many bytes may still be written to the disk under `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Returns the name of the file system under `path`, such as `ext4` or `fuse.sshfs`, if it is known.
pub fn kind(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = Process::myself().and_then(|me| me.mountinfo()).ok()?;
    let over = mounts.0.into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    // Of two mounts at one place, the later one lies on top.
    over.max_by_key(|mount| mount.mount_point.as_os_str().len()).map(|mount| mount.fs_type)
}

/// Lays in ballast: a file of so many bytes that can be given up when the disk is full.
pub fn lay_in(ballast: &Path, bytes: u64) -> io::Result<()> {
    let laid = File::create(ballast).and_then(|file| {
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        file.sync_all()
    });
    if laid.is_err() {
        release(ballast)?;
    }
    laid
}

/// Gives the ballast up.
pub fn release(ballast: &Path) -> io::Result<()> {
    match fs::remove_file(ballast) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_of_a_folder_is_known() {
        assert_eq!(kind(Path::new("/proc")).as_deref(), Some("proc"));
        assert!(kind(Path::new("/")).is_some());
        assert_eq!(kind(Path::new("/no/such/folder")), None);
    }

    #[test]
    fn ballast_takes_its_room_and_gives_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let ballast = folder.path().join("ballast");
        lay_in(&ballast, 1 << 20).unwrap();
        assert_eq!(fs::metadata(&ballast).unwrap().len(), 1 << 20);
        release(&ballast).unwrap();
        release(&ballast).unwrap();
        assert!(!ballast.exists());
    }
}

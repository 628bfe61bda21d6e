//! Memory: how much this process takes, and how much the machine has.

use procfs::process::Process;
use procfs::{Current, Meminfo, ProcResult};

/// How much memory there is and is taken, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What this process takes.
    pub own: u64,
    /// What others may still have.
    pub available: u64,
    pub total: u64,
}

/// Returns how much memory there is and is taken, if the kernel tells.
pub fn look() -> Option<Memory> {
    let look = || -> ProcResult<Memory> {
        let own = Process::myself()?.statm()?.resident.saturating_mul(procfs::page_size());
        let all = Meminfo::current()?;
        let available = all.mem_available.unwrap_or(all.mem_free);
        Ok(Memory { own, available, total: all.mem_total })
    };
    look().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_takes_some_of_what_there_is() {
        let memory = look().unwrap();
        assert!(memory.own > 1 << 16 && memory.own < memory.total, "{memory:?}");
        assert!(memory.available <= memory.total, "{memory:?}");
    }
}

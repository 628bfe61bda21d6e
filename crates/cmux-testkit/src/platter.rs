//! A disk that has only what it was made to keep: whatever was not synced, a power cut takes.
//!
//! It is stricter than most. A file's bytes are kept once the file was synced, and its name once its
//! folder was: ext4 would keep the name of a new file that was synced, and this does not count on it. The
//! same goes for the folder itself.

use std::collections::{BTreeMap, HashMap};

use crate::dice::Dice;
use crate::trace::{Change, Moment, Target};

/// The least that a disk writes whole, in bytes.
const SECTOR: usize = 512;

/// The files of one home, as they would be found after a power cut.
#[derive(Clone, Debug, Default)]
pub struct Platter {
    /// When the home was made, while its own name is not on the disk.
    loose_home: Option<u64>,
    files: Vec<File>,
    /// Which file each name means while the machine runs.
    names: BTreeMap<String, usize>,
    /// Which file each name means on the disk.
    kept_names: BTreeMap<String, usize>,
    /// What was done to names and is not on the disk, oldest first.
    loose_names: Vec<(u64, Naming)>,
    /// When each thread began the sync that it is at.
    syncs: HashMap<u32, u64>,
    /// Counts moments.
    now: u64,
}

#[derive(Clone, Debug, Default)]
struct File {
    kept: Vec<u8>,
    /// What was done to it and is not on the disk, oldest first.
    loose: Vec<(u64, Stroke)>,
}

#[derive(Clone, Debug)]
enum Stroke {
    Write { at: usize, bytes: Vec<u8> },
    Cut { length: usize },
}

#[derive(Clone, Debug)]
enum Naming {
    Add { name: String, file: usize },
    Rename { from: String, to: String },
    Remove { name: String },
}

/// What a power cut does to that which was not synced.
#[derive(Debug)]
pub enum Fate<'a> {
    /// Nothing: the power stays, and only the program ends.
    Spared,
    /// All of it is lost.
    Lost,
    /// Chance decides: each write may be on the disk, or not, or in part.
    Chance(&'a mut Dice),
}

impl Platter {
    /// Does what was done in a moment.
    pub fn hear(&mut self, moment: &Moment) {
        self.now += 1;
        match moment {
            Moment::Changed(change) => self.change(change),
            Moment::SyncBegun { thread, target: _ } => {
                self.syncs.insert(*thread, self.now);
            }
            Moment::Synced { thread, target } => {
                // A sync whose beginning is not known keeps nothing.
                let begun = self.syncs.remove(thread).unwrap_or(0);
                self.keep(target, begun);
            }
            Moment::Telling(_) => {}
        }
    }

    /// Returns the files as they are found when the power is back.
    pub fn after_a_cut(&self, fate: &mut Fate<'_>) -> BTreeMap<String, Vec<u8>> {
        if self.loose_home.is_some() && !matches!(fate, Fate::Spared) {
            return BTreeMap::new();
        }
        let mut names = self.kept_names.clone();
        // Names are changed in their order, so only the last changes can be missing.
        let survived = match fate {
            Fate::Spared => self.loose_names.len(),
            Fate::Lost => 0,
            Fate::Chance(dice) => dice.below(self.loose_names.len() as u64 + 1) as usize,
        };
        for (_, naming) in &self.loose_names[..survived] {
            naming.apply(&mut names);
        }
        names.into_iter().map(|(name, file)| (name, self.files[file].after_a_cut(fate))).collect()
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::MakeHome => self.loose_home = Some(self.now),
            Change::Make { file } => {
                if !self.names.contains_key(file) {
                    self.files.push(File::default());
                    let file_number = self.files.len() - 1;
                    self.rename(Naming::Add { name: file.clone(), file: file_number });
                }
            }
            Change::Write { file, at, bytes } => {
                self.touch(file, Stroke::Write { at: *at, bytes: bytes.clone() });
            }
            Change::Cut { file, length } => self.touch(file, Stroke::Cut { length: *length }),
            Change::Rename { from, to } => {
                self.rename(Naming::Rename { from: from.clone(), to: to.clone() });
            }
            Change::Remove { file } => self.rename(Naming::Remove { name: file.clone() }),
        }
    }

    fn touch(&mut self, name: &str, stroke: Stroke) {
        let file = self.names[name];
        self.files[file].loose.push((self.now, stroke));
    }

    fn rename(&mut self, naming: Naming) {
        naming.apply(&mut self.names);
        self.loose_names.push((self.now, naming));
    }

    /// Keeps what was done before `begun`.
    fn keep(&mut self, target: &Target, begun: u64) {
        match target {
            Target::File(name) => {
                let file = self.names[name];
                let File { kept, loose } = &mut self.files[file];
                for (_, stroke) in loose.extract_if(.., |(at, _)| *at < begun) {
                    stroke.apply(kept);
                }
            }
            Target::Above => self.loose_home = self.loose_home.filter(|at| *at >= begun),
            Target::Home => {
                for (_, naming) in self.loose_names.extract_if(.., |(at, _)| *at < begun) {
                    naming.apply(&mut self.kept_names);
                }
            }
        }
    }
}

impl File {
    fn after_a_cut(&self, fate: &mut Fate<'_>) -> Vec<u8> {
        let mut bytes = self.kept.clone();
        for (_, stroke) in &self.loose {
            match fate {
                Fate::Spared => stroke.apply(&mut bytes),
                Fate::Lost => {}
                Fate::Chance(dice) => match dice.below(3) {
                    0 => {}
                    1 => stroke.apply(&mut bytes),
                    _ => stroke.apply_in_part(&mut bytes, dice),
                },
            }
        }
        bytes
    }
}

impl Stroke {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Stroke::Write { at, bytes } => write(file, *at, bytes),
            Stroke::Cut { length } => file.resize(*length, 0),
        }
    }

    /// Applies it as far as chance lets it, which is a sector at a time.
    fn apply_in_part(&self, file: &mut Vec<u8>, dice: &mut Dice) {
        let Stroke::Write { at, bytes } = self else { return };
        let (mut at, mut rest) = (*at, bytes.as_slice());
        while !rest.is_empty() {
            let (sector, after) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
            if dice.below(2) == 0 {
                write(file, at, sector);
            }
            (at, rest) = (at + sector.len(), after);
        }
    }
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Naming::Add { name, file } => {
                names.insert(name.clone(), *file);
            }
            Naming::Rename { from, to } => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Naming::Remove { name } => {
                names.remove(name);
            }
        }
    }
}

/// Writes `bytes` at a place that may be past the end, as the kernel does.
fn write(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[at..end].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_once_both_it_and_its_folder_were_synced() {
        let mut disk = Platter::default();
        change(&mut disk, make("a"));
        change(&mut disk, put("a", 0, b"one"));
        check(&disk, &[]);
        sync(&mut disk, Target::File("a".to_owned()));
        check(&disk, &[]);
        sync(&mut disk, Target::Home);
        check(&disk, &[("a", b"one")]);
        change(&mut disk, put("a", 4, b"two"));
        check(&disk, &[("a", b"one")]);
        check_after(&disk, &mut Fate::Spared, &[("a", b"one\0two")]);
        sync(&mut disk, Target::File("a".to_owned()));
        check(&disk, &[("a", b"one\0two")]);
        change(&mut disk, Change::Cut { file: "a".to_owned(), length: 2 });
        sync(&mut disk, Target::File("a".to_owned()));
        check(&disk, &[("a", b"on")]);
    }

    #[test]
    fn a_name_lasts_until_its_end_is_synced() {
        let mut disk = Platter::default();
        change(&mut disk, make("a"));
        change(&mut disk, put("a", 0, b"one"));
        sync(&mut disk, Target::File("a".to_owned()));
        sync(&mut disk, Target::Home);
        change(&mut disk, Change::Rename { from: "a".to_owned(), to: "b".to_owned() });
        change(&mut disk, make("a"));
        change(&mut disk, Change::Remove { file: "a".to_owned() });
        check(&disk, &[("a", b"one")]);
        sync(&mut disk, Target::Home);
        check(&disk, &[("b", b"one")]);
    }

    #[test]
    fn nothing_is_left_in_a_home_whose_own_name_is_lost() {
        let mut disk = Platter::default();
        change(&mut disk, Change::MakeHome);
        change(&mut disk, make("a"));
        sync(&mut disk, Target::Home);
        check(&disk, &[]);
        sync(&mut disk, Target::Above);
        check(&disk, &[("a", b"")]);
    }

    #[test]
    fn a_sync_keeps_only_what_was_done_before_it_began() {
        let mut disk = Platter::default();
        change(&mut disk, make("a"));
        sync(&mut disk, Target::Home);
        let target = Target::File("a".to_owned());
        change(&mut disk, put("a", 0, b"in time"));
        disk.hear(&Moment::SyncBegun { thread: 1, target: target.clone() });
        change(&mut disk, put("a", 0, b"too late"));
        disk.hear(&Moment::Synced { thread: 1, target });
        check(&disk, &[("a", b"in time")]);
    }

    #[test]
    fn chance_keeps_what_was_synced_and_any_part_of_the_rest() {
        let mut disk = Platter::default();
        change(&mut disk, make("a"));
        change(&mut disk, put("a", 0, &[1; 2 * SECTOR]));
        sync(&mut disk, Target::File("a".to_owned()));
        sync(&mut disk, Target::Home);
        change(&mut disk, put("a", SECTOR, &[2; 2 * SECTOR]));
        let mut dice = Dice::new(1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let found = disk.after_a_cut(&mut Fate::Chance(&mut dice)).remove("a").unwrap();
            assert_eq!(found[..SECTOR], [1; SECTOR]);
            seen.insert(found[SECTOR..].chunks(SECTOR).map(|it| it[0]).collect::<Vec<u8>>());
        }
        assert_eq!(seen, [vec![1], vec![1, 2], vec![2], vec![2, 2]].into());
    }

    fn make(file: &str) -> Change {
        Change::Make { file: file.to_owned() }
    }

    fn put(file: &str, at: usize, bytes: &[u8]) -> Change {
        Change::Write { file: file.to_owned(), at, bytes: bytes.to_vec() }
    }

    fn change(disk: &mut Platter, change: Change) {
        disk.hear(&Moment::Changed(change));
    }

    fn sync(disk: &mut Platter, target: Target) {
        disk.hear(&Moment::SyncBegun { thread: 1, target: target.clone() });
        disk.hear(&Moment::Synced { thread: 1, target });
    }

    /// Checks what there is after a cut that takes all it can.
    #[track_caller]
    fn check(disk: &Platter, expected: &[(&str, &[u8])]) {
        check_after(disk, &mut Fate::Lost, expected);
    }

    #[track_caller]
    fn check_after(disk: &Platter, fate: &mut Fate<'_>, expected: &[(&str, &[u8])]) {
        let found = disk.after_a_cut(fate);
        let expected = expected.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()));
        assert_eq!(found, expected.collect());
    }
}

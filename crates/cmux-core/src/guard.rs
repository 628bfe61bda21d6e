//! How the guard keeps the daemon alive: when it starts it again, and when it had better not.

use std::time::Duration;

/// Ready for so long, the daemon is forgiven what was before.
pub const FORGIVEN_AFTER: Duration = Duration::from_mins(10);

/// The patience the guard has. All of it can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardSettings {
    /// So many exits within `window` are a crash loop.
    pub exits_max: u32,
    pub window: Duration,
    /// The longest wait before the first restart. It doubles with each further one, up to `delay_max`.
    pub delay_first: Duration,
    pub delay_max: Duration,
    /// Without a sign of life for so long, the daemon hangs.
    pub heartbeat: Duration,
}

impl Default for GuardSettings {
    fn default() -> GuardSettings {
        GuardSettings {
            exits_max: 5,
            window: Duration::from_mins(1),
            delay_first: Duration::from_secs(1),
            delay_max: Duration::from_mins(5),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// How the daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// As it was asked to.
    Wanted,
    /// Its configuration is wrong: only a person can mend that.
    Config,
    /// Its surroundings are at fault: port, disk, permissions, another daemon.
    Environment,
    /// Its own doing: a panic, a signal, a hang.
    Crash,
}

impl Exit {
    /// The exit code that tells of a wrong configuration, as in sysexits.h.
    pub const CONFIG: u8 = 78;

    /// The exit code that tells of surroundings at fault, as in sysexits.h.
    pub const ENVIRONMENT: u8 = 75;

    /// The exit code that tells of a fault of its own, as in sysexits.h. Any other means the same.
    pub const CRASH: u8 = 70;

    /// Returns how a process that exited with `code`, or by a signal if there is none, ended.
    pub fn of(code: Option<i32>) -> Exit {
        match code {
            Some(0) => Exit::Wanted,
            Some(code) if code == i32::from(Exit::CONFIG) => Exit::Config,
            Some(code) if code == i32::from(Exit::ENVIRONMENT) => Exit::Environment,
            Some(_) | None => Exit::Crash,
        }
    }
}

/// What the guard does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Ends too: the daemon was asked to stop, or starting it again would not help.
    End,
    Restart {
        after: Duration,
        mode: Mode,
    },
}

/// How the daemon is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Normal,
    /// The API answers, read-only, and nothing is typed to any agent.
    Safe,
}

/// What the guard remembers of the daemon's lives. Times are counted from the guard's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    settings: GuardSettings,
    mode: Mode,
    /// The crashes within the window, oldest first.
    crashes: Vec<Duration>,
    restarts: u32,
    ready_since: Option<Duration>,
    was_ready: bool,
}

impl Watch {
    pub fn new(settings: GuardSettings) -> Watch {
        Watch {
            settings,
            mode: Mode::Normal,
            crashes: Vec::new(),
            restarts: 0,
            ready_since: None,
            was_ready: false,
        }
    }

    /// Returns how the daemon is to be started now.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Notes that the daemon is ready at `now`.
    pub fn ready(&mut self, now: Duration) {
        self.was_ready = true;
        self.ready_since.get_or_insert(now);
    }

    /// Returns what to do after the daemon ended at `now`. `chance` is between 0 and 1.
    pub fn after(&mut self, exit: Exit, now: Duration, chance: f64) -> Verdict {
        let ready_for = self.ready_since.take().map_or(Duration::ZERO, |since| now - since);
        if ready_for >= FORGIVEN_AFTER {
            self.restarts = 0;
        }
        match exit {
            Exit::Wanted | Exit::Config => return Verdict::End,
            // A first start that cannot work is told to whoever started it.
            Exit::Environment if !self.was_ready => return Verdict::End,
            Exit::Environment => {}
            Exit::Crash => self.count(now),
        }
        Verdict::Restart { after: self.delay(chance), mode: self.mode }
    }

    fn count(&mut self, now: Duration) {
        let window = self.settings.window;
        self.crashes.retain(|&crash| now.saturating_sub(crash) < window);
        self.crashes.push(now);
        if self.crashes.len() >= self.settings.exits_max as usize {
            self.mode = Mode::Safe;
        }
    }

    /// Returns the wait before the next start: anything up to a limit that doubles, so that several
    /// daemons do not come back in step.
    fn delay(&mut self, chance: f64) -> Duration {
        let doubled = self.settings.delay_first.saturating_mul(2_u32.saturating_pow(self.restarts));
        self.restarts = self.restarts.saturating_add(1);
        doubled.min(self.settings.delay_max).mul_f64(chance.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_wait_doubles_up_to_its_limit() {
        let mut watch = Watch::new(GuardSettings { exits_max: 100, ..GuardSettings::default() });
        let waits: Vec<u64> = (0..11)
            .map(|n| match watch.after(Exit::Crash, SECOND * n * 100, 1.0) {
                Verdict::Restart { after, mode: _ } => after.as_secs(),
                Verdict::End => panic!("it gave up"),
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    #[test]
    fn chance_shortens_the_wait() {
        let mut watch = Watch::new(GuardSettings::default());
        let after = Duration::from_millis(500);
        let verdict = Verdict::Restart { after, mode: Mode::Normal };
        assert_eq!(watch.after(Exit::Crash, SECOND, 0.5), verdict);
    }

    #[test]
    fn ten_minutes_ready_are_a_new_beginning() {
        let mut watch = Watch::new(GuardSettings::default());
        watch.after(Exit::Crash, SECOND, 1.0);
        watch.after(Exit::Crash, SECOND * 100, 1.0);
        watch.ready(SECOND * 200);
        let verdict = Verdict::Restart { after: SECOND, mode: Mode::Normal };
        assert_eq!(watch.after(Exit::Crash, SECOND * 800, 1.0), verdict);
    }

    #[test]
    fn five_crashes_in_a_minute_end_in_safe_mode() {
        let mut watch = Watch::new(GuardSettings::default());
        for second in [0, 10, 20, 30] {
            watch.after(Exit::Crash, SECOND * second, 0.0);
            assert_eq!(watch.mode(), Mode::Normal);
        }
        watch.after(Exit::Crash, SECOND * 59, 0.0);
        assert_eq!(watch.mode(), Mode::Safe);
    }

    #[test]
    fn five_crashes_in_an_hour_do_not() {
        let mut watch = Watch::new(GuardSettings::default());
        for minute in 0..20 {
            watch.after(Exit::Crash, SECOND * minute * 61, 0.0);
        }
        assert_eq!(watch.mode(), Mode::Normal);
    }

    #[test]
    fn what_a_restart_cannot_mend_is_not_restarted() {
        for exit in [Exit::Wanted, Exit::Config, Exit::Environment] {
            let mut watch = Watch::new(GuardSettings::default());
            assert_eq!(watch.after(exit, SECOND, 1.0), Verdict::End, "{exit:?}");
        }
    }

    #[test]
    fn a_fault_of_the_surroundings_is_waited_out_and_never_counted() {
        let mut watch = Watch::new(GuardSettings::default());
        watch.ready(Duration::ZERO);
        for second in 0..20 {
            let verdict = watch.after(Exit::Environment, SECOND * second, 1.0);
            assert!(matches!(verdict, Verdict::Restart { mode: Mode::Normal, .. }));
        }
        assert_eq!(watch.mode(), Mode::Normal);
    }

    #[test]
    fn exits_are_told_apart_by_their_code() {
        for (code, exit) in [
            (Some(0), Exit::Wanted),
            (Some(78), Exit::Config),
            (Some(75), Exit::Environment),
            (Some(70), Exit::Crash),
            (Some(101), Exit::Crash),
            (None, Exit::Crash),
        ] {
            assert_eq!(Exit::of(code), exit);
        }
    }
}

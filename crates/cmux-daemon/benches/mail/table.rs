//! Figures, as they are told.

use std::time::Duration;

/// Tells the middle of `times`, what all but one in a hundred are below, and how many times a baseline's middle
/// that is. Returns the middle.
pub(crate) fn tell(
    what: &str,
    times: &mut [Duration],
    bare: Option<Duration>,
    goal: &str,
) -> Duration {
    let half = middle(times);
    let most = times[times.len() * 99 / 100];
    println!(
        "{what:<44}{:>9.1} ms   p99 {:>8.1} ms   {}",
        ms(half),
        ms(most),
        ratio(half, bare, goal)
    );
    half
}

/// Tells the middle of each round, and its last. Returns when the last was read.
pub(crate) fn tell_crowd(
    what: &str,
    rounds: Vec<Vec<Duration>>,
    bare: Option<Duration>,
    goal: &str,
) -> Duration {
    let (mut halves, mut lasts) = (Vec::new(), Vec::new());
    for mut times in rounds {
        halves.push(middle(&mut times));
        lasts.extend(times.last());
    }
    let (half, last) = (middle(&mut halves), middle(&mut lasts));
    println!(
        "{what:<44}{:>9.1} ms   last {:>7.1} ms   {}",
        ms(half),
        ms(last),
        ratio(last, bare, goal)
    );
    last
}

fn ratio(time: Duration, bare: Option<Duration>, goal: &str) -> String {
    let times = bare.map(|bare| format!("{:.2}×", time.as_secs_f64() / bare.as_secs_f64()));
    format!("{} {goal}", times.unwrap_or_default()).trim_end().to_owned()
}

pub(crate) fn middle(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

pub(crate) fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

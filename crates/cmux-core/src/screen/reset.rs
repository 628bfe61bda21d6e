//! When a limit is over, read from the line that tells of it: "resets 3pm", "try again in 2 h".

use std::time::Duration;

use crate::time::Timestamp;

/// How long a time of the day may have passed and still be the one that is meant: a screen goes on
/// saying "resets 3pm" after three.
const PASSED_MAX_MS: i64 = 6 * HOUR_MS;

/// The longest limit that is believed, in milliseconds.
const AHEAD_MAX_MS: i64 = 32 * DAY_MS;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Words after which a time follows.
const BEFORE_A_TIME: [&str; 8] = ["in", "after", "at", "on", "reset", "resets", "again", "until"];

/// Returns when the limit that `line` tells of is over, if it says so, where clocks are `east_min`
/// minutes ahead of UTC.
pub fn reset(line: &str, now: Timestamp, east_min: i32) -> Option<Timestamp> {
    let words = words(line);
    let is_utc = words.iter().any(|word| matches!(word.as_str(), "utc" | "gmt"));
    let east_ms = if is_utc { 0 } else { i64::from(east_min) * MINUTE_MS };
    let found = words.iter().enumerate().find_map(|(index, word)| {
        let rest = &words[index + 1..];
        let may_follow = BEFORE_A_TIME.contains(&word.as_str());
        may_follow.then(|| span(rest).map(|span| now + span).or(moment(rest, now, east_ms)))?
    })?;
    (found.0.saturating_sub(now.0) <= AHEAD_MAX_MS).then_some(found)
}

/// Returns the runs of letters and of digits in `line`, in lower case, and the colons.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in line.chars().flat_map(char::to_lowercase) {
        let goes_on = letter.is_ascii_digit() && before.is_ascii_digit()
            || letter.is_alphabetic() && before.is_alphabetic();
        match words.last_mut() {
            Some(word) if goes_on => word.push(letter),
            Some(_) | None
                if letter.is_ascii_digit() || letter.is_alphabetic() || letter == ':' =>
            {
                words.push(letter.to_string());
            }
            Some(_) | None => {}
        }
        before = letter;
    }
    words
}

/// Reads "2 hours 5 minutes" or "1h30m".
fn span(words: &[String]) -> Option<Duration> {
    let mut total_s: Option<u64> = None;
    let mut words = words.iter().map(String::as_str).filter(|&word| word != "and");
    while let (Some(count), Some(unit)) = (words.next(), words.next()) {
        let (Ok(count), Some(unit_s)) = (count.parse::<u64>(), unit_s(unit)) else { break };
        let part_s = count.checked_mul(unit_s)?;
        total_s = Some(total_s.unwrap_or(0).checked_add(part_s)?);
    }
    total_s.map(Duration::from_secs)
}

fn unit_s(word: &str) -> Option<u64> {
    match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600),
        "d" | "day" | "days" => Some(86_400),
        "w" | "week" | "weeks" => Some(7 * 86_400),
        _ => None,
    }
}

/// Reads "3pm", "15:00", "Oct 9, 5pm" or "Oct 9th, 2026 3:05 PM".
fn moment(words: &[String], now: Timestamp, east_ms: i64) -> Option<Timestamp> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = match words.as_slice() {
        ["at" | "on", rest @ ..] => rest,
        all => all,
    };
    let local_ms = now.0.saturating_add(east_ms);
    let today = local_ms.div_euclid(DAY_MS);
    let (day, rest) = match date(words) {
        Some((month, day, rest)) => {
            let (year, rest) = year(rest);
            let rest = if let ["at", rest @ ..] = rest { rest } else { rest };
            (Some(day_meant(year, month, day, today)), rest)
        }
        None => (None, words),
    };
    let time_ms = time_of_day(rest)?;
    let at_ms = match day {
        Some(day) => day * DAY_MS + time_ms,
        None if local_ms - (today * DAY_MS + time_ms) > PASSED_MAX_MS => {
            (today + 1) * DAY_MS + time_ms
        }
        None => nearest(today * DAY_MS + time_ms, local_ms),
    };
    Some(Timestamp(at_ms - east_ms))
}

/// Shortly after midnight, a time late in the evening is yesterday's.
fn nearest(at_ms: i64, local_ms: i64) -> i64 {
    let yesterday_ms = at_ms - DAY_MS;
    if local_ms - yesterday_ms <= PASSED_MAX_MS { yesterday_ms } else { at_ms }
}

/// Reads a month and a day, and returns what follows.
fn date<'a, 'b>(words: &'a [&'b str]) -> Option<(i64, i64, &'a [&'b str])> {
    let [month, day, rest @ ..] = words else { return None };
    let month = MONTHS.iter().position(|known| month.starts_with(known))?;
    let day = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let rest = if let ["st" | "nd" | "rd" | "th", rest @ ..] = rest { rest } else { rest };
    Some((month as i64 + 1, day, rest))
}

/// Reads a year if there is one, and returns what follows.
fn year<'a, 'b>(words: &'a [&'b str]) -> (Option<i64>, &'a [&'b str]) {
    let [word, rest @ ..] = words else { return (None, words) };
    match word.parse() {
        Ok(year) if word.len() == 4 => (Some(year), rest),
        Ok(_) | Err(_) => (None, words),
    }
}

/// Returns which day is meant. In December, a January without a year is the next one.
fn day_meant(year: Option<i64>, month: i64, day: i64, today: i64) -> i64 {
    let this_year = year_of(today);
    let found = days_to(year.unwrap_or(this_year), month, day);
    let is_long_past = year.is_none() && today - found > 183;
    if is_long_past { days_to(this_year + 1, month, day) } else { found }
}

/// Reads a time of the day, which must be clear: a number alone is none.
fn time_of_day(words: &[&str]) -> Option<i64> {
    let (hour, minute, half) = match words {
        [hour, ":", minute, half @ ("am" | "pm"), ..] => (hour, *minute, Some(*half)),
        [hour, ":", minute, ..] => (hour, *minute, None),
        [hour, half @ ("am" | "pm"), ..] => (hour, "0", Some(*half)),
        _ => return None,
    };
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("pm") => hour % 12 + 12,
        Some(_) => hour % 12,
        None => hour,
    };
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute);
    is_time.then_some(hour * HOUR_MS + minute * MINUTE_MS)
}

/// Returns how many days lie between 1970 and a date of the Gregorian calendar.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have their leap day at the end.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

fn year_of(day: i64) -> i64 {
    let guess = 1970 + day.div_euclid(366);
    (guess..).take_while(|&year| days_to(year, 1, 1) <= day).last().unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-16 13:20 UTC, a Monday.
    const NOW: Timestamp = Timestamp(1_794_835_200_000);

    #[test]
    fn a_time_of_the_day_is_the_next_one() {
        check("  ⎿  5-hour limit reached ∙ resets 3pm", 0, Some("1:40"));
        check("You've hit your limit · resets 3pm (Europe/Berlin)", 60, Some("0:40"));
        check("Your limit will reset at 3:30 PM.", 0, Some("2:10"));
        check("Access resets at 15:05", 0, Some("1:45"));
        check("resets 12am", 0, Some("10:40"));
        check("resets 12pm", -120, Some("0:40"));
        check("resets 6am", 0, Some("16:40"));
        check("resets 3pm (UTC)", 600, Some("1:40"));
    }

    #[test]
    fn a_time_that_has_just_passed_is_over_and_not_tomorrows() {
        check("resets 1pm", 0, Some("-0:20"));
        check("resets 8am", 0, Some("-5:20"));
        check("resets 11pm", 11 * 60, Some("-1:20"));
    }

    #[test]
    fn a_span_is_counted_from_now() {
        check("Try again in 2 h", 0, Some("2:00"));
        check("or try again in 3 hours 32 minutes.", 0, Some("3:32"));
        check("try again in 1 day and 2 hours", 0, Some("26:00"));
        check("resets in 1h30m", 0, Some("1:30"));
        check("limit reached · resets 45m", 0, Some("0:45"));
    }

    #[test]
    fn a_date_is_taken_with_its_time() {
        check("Weekly limit reached ∙ resets Nov 18, 5pm", 0, Some("51:40"));
        check("resets Nov 18 at 5pm (Europe/Berlin)", 60, Some("50:40"));
        check("Please try again at Nov 17th, 2026 12:55 AM.", 0, Some("11:35"));
    }

    #[test]
    fn in_december_january_is_the_next_one() {
        let (december, january) = (days_to(2026, 12, 30), days_to(2027, 1, 2));
        let now = Timestamp(december * DAY_MS);
        let expected = Timestamp(january * DAY_MS + 17 * HOUR_MS);
        assert_eq!(reset("resets Jan 2, 5pm", now, 0), Some(expected));
    }

    #[test]
    fn what_says_no_time_says_none() {
        for line in [
            "limit reached",
            "try again later",
            "in 2026",
            "resets 25:00",
            "resets 13pm",
            "resets 3",
            "",
            "try again in 99999999999999999999 hours",
            "resets Feb 3, 2090 5pm",
            "try again in 400 days",
        ] {
            check(line, 0, None);
        }
    }

    #[test]
    fn days_are_counted_as_calendars_do() {
        for (date, expected) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2026, 11, 16), 20_773),
        ] {
            let (year, month, day) = date;
            assert_eq!(days_to(year, month, day), expected, "{date:?}");
            assert_eq!(year_of(expected), year, "{date:?}");
        }
    }

    /// Checks how long from now on `line` says that a limit lasts, in hours and minutes.
    #[track_caller]
    fn check(line: &str, east_min: i32, expected: Option<&str>) {
        let found = reset(line, NOW, east_min).map(|at| {
            let minutes = (at.0 - NOW.0) / MINUTE_MS;
            let sign = if minutes < 0 { "-" } else { "" };
            format!("{sign}{}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
        });
        assert_eq!(found.as_deref(), expected, "{line}");
    }
}

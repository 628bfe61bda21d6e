//! A search in the log. It looks at so many events and no more, and says how far it came.

use cmux_core::id::EventId;
use rusqlite::params;

use super::{Filter, PAGE_MAX, Row, conditions, read_from};
use crate::{StoreError, View};

/// How many events are looked at in one search, and how long they may be together, in bytes.
const LOOKED_MAX: u32 = 20_000;
const BYTES_MAX: u64 = 32 << 20;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    pub filter: Filter,
    pub subject: Option<String>,
    /// What is part of an event's kind, actor or data, or of its agent's name. ASCII letters fit whether they
    /// are small or capital.
    pub text: Option<String>,
}

/// Where a search begins, and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the newest event that is before this one, back.
    Before(EventId),
    /// From the oldest event that is after this one, on.
    After(EventId),
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Oldest first.
    pub rows: Vec<Row>,
    /// The last event that was looked at, unless there is nothing beyond it.
    pub looked_to: Option<EventId>,
}

/// Returns the first events that way that fit, `limit` at most.
pub fn search(
    view: View<'_>,
    way: Way,
    limit: u32,
    search: &Search,
) -> Result<Searched, StoreError> {
    let (from, beyond, order) = match way {
        Way::Before(EventId(from)) => (from, "<", "DESC"),
        Way::After(EventId(from)) => (from, ">", "ASC"),
    };
    let Search { filter, subject, text } = search;
    let mut query = view.db.prepare_cached(&format!(
        "SELECT 1{}{}{}, octet_length(data), * FROM events WHERE id {beyond} ?1{} ORDER BY id {order}
         LIMIT ?5",
        conditions(filter),
        subject.as_ref().map_or(" AND ?7 IS NULL", |_| " AND subject = ?7"),
        text.as_ref().map_or(" AND ?8 IS NULL AND ?9 IS NULL", |_| HAS_TEXT),
        key(search),
    ))?;
    let plain = text.as_deref().map(part);
    // In data, it is written as JSON writes it.
    let written = text.as_deref().map(|text| part(&as_json(text)));
    let Filter { project, agent, kind, mail_of } = filter;
    let mut found = query
        .query(params![from, project, agent, kind, LOOKED_MAX, mail_of, subject, plain, written])?;
    let limit = limit.min(PAGE_MAX) as usize;
    let (mut rows, mut looked, mut bytes, mut last) = (Vec::new(), 0, 0, None);
    while let Some(row) = found.next()? {
        looked += 1;
        bytes += row.get::<_, u64>(1)?;
        last = Some(EventId(row.get(2)?));
        if row.get::<_, Option<bool>>(0)?.unwrap_or(false) {
            rows.push(read_from(row, 2)?);
        }
        if rows.len() >= limit || bytes >= BYTES_MAX {
            looked = LOOKED_MAX;
            break;
        }
    }
    if let Way::Before(_) = way {
        rows.reverse();
    }
    Ok(Searched { rows, looked_to: last.filter(|_| looked >= LOOKED_MAX) })
}

/// The condition that a text is part of an event.
const HAS_TEXT: &str = r" AND (kind LIKE ?8 ESCAPE '\' OR actor LIKE ?8 ESCAPE '\'
    OR data LIKE ?8 ESCAPE '\' OR data LIKE ?9 ESCAPE '\'
    OR agent IN (SELECT agents.id FROM agents WHERE name LIKE ?8 ESCAPE '\'))";

/// Returns the condition by which an index names the events that are looked at: the one that fits the fewest.
fn key(search: &Search) -> &'static str {
    let Filter { project, agent, kind, .. } = &search.filter;
    if search.subject.is_some() {
        " AND subject = ?7"
    } else if agent.is_some() {
        " AND agent = ?3"
    } else if kind.as_ref().is_some_and(|kind| !kind.ends_with('.')) {
        " AND kind = ?4"
    } else if project.is_some() {
        " AND project = ?2"
    } else {
        ""
    }
}

/// Returns the pattern that fits whatever `text` is part of.
fn part(text: &str) -> String {
    let mut pattern = "%".to_owned();
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}

/// Returns `text` as it stands between quotes in JSON.
fn as_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_others_in_a_pattern_stands_for_itself() {
        for (text, expected) in [
            ("a", "%a%"),
            ("100%", r"%100\%%"),
            ("a_b", r"%a\_b%"),
            (r"a\b", r"%a\\b%"),
            ("", "%%"),
        ] {
            assert_eq!(part(text), expected, "{text}");
        }
        for (text, expected) in [("a", "a"), (r#"say "x""#, r#"say \"x\""#), ("a\tb", r"a\tb")] {
            assert_eq!(as_json(text), expected, "{text}");
        }
    }
}

//! What a scripted model answers: the prompt's own script, one that a test gave it, or an echo.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::asked::{Asked, Side};
use super::directive::{Directive, directive};
use super::script::{Block, Script, Turn};

/// How much of a prompt is said again, in letters.
const ECHO_MAX: usize = 200;

/// How deep a made-up answer goes, as a schema may hold itself.
const DEPTH_MAX: usize = 16;

/// The scripts that a test gave.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    named: BTreeMap<String, Script>,
    /// What a prompt must contain, and what is done then. The newest counts.
    rules: Vec<(String, Script)>,
    summary: Option<String>,
}

impl Book {
    /// Has prompts say `@script name` for this.
    pub(super) fn name(&mut self, name: &str, script: Script) {
        self.named.insert(name.to_owned(), script);
    }

    /// Has this done about every prompt that contains `part`, and has no script of its own.
    pub(super) fn when(&mut self, part: &str, script: Script) {
        self.rules.push((part.to_owned(), script));
    }

    /// Has this said when a conversation is to be made shorter. Directives in it are obeyed afterwards.
    pub(super) fn summarize(&mut self, text: &str) {
        self.summary = Some(text.to_owned());
    }

    /// Returns what is answered.
    pub(super) fn turn(&self, asked: &Asked) -> Turn {
        match asked.side() {
            Some(Side::Summary) => return Turn::say(&self.summary()),
            Some(Side::Title) if asked.schema.is_none() => return Turn::say("A scripted title"),
            Some(Side::Title | Side::Shaped) => {
                let schema = asked.schema.as_ref().unwrap_or(&Value::Null);
                return Turn::say(&shaped(schema, schema, 0).to_string());
            }
            None => {}
        }
        let prompt = asked.prompt().map(|(_, text)| text).unwrap_or_default();
        let script = match directive(prompt) {
            Some(Directive::Turns(script)) => script,
            Some(Directive::Named(name)) => match self.named.get(&name) {
                Some(script) => script.clone(),
                None => return wrong(&format!("no script is called {name}")),
            },
            Some(Directive::Wrong(why)) => return wrong(&why),
            None => match self.rules.iter().rev().find(|(part, _)| prompt.contains(part)) {
                Some((_, script)) => script.clone(),
                None => {
                    let heard: String = prompt.chars().take(ECHO_MAX).collect();
                    Script::say(&format!("echo: {heard}"))
                }
            },
        };
        script.turns.get(asked.turn()).cloned().unwrap_or_else(|| Turn::say("done"))
    }

    fn summary(&self) -> String {
        let summary = self.summary.as_deref().unwrap_or("A scripted summary.");
        format!("<analysis>All was read.</analysis>\n<summary>{summary}</summary>")
    }
}

/// Whoever wrote a script that makes no sense is to see it in the conversation.
fn wrong(why: &str) -> Turn {
    let text = format!("The script makes no sense: {why}");
    Turn { blocks: vec![Block::Say(text)], ..Turn::default() }
}

/// Returns a value such as `schema` wants it.
fn shaped(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    if let Some(path) = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#')) {
        return root.pointer(path).map_or(Value::Null, |it| shaped(it, root, depth + 1));
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[choice].get(0) {
            return shaped(first, root, depth + 1);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("object");
    match kind.to_ascii_lowercase().as_str() {
        "string" => json!("scripted"),
        "integer" | "number" => json!(schema["minimum"].as_i64().unwrap_or(1)),
        "boolean" => json!(false),
        "array" => json!([]),
        "null" => Value::Null,
        _ => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let field = |(name, it): (&String, &Value)| (name.clone(), shaped(it, root, depth + 1));
            Value::Object(fields.map(field).collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::asked::{Said, asked};

    #[test]
    fn the_prompts_own_script_comes_before_a_tests_and_that_before_an_echo() {
        let mut book = Book::default();
        book.name("long", Script::say("by name").then(Turn::say("again")));
        book.when("hello", Script::say("the older"));
        book.when("hello", Script::say("by rule"));
        check(&book, &["hello\n@@ say its own"], "its own");
        check(&book, &["hello\n@script long"], "by name");
        check(&book, &["hello\n@script long", "", "ok"], "again");
        check(&book, &["hello\n@script long", "", "ok", "", "ok"], "done");
        check(&book, &["well, hello there"], "by rule");
        check(&book, &["good evening"], "echo: good evening");
        check(&book, &["@script none"], "The script makes no sense: no script is called none");
        check(
            &book,
            &["@@ jump"],
            "The script makes no sense: @@ jump: `jump` is not one of say, think, tool, fail",
        );
    }

    #[test]
    fn a_summary_is_what_a_test_wants() {
        let mut book = Book::default();
        let ask = "Your task is to create a detailed summary";
        book.summarize("go on:\n@@ say further");
        check(
            &book,
            &[ask],
            "<analysis>All was read.</analysis>\n<summary>go on:\n@@ say further</summary>",
        );
    }

    #[test]
    fn an_answer_has_the_shape_that_is_wanted() {
        let schema = json!({
            "type": "object",
            "$defs": { "level": { "enum": ["low", "high"] } },
            "properties": {
                "title": { "type": "STRING" },
                "count": { "type": "integer", "minimum": 3 },
                "level": { "$ref": "#/$defs/level" },
                "maybe": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
                "list": { "type": "array" },
                "again": { "$ref": "#" },
            },
        });
        let mut value = shaped(&schema, &schema, 0);
        value["again"].take();
        let expected = json!({
            "title": "scripted", "count": 3, "level": "low", "maybe": null, "list": [], "again": null,
        });
        assert_eq!(value, expected);
    }

    /// Checks what is answered after prompts and answers that took turns; an empty prompt is a result.
    #[track_caller]
    fn check(book: &Book, texts: &[&str], expected: &str) {
        let said = texts.iter().enumerate().map(|(index, text)| match index % 2 {
            _ if text.is_empty() => Said::Result { id: String::new(), text: String::new() },
            0 if index == 0 => Said::User((*text).into()),
            _ => Said::Model((*text).into()),
        });
        assert_eq!(book.turn(&asked(said.collect())), Turn::say(expected));
    }
}

//! Scripts within prompts: whoever writes to an agent says what its model is to do.
//!
//! ```text
//! @@ say Some text                  a turn: a text, or a JSON string of one with breaks of lines
//! @@ think What it thinks           a turn that begins with a thought
//! @@ tool Bash {"command":"ls"}     a turn: a tool is called
//! @@ fail 429                       a turn that is refused with this status
//! @+ tool Edit {…}                  one more block of the same turn
//! @= delay=2 chunk=0.2 stream=20    its pace: seconds before it, before each piece, and in all
//! @= hold=NAME                      nothing comes until the test lets go of NAME
//! @= in=1000 out=50 cr=900 cw=0     its tokens: input, output, cache read and written
//! @= out=50 th=20                   how many of the output were thought
//! @= retry=5 times=2 msg=no_more    of a refusal: its Retry-After, how often it comes, what it says
//! @= quota=RequestsPerDay           of a refusal by Google: which quota is used up
//! @= drop=1 stop=max_tokens         the connection breaks in the middle; why the turn ends
//! @script NAME                      what the test calls NAME
//! ```
//!
//! A line counts wherever it is in a prompt, as mail has a header before it. Nothing is kept between
//! requests, so that any number of agents can share one model.

use std::time::Duration;

use serde_json::Value;

use super::script::{Block, Fault, Script, Turn};

/// What a prompt says that a model is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// These turns.
    Turns(Script),
    /// What the test calls so.
    Named(String),
    /// There is a directive, and it makes no sense.
    Wrong(String),
}

/// Returns what a prompt says that a model is to do, if it says so.
pub fn directive(prompt: &str) -> Option<Directive> {
    let mut script = Script::default();
    for line in prompt.lines().map(str::trim) {
        let read = if let Some(name) = line.strip_prefix("@script ") {
            return Some(Directive::Named(name.trim().to_owned()));
        } else if let Some(block) = line.strip_prefix("@@ ") {
            script.turns.push(Turn::default());
            add(&mut script, block)
        } else if let Some(block) = line.strip_prefix("@+ ") {
            add(&mut script, block)
        } else if let Some(options) = line.strip_prefix("@= ") {
            options.split_whitespace().try_for_each(|option| set(&mut script, option))
        } else {
            continue;
        };
        if let Err(why) = read {
            return Some(Directive::Wrong(format!("{line}: {why}")));
        }
    }
    (!script.turns.is_empty()).then_some(Directive::Turns(script))
}

fn last(script: &mut Script) -> Result<&mut Turn, String> {
    script.turns.last_mut().ok_or_else(|| "there is no turn yet; begin it with @@".to_owned())
}

fn add(script: &mut Script, block: &str) -> Result<(), String> {
    let turn = last(script)?;
    let (verb, rest) = block.trim().split_once(' ').unwrap_or((block.trim(), ""));
    let rest = rest.trim();
    match verb {
        "say" => turn.blocks.push(Block::Say(unquoted(rest))),
        "think" => turn.blocks.push(Block::Think(unquoted(rest))),
        "tool" => {
            let (tool, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
            let input: Value = serde_json::from_str(input).map_err(|error| error.to_string())?;
            turn.blocks.push(Block::Call { tool: tool.to_owned(), input });
        }
        "fail" => {
            let status = rest.parse().map_err(|_| "fail takes a status such as 429".to_owned())?;
            turn.fault = Turn::refused(status).fault;
        }
        _ => return Err(format!("`{verb}` is not one of say, think, tool, fail")),
    }
    Ok(())
}

/// Returns a text as it is, or as a JSON string says it.
fn unquoted(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
}

fn set(script: &mut Script, option: &str) -> Result<(), String> {
    let turn = last(script)?;
    let (name, value) = option.split_once('=').ok_or("an option is name=value")?;
    match name {
        "delay" => turn.pace.delay = seconds(value)?,
        "chunk" => turn.pace.chunk = seconds(value)?,
        "stream" => turn.pace.stream = seconds(value)?,
        "hold" => turn.pace.hold = Some(value.to_owned()),
        "in" => turn.usage.input = number(value)?,
        "out" => turn.usage.output = number(value)?,
        "th" => turn.usage.thought = number(value)?,
        "cr" => turn.usage.cache_read = number(value)?,
        "cw" => turn.usage.cache_write = number(value)?,
        "stop" => turn.stop = Some(value.to_owned()),
        "times" => turn.times = Some(number(value)?),
        "drop" => turn.fault = (value != "0").then_some(Fault::Dropped),
        "retry" | "msg" | "quota" => return refine(turn, name, value),
        _ => return Err(format!("`{name}` is no option")),
    }
    Ok(())
}

fn refine(turn: &mut Turn, name: &str, value: &str) -> Result<(), String> {
    let Some(Fault::Refused { retry_after_s, message, quota, .. }) = &mut turn.fault else {
        return Err(format!("`{name}` is for a turn that fails"));
    };
    match name {
        "retry" => *retry_after_s = Some(number(value)?),
        "quota" => *quota = Some(value.to_owned()),
        _ => *message = value.replace('_', " "),
    }
    Ok(())
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{value}` is no number that fits"))
}

fn seconds(value: &str) -> Result<Duration, String> {
    let seconds: f64 = number(value)?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::script::{Pace, Usage};

    #[test]
    fn a_prompt_says_what_its_model_does_wherever_the_lines_are() {
        let prompt = "[cmux dlv_1 from user · task · msg_1]\nPlease do this.\n\
                      @@ think Hm.\n@+ say I \"run\" it.\n  @+ tool Bash {\"command\": \"ls -l\"}\n\
                      and then\n@@ say \"two\\nlines\"\n@= in=7 out=8 th=3 cr=9 cw=10 delay=0.5 hold=a\n";
        let expected = Script::default()
            .then(
                Turn { blocks: vec![Block::Think("Hm.".into())], ..Turn::default() }
                    .and(Block::Say("I \"run\" it.".into()))
                    .and(Block::Call { tool: "Bash".into(), input: json!({ "command": "ls -l" }) }),
            )
            .then(Turn {
                usage: Usage { input: 7, output: 8, thought: 3, cache_read: 9, cache_write: 10 },
                pace: Pace {
                    hold: Some("a".into()),
                    delay: Duration::from_millis(500),
                    ..Pace::default()
                },
                ..Turn::say("two\nlines")
            });
        assert_eq!(directive(prompt), Some(Directive::Turns(expected)));
    }

    #[test]
    fn what_goes_wrong_can_be_said() {
        let refused = Fault::Refused {
            status: 429,
            retry_after_s: Some(3),
            message: "no more for now".to_owned(),
            quota: Some("PerDay".to_owned()),
        };
        let turn = Turn { fault: Some(refused), times: Some(2), ..Turn::default() };
        check("@@ fail 429\n@= retry=3 times=2 msg=no_more_for_now quota=PerDay", turn);
        check("@@ say x\n@= drop=1", Turn { fault: Some(Fault::Dropped), ..Turn::say("x") });
        check(
            "@@ say x\n@= stop=max_tokens",
            Turn { stop: Some("max_tokens".into()), ..Turn::say("x") },
        );
    }

    #[test]
    fn a_prompt_may_name_a_script_or_say_nothing() {
        assert_eq!(directive("Hello\n@script long\n"), Some(Directive::Named("long".into())));
        for prompt in ["", "mail me @@ home", "@@nothing", "see @= x"] {
            assert_eq!(directive(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (prompt, why) in [
            ("@@ sing la", "`sing` is not one of"),
            ("@+ say x", "no turn yet"),
            ("@= in=1", "no turn yet"),
            ("@@ say x\n@= in=many", "`many` is no number"),
            ("@@ say x\n@= retry=1", "for a turn that fails"),
            ("@@ say x\n@= quota=x", "for a turn that fails"),
            ("@@ tool Bash {", "EOF"),
        ] {
            let Some(Directive::Wrong(told)) = directive(prompt) else { panic!("{prompt}") };
            assert!(told.contains(why), "{told}");
        }
    }

    #[track_caller]
    fn check(prompt: &str, turn: Turn) {
        assert_eq!(directive(prompt), Some(Directive::Turns(Script::default().then(turn))));
    }
}

//! The shapes as TypeScript, for the dashboard.

use ts_rs::{Config, TS};

use crate::shapes::shapes;
use crate::time::Time;

const HEAD: &str = "\
// Written by `cargo xtask types` from cmux-wire. Do not edit.
//
// A number is exact: ids, sizes and counts stay below 2^53.
";

/// Returns the declarations of every shape, as one module.
pub fn module() -> String {
    let config = Config::new().with_large_int("number");
    let mut module = HEAD.to_owned() + &declare::<Time>(&config);
    macro_rules! each { ($($shape:ty),+) => { $( module += &declare::<$shape>(&config); )+ } }
    shapes!(each, each);
    module
}

fn declare<T: TS>(config: &Config) -> String {
    let docs = T::docs().unwrap_or_default();
    format!("\n{}\n", lay_out(&format!("{docs}export {}", T::decl(config))))
}

/// Returns `declaration` with a field a line, as people write it.
fn lay_out(declaration: &str) -> String {
    let (mut text, mut rest) = (String::new(), declaration);
    // How deep it is in lists and the like within an object, and around each of the objects that it is in.
    let (mut lists, mut around) = (0_usize, Vec::new());
    while let Some(letter) = rest.chars().next() {
        if let Some((comment, after)) =
            rest.strip_prefix("/**").and_then(|rest| rest.split_once("*/"))
        {
            let said: Vec<&str> = comment.lines().map(|it| it.trim_matches([' ', '*'])).collect();
            text += &format!("/** {} */", said.join(" ").trim());
            break_line(&mut text, around.len());
            rest = after;
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match letter {
            '{' => {
                around.push(lists);
                lists = 0;
                text.push(letter);
                break_line(&mut text, around.len());
            }
            '}' => {
                lists = around.pop().unwrap_or(0);
                text.truncate(text.trim_end().len());
                if !text.ends_with([';', '{']) {
                    text.push(';');
                }
                break_line(&mut text, around.len());
                text.push(letter);
            }
            ',' if !around.is_empty() && lists == 0 => {
                text.push(';');
                break_line(&mut text, around.len());
            }
            _ if letter.is_whitespace() && text.ends_with(char::is_whitespace) => {}
            _ => {
                lists += usize::from("<[(".contains(letter));
                lists = lists.saturating_sub(usize::from(">])".contains(letter)));
                text.push(if letter.is_whitespace() { ' ' } else { letter });
            }
        }
    }
    text
}

/// Begins a line at the depth of so many objects, unless it has only begun.
fn break_line(text: &mut String, objects: usize) {
    text.truncate(text.trim_end().len());
    *text += "\n";
    *text += &"  ".repeat(objects);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_field_a_line() {
        check("type A = string;", "type A = string;");
        check("type A = { a: B, c?: D | null, };", "type A = {\n  a: B;\n  c?: D | null;\n};");
        check("type A = { a: [x, y], };", "type A = {\n  a: [x, y];\n};");
        check(
            "/**\n * Of {it},\n * all.\n */\ntype A = { \n/**\n * One.\n */\na: B, };",
            "/** Of {it}, all. */\ntype A = {\n  /** One. */\n  a: B;\n};",
        );
        check(
            "type A = { a: B, } & ({ c: D, e: [x, y], } | { f: G, });",
            "type A = {\n  a: B;\n} & ({\n  c: D;\n  e: [x, y];\n} | {\n  f: G;\n});",
        );
        check(
            r#"type A = { "k": "a" } | { b: C, };"#,
            "type A = {\n  \"k\": \"a\";\n} | {\n  b: C;\n};",
        );
    }

    #[test]
    fn the_types_are_what_is_on_the_wire() {
        let module = module();
        for line in [
            "export type Time = string;",
            "  id: number;",
            "  data: unknown;",
            "  expires_at: Time | null;",
            "  expires_in_s?: number | null;",
            "  why?: string | null;",
            "export type TokenScope = \"read\" | \"send\" | \"operate\";",
        ] {
            assert!(module.lines().any(|it| it == line), "{line} is not in {module}");
        }
        assert!(!module.contains("bigint"), "{module}");
    }

    #[track_caller]
    fn check(declaration: &str, expected: &str) {
        assert_eq!(lay_out(declaration), expected);
    }
}

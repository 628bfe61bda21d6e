//! It speaks to its model, and to nobody else.

use super::CLAUDE;
use crate::story::alone;

#[test]
fn it_speaks_to_its_model_alone() {
    let runs =
        |command: &str| format!("@@ tool Bash {}", serde_json::json!({ "command": command }));
    alone::knows_nobody("claude::alone::it_speaks_to_its_model_alone", &CLAUDE, runs, &[]);
}

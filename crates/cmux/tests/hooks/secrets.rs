//! Secrets that an agent's tools come across stay where they are.

use std::fs;

use serde_json::json;

use crate::yard::{TOKEN, Yard};

/// What must not be found anywhere, and where it is in what is told.
const SECRETS: [&str; 7] = [
    "hunter2-the-password",
    "ghp_aaaabbbbccccddddeeeeffff",
    "AKIAQQQQWWWWEEEERRRR",
    "sk-zzzzyyyyxxxxwwwwvvvv",
    "t0k3n-of-a-header",
    "c2VjcmV0LW9mLWEta2V5",
    "s3cr3t-in-a-shell",
];

#[test]
fn no_secret_is_in_the_store_the_log_or_the_spool() {
    let mut yard = Yard::new();
    let [password, github, amazon, provider, bearer, pem, shell] = SECRETS;
    let command = format!(
        "export API_TOKEN={shell}; curl -H 'Authorization: Bearer {bearer}' -u {github} {amazon}\n\
         echo '{{\"password\": \"{password}\"}}' {provider}\n\
         -----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n"
    );
    let payload = json!({
        "session_id": "s", "tool_name": "Bash", "password": password,
        "tool_input": { "command": command }, "tool_use_id": "t",
    });
    yard.tell("PreToolUse", &payload);
    yard.heard(1);
    let mut files = yard.files();
    let daemon = yard.daemon.take().unwrap();
    files.extend(daemon.said().into_bytes());
    daemon.kill();
    yard.tell("PostToolUse", &payload);
    let entry = yard.home.root().join(format!("spool/{}.json", yard.spooled()[0]));
    files.extend(fs::read(entry).unwrap());
    yard.daemon = Some(yard.home.daemon());
    let told = yard.heard(2);
    assert_eq!((&told[1]["tool"], &told[1]["call"]), (&json!("Bash"), &json!("t")));
    files.extend(yard.files());
    let all = String::from_utf8_lossy(&files);
    assert!(all.contains("[redacted]"), "nothing was kept at all");
    for secret in SECRETS.iter().chain([&TOKEN]) {
        assert!(!all.contains(secret), "{secret} was kept");
    }
}

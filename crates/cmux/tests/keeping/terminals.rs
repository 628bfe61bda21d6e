//! Agents' terminals, and why they are taken to be as they are.

use cmux_testkit::wait::eventually;
use cmux_wire::why::Saying;

use crate::world::World;

#[test]
fn what_is_on_the_screen_is_shown_and_followed() {
    let world = World::new();
    world.spawn("bash", "shell", &[]);
    let agent = world.in_phase("bash", cmux_wire::agent::Phase::Idle);
    let project = world.project.clone();
    let shown = world
        .home
        .ask(|client| async move { client.terminal("bash", Some(&project), None).await })
        .unwrap();
    assert!(shown.content.contains('❯'), "{shown:?}");
    assert_eq!(shown.size, [200, 50]);
    let project = world.project.clone();
    let (pane, seen) = (agent.pane.unwrap(), world.home.root());
    let socket = format!("{}/tmux/{}", seen.display(), world.project);
    let followed = world.home.ask(|client| async move {
        let mut stream = client.follow_terminal("bash", Some(&project)).await?;
        let first = stream.next().await?.unwrap_or_default();
        assert!(String::from_utf8_lossy(&first).contains('❯'), "{first:?}");
        let typed = std::process::Command::new("tmux")
            .args(["-S", &socket, "send-keys", "-t", &pane, "echo un''mistakable", "Enter"])
            .status()
            .unwrap();
        assert!(typed.success());
        let mut all = Vec::new();
        while !String::from_utf8_lossy(&all).contains("unmistakable") {
            all.extend(stream.next().await?.expect("it goes on"));
        }
        stream.close().await;
        Ok(all)
    });
    assert!(!followed.unwrap().is_empty());
    eventually("nobody watches any more", || {
        let sessions = world.at_tmux(&["list-sessions", "-F", "#{session_name}"]);
        (sessions.lines().count() == 1).then_some(())
    });
}

#[test]
fn it_is_told_who_said_what_and_by_which_rule() {
    let world = World::new();
    world.idle("worker");
    // Its status may say so before its screen was looked at.
    let why = eventually("its screen says something", || {
        let project = world.project.clone();
        let why =
            world.home.ask(|client| async move { client.why("worker", Some(&project)).await });
        let has_rule = |it: &Saying| it.witness == "screen" && it.rule.is_some();
        why.ok().filter(|why| why.sayings.iter().any(has_rule))
    });
    let decided = why.decided.clone().expect("a witness decided");
    assert_eq!(decided.says, "idle");
    assert!(why.sayings.iter().any(|it| it.witness == "process"), "{why:?}");
}

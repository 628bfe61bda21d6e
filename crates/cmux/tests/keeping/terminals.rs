//! Agents' terminals, and why they are taken to be as they are.

use std::time::Duration;

use cmux_testkit::wait::{PATIENCE, eventually};
use cmux_wire::agent::{Agent, Phase};
use cmux_wire::client::{Client, ClientError};
use cmux_wire::terminal::{TerminalSaid, TerminalStream};
use cmux_wire::why::Saying;

use crate::world::World;

/// What a whole screen begins with.
const WHOLE: &[u8] = b"\x1b[0m\x1b[H\x1b[2J\x1b[3J";

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
fn a_size_goes_back_when_whoever_wanted_it_is_cut_off() {
    let world = World::new();
    let agent = world.spawn("bash", "shell", &[]);
    let agent = world.wait(&agent.name, "at its prompt", |it| it.phase == Phase::Idle);
    let project = world.project.clone();
    let asked = world.home.ask(|client| async move {
        let mut watcher = begin(&client, &project).await?;
        let mut typist = begin(&client, &project).await?;
        resize(&mut typist, [91, 17]).await?;
        sized(&client, &project, [91, 17]).await?;
        // Whoever else watches is shown how it is now.
        whole(&mut watcher).await?;
        // No word of leave is said, as when a machine or its network is gone.
        drop(typist);
        sized(&client, &project, [200, 50]).await?;
        whole(&mut watcher).await?;
        watcher.close().await;
        Ok(())
    });
    asked.unwrap();
    check_size(&world, &agent, "200x50");
}

#[test]
fn a_size_goes_back_when_whoever_wanted_it_is_not_heard_of_any_more() {
    let world = World::new();
    world.spawn("bash", "shell", &[]);
    world.in_phase("bash", Phase::Idle);
    let project = world.project.clone();
    let asked = world.home.ask(|client| async move {
        let mut typist = begin(&client, &project).await?;
        resize(&mut typist, [91, 17]).await?;
        sized(&client, &project, [91, 17]).await?;
        // Who does not listen answers nothing, as one whose network is gone: the connection stays.
        sized(&client, &project, [200, 50]).await?;
        typist.close().await;
        Ok(())
    });
    asked.unwrap();
}

#[test]
fn a_size_goes_back_when_it_is_given_back_and_not_to_what_another_made_it() {
    let world = World::new();
    world.spawn("bash", "shell", &[]);
    let agent = world.in_phase("bash", Phase::Idle);
    let project = world.project.clone();
    let asked = world.home.ask(|client| async move {
        let mut first = begin(&client, &project).await?;
        let mut second = begin(&client, &project).await?;
        resize(&mut first, [91, 17]).await?;
        sized(&client, &project, [91, 17]).await?;
        resize(&mut second, [120, 40]).await?;
        sized(&client, &project, [120, 40]).await?;
        first.close().await;
        let restore = TerminalSaid { restore: Some(true), ..TerminalSaid::default() };
        second.say(&restore).await?;
        sized(&client, &project, [200, 50]).await?;
        // It still watches, and may have another.
        whole(&mut second).await?;
        resize(&mut second, [80, 24]).await?;
        sized(&client, &project, [80, 24]).await?;
        second.close().await;
        sized(&client, &project, [200, 50]).await
    });
    asked.unwrap();
    check_size(&world, &agent, "200x50");
}

#[test]
fn a_size_goes_back_when_the_daemon_was_killed() {
    let mut world = World::new();
    world.spawn("bash", "shell", &[]);
    let agent = world.in_phase("bash", Phase::Idle);
    let project = world.project.clone();
    let asked = world.home.ask(|client| async move {
        let mut typist = begin(&client, &project).await?;
        resize(&mut typist, [91, 17]).await?;
        sized(&client, &project, [91, 17]).await?;
        Ok(typist)
    });
    let typist = asked.unwrap();
    world.daemon.take().unwrap().kill();
    check_size(&world, &agent, "91x17");
    drop(typist);
    world.reborn();
    eventually("it has its size again", || (size(&world, &agent) == "200x50").then_some(()));
    eventually("nothing is left of whoever watched", || {
        let sessions = world.at_tmux(&["list-sessions", "-F", "#{session_name}"]);
        (sessions.lines().count() == 1).then_some(())
    });
}

/// Begins to follow the terminal.
async fn begin(client: &Client, project: &str) -> Result<TerminalStream, ClientError> {
    let mut stream = client.follow_terminal("bash", Some(project)).await?;
    whole(&mut stream).await?;
    Ok(stream)
}

async fn resize(stream: &mut TerminalStream, size: [u32; 2]) -> Result<(), ClientError> {
    stream.say(&TerminalSaid { resize: Some(size), ..TerminalSaid::default() }).await
}

/// Waits until a whole screen is told.
async fn whole(stream: &mut TerminalStream) -> Result<(), ClientError> {
    let told = async {
        while !stream.next().await?.expect("it goes on").starts_with(WHOLE) {}
        Ok(())
    };
    tokio::time::timeout(PATIENCE, told).await.expect("the whole screen is told")
}

/// Waits until the terminal has so many columns and rows.
async fn sized(client: &Client, project: &str, size: [u32; 2]) -> Result<(), ClientError> {
    let seen = async {
        while client.terminal("bash", Some(project), None).await?.size != size {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("it is never {size:?}"))
}

#[track_caller]
fn check_size(world: &World, agent: &Agent, expected: &str) {
    assert_eq!(size(world, agent), expected);
}

fn size(world: &World, agent: &Agent) -> String {
    let pane = agent.pane.clone().unwrap();
    let format = "#{window_width}x#{window_height}";
    world.at_tmux(&["display-message", "-p", "-t", &pane, format]).trim().to_owned()
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

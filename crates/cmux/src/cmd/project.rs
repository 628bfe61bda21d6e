//! `cmux project`: the folders that agents work in.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use cmux_core::nearest::nearest;
use cmux_drivers::folder;
use cmux_wire::client::Client;
use cmux_wire::project::{Project as Wire, Projects};
use cmux_wire::trust::{ProjectFile, Standing, Trust};

use crate::cli::{Common, wait};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Say, Tone, clean, plain, toned};
use crate::trust::{self, Answer};

/// The folder that a command is called in.
pub(crate) const HERE: &str = ".";

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Add the project that a folder belongs to
    #[command(
        after_help = "The project is the nearest folder upwards with a .cmux or .git in it; a \
                            linked worktree belongs to its main repository.\n\nExamples:\n  \
                            cmux project add\n  cmux project add ~/shop --name Shop"
    )]
    Add {
        /// A folder in it; the current one unless it is said
        path: Option<PathBuf>,
        /// What to call it; the folder's own name unless it is said
        #[arg(long)]
        name: Option<String>,
    },
    /// List the projects
    #[command(after_help = "Example:\n  cmux project list --json | jq -r '.projects[].root'")]
    List,
    /// Show a project
    #[command(after_help = "Exits 4 if there is none.\n\nExamples:\n  cmux project show\n  \
                            cmux project show shop")]
    Show {
        /// Its id, name or folder; the one here unless it is said
        project: Option<String>,
    },
    /// Show a project's own files, and trust them if you agree
    #[command(
        after_help = "What .cmux/config.toml and .cmux/roles/ say of commands, environment and roles \
                            acts only once you trust those files, and no longer when they change. Permissions \
                            they may narrow at once, and never widen.\n\nExits 5 if you do not agree.\n\n\
                            Examples:\n  cmux project trust\n  cmux project trust shop --show\n  \
                            cmux project trust --yes   for scripts, without looking"
    )]
    Trust {
        /// Its id, name or folder; the one here unless it is said
        project: Option<String>,
        /// Agree without being asked
        #[arg(long)]
        yes: bool,
        /// Take back all that you trusted. What runs already goes on
        #[arg(long, conflicts_with = "yes")]
        revoke: bool,
        /// Show how each file stands, and ask nothing
        #[arg(long, conflicts_with_all = ["yes", "revoke"])]
        show: bool,
    },
    /// Forget a project. No file of yours is deleted
    #[command(after_help = "Example:\n  cmux project remove shop")]
    Remove {
        /// Its id, name or folder
        project: String,
    },
}

impl Project {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let client = place::client(&home);
        wait(async {
            match self {
                Project::Add { path, name } => {
                    let new = place::project(path.as_deref().unwrap_or(Path::new(HERE)), name)?;
                    say.show(&client.add_project(&new).await?, tell)
                }
                Project::List => {
                    let projects = all(&client).await?;
                    say.show(&Projects { projects, next: None }, |it| tell_all(it, say))
                }
                Project::Show { project } => {
                    let wanted = project.unwrap_or_else(|| HERE.to_owned());
                    say.show(&find(&client, &wanted).await?, tell)
                }
                Project::Trust { project, yes, revoke, show } => {
                    let wanted = project.unwrap_or_else(|| HERE.to_owned());
                    let found = find(&client, &wanted).await?;
                    let trust = if show {
                        client.trust(&found.id).await?
                    } else if revoke {
                        client.distrust_project(&found.id).await?;
                        client.trust(&found.id).await?
                    } else {
                        agreed(&client, &found, yes, say).await?
                    };
                    say.show(&trust, |it| tell_trust(it, say))
                }
                Project::Remove { project } => {
                    let found = find(&client, &project).await?;
                    client.remove_project(&found.id).await?;
                    say.show(&found, |it| format!("forgot {}; its files are untouched", it.id))
                }
            }
        })
    }
}

/// Returns what is trusted of `project` once the person has agreed.
async fn agreed(client: &Client, project: &Wire, yes: bool, say: Say) -> Result<Trust, Fail> {
    let refused = |what: &str| Fail::new(Code::Refused, format!("{what}, and nothing was trusted"));
    match trust::ask_once(client, project, yes, say).await? {
        (trust, Answer::Settled | Answer::Agreed) => Ok(trust),
        (_, Answer::Declined) => Err(refused("you did not agree")
            .hint("what the files say is not used; `cmux project trust` asks again")),
        (_, Answer::Nobody) => Err(refused("nobody can be asked: this is no terminal").hint(
            "`cmux project trust --show` lists the files; once you have read them, `--yes` agrees",
        )),
    }
}

async fn all(client: &Client) -> Result<Vec<Wire>, Fail> {
    let mut page = client.projects(None).await?;
    let mut projects = page.projects;
    while let Some(next) = page.next {
        page = client.projects(Some(&next)).await?;
        projects.append(&mut page.projects);
    }
    Ok(projects)
}

/// Returns the project that `wanted` means: by id, by folder, or by a name that only one has.
pub(crate) async fn find(client: &Client, wanted: &str) -> Result<Wire, Fail> {
    let projects = all(client).await?;
    let root = folder::project_root(Path::new(wanted)).ok();
    let by_id = projects.iter().find(|it| it.id == wanted || it.root == wanted);
    let by_folder = projects.iter().find(|it| Some(&it.root) == root.as_ref());
    let named: Vec<&Wire> = projects.iter().filter(|it| it.name == wanted).collect();
    match (by_id, named.as_slice(), by_folder) {
        (Some(found), _, _) | (None, [], Some(found)) => Ok(found.clone()),
        (None, [found], _) => Ok((*found).clone()),
        (None, [_, _, ..], _) => {
            let ids: Vec<&str> = named.iter().map(|it| it.id.as_str()).collect();
            Err(Fail::failed(format!("several projects are called {wanted}: {}", ids.join(", ")))
                .hint("name one by its id"))
        }
        (None, [], None) => Err(not_found(wanted, &projects)),
    }
}

fn not_found(wanted: &str, projects: &[Wire]) -> Fail {
    let known = projects.iter().flat_map(|it| [it.id.as_str(), it.name.as_str()]);
    if wanted == HERE {
        return Fail::new(Code::NotFound, "the folder here belongs to no project that cmux knows")
            .hint("`cmux project add` adds it, `cmux project list` shows those there are");
    }
    let fail = Fail::new(Code::NotFound, format!("there is no project `{wanted}`"));
    match nearest(wanted, known) {
        Some(near) => fail.hint(format!("did you mean `{near}`?")),
        None => fail.hint("`cmux project list` shows those there are, `cmux project add` adds one"),
    }
}

fn tell(project: &Wire) -> String {
    let missing = match project.missing_since {
        Some(since) => format!("\nmissing  since {since}"),
        None => String::new(),
    };
    format!(
        "id       {}\nname     {}\nroot     {}\nadded    {}{missing}",
        project.id,
        clean(&project.name),
        clean(&project.root),
        project.created_at
    )
}

fn tell_all(projects: &Projects, say: Say) -> String {
    if projects.projects.is_empty() {
        return "no projects yet: `cmux project add` in one".to_owned();
    }
    let rows: Vec<_> = projects
        .projects
        .iter()
        .map(|it| {
            let missing = it.missing_since.map(|_| toned("folder is missing", Tone::Bad));
            let cells = [toned(&it.id, Tone::Strong), plain(&it.name), plain(&it.root)];
            cells.into_iter().chain(missing).collect()
        })
        .collect();
    say.table(&rows)
}

fn tell_trust(trust: &Trust, say: Say) -> String {
    let folder = match trust.folder {
        true => toned("trusted: agents may tell their CLI so", Tone::Good),
        false => toned("not trusted: agents' CLIs ask you", Tone::Warning),
    };
    let file = |it: &ProjectFile| {
        let standing = match it.standing {
            Standing::Trusted => toned("trusted", Tone::Good),
            Standing::Changed => toned("changed since you trusted it: not used", Tone::Warning),
            Standing::New => toned("not trusted: not used", Tone::Warning),
        };
        vec![plain(&it.path), standing]
    };
    let mut rows = vec![vec![plain("this folder"), folder]];
    rows.extend(trust.files.iter().map(file));
    let refused = trust.refused.iter().map(|why| format!("not used: {}\n", clean(why)));
    say.table(&rows) + &refused.collect::<String>()
}

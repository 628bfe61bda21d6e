//! `cmux project`: the folders that agents work in.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use cmux_core::nearest::nearest;
use cmux_drivers::folder;
use cmux_wire::client::Client;
use cmux_wire::project::{Project as Wire, Projects};

use crate::cli::{Common, wait};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Say, Tone, clean, plain, toned};

/// The folder that a command is called in.
const HERE: &str = ".";

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
                Project::Remove { project } => {
                    let found = find(&client, &project).await?;
                    client.remove_project(&found.id).await?;
                    say.show(&found, |it| format!("forgot {}; its files are untouched", it.id))
                }
            }
        })
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
async fn find(client: &Client, wanted: &str) -> Result<Wire, Fail> {
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

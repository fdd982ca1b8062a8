//! Whether a command can do nothing without a network.
//!
//! The one place that knows: the guard asks before a command runs, and the voice asks after one that has failed
//! or did not end. A command counts only if all that it could do is certain to need another machine. What
//! depends on a variable, a branch or a file that is not known beforehand does not count, for the kernel
//! blocks the network of what runs.

mod addresses;
mod options;
mod packages;
mod remotes;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use toolwright_policy::shell::{Step, sequence};

use options::{Operands, program_name};

/// Where a command runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommandPlace<'a> {
    /// Its working directory. `None`: what is installed there is unknown.
    pub directory: Option<&'a Path>,
    /// The directories in which programs are looked up, as in `PATH`.
    pub path: Option<&'a str>,
}

/// What a command would need the network for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Another machine, by this program.
    Machine(String),
    /// A registry of packages, by these words.
    Packages(String),
    /// A program that is not installed: the words, and its name.
    Program(String, String),
    /// A remote repository, by these words.
    Remote(String),
}

/// The parts of the environment of one step.
struct Scene<'a> {
    directory: Option<PathBuf>,
    path: Option<&'a str>,
    variables: &'a [(String, Option<String>)],
}

/// Every command that needs the network contains one of these. Most commands contain none.
const TRACES: [&str; 10] = ["curl", "wget", "npm", "npx", "pnp", "yarn", "bun", "pip", "uv", "git"];

/// What a program with these arguments needs the network for, if it can do nothing without it.
#[must_use]
pub fn network_need(program: &str, arguments: &[String], place: CommandPlace<'_>) -> Option<Need> {
    // A shell reads `n"p"m` as `npm`.
    let is_quote = |letter: &char| matches!(letter, '\\' | '\'' | '"');
    let has_trace = |text: &str| {
        let plain: Cow<'_, str> = if text.contains(|letter| is_quote(&letter)) {
            text.chars().filter(|letter| !is_quote(letter)).collect()
        } else {
            text.into()
        };
        TRACES.iter().any(|trace| plain.contains(trace))
    };
    if !has_trace(program) && !arguments.iter().any(|argument| has_trace(argument)) {
        return None;
    }
    let mut directory = place.directory.map(Path::to_owned);
    let mut path = place.path;
    for step in sequence(program, arguments) {
        if step.variables.iter().any(|(name, _)| name == "PATH") {
            path = None;
            directory = None;
        }
        let scene = Scene { directory: directory.clone(), path, variables: &step.variables };
        if let Some(need) = of_step(&step, &scene) {
            return Some(need);
        }
        directory = after(&step, directory);
    }
    None
}

/// Whether a program is one that fetches from other machines, whatever else it does.
#[must_use]
pub fn may_use_network(name: &str) -> bool {
    const PROGRAMS: &str = "curl wget git npm npx pnpm pnpx yarn bun bunx pip pip3 uv uvx deno apk apt apt-get brew bundle cargo composer dnf
        docker gem gh go gradle gradlew mvn mvnw nc pacman ping pipx podman poetry rsync scp sftp ssh yum rustup conda mamba dotnet nuget cpan";
    PROGRAMS.split_whitespace().any(|program| program == name)
}

/// The directory after a step.
fn after(step: &Step, directory: Option<PathBuf>) -> Option<PathBuf> {
    let [Some(name), rest @ ..] = &*step.words else { return directory };
    match &**name {
        "cd" => match rest {
            [Some(to)] if !to.starts_with('-') && !to.starts_with('~') => {
                // A step before may make it.
                Some(directory?.join(to)).filter(|directory| directory.is_dir())
            }
            _ => None,
        },
        "pushd" | "popd" => None,
        _ => directory,
    }
}

fn of_step(step: &Step, scene: &Scene<'_>) -> Option<Need> {
    let [Some(program), arguments @ ..] = &*step.words else { return None };
    let name = program_name(program);
    match name {
        "curl" | "wget" => addresses::need(name, arguments),
        "git" => remotes::need(arguments, scene),
        _ => packages::need(name, arguments, scene),
    }
}

/// Whether a remote, a package or an address is a path of this machine.
fn is_local_path(text: &str) -> bool {
    let is_dots = matches!(text, "." | "..");
    is_dots || ["/", "./", "../", "~", "file:"].iter().any(|start| text.starts_with(start))
}

/// Whether the value of a variable or an option leads to this machine.
fn is_here(text: &str) -> bool {
    is_local_path(text) || addresses::is_loopback(text)
}

#[cfg(test)]
mod tests;

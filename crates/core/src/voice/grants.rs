//! What a grant for one command opens, why something is not granted, and the next move.

use std::path::{Path, PathBuf};

use crate::command::grant::{GrantKind, GrantProblem};

/// What the names of protected paths stand for, to a user.
const PROTECTED: [(&str, &str); 5] = [
    ("@git", "hooks and settings of git"),
    ("@editors", "settings of editors"),
    ("@agents", "settings of agents"),
    ("@tools", "settings of tools that act when the directory is opened"),
    ("@ci", "pipelines"),
];

/// What a grant opens, for the user who is asked. `protected` is the list of what commands may not write.
pub(crate) fn opens(kind: GrantKind, protected: &[PathBuf]) -> String {
    match kind {
        GrantKind::Writable => {
            let (held, open): (Vec<_>, Vec<_>) = PROTECTED
                .iter()
                .partition(|(name, _)| protected.iter().any(|one| one == Path::new(name)));
            let words = |all: &[&(&str, &str)]| {
                all.iter().map(|(_, words)| *words).collect::<Vec<_>>().join(", ")
            };
            let sentence = |all: &[_], begin: &str| {
                if all.is_empty() { String::new() } else { format!(" {begin}: {}.", words(all)) }
            };
            format!(
                "The command may create, change and remove everything in this directory, also programs and scripts that \
                 you run from there later.{}{}",
                sentence(&held, "It cannot change what is protected there"),
                sentence(&open, "It can change")
            )
        }
        GrantKind::Readable => {
            "The command may read all of it, and pass it on wherever it may write or connect."
                .to_owned()
        }
        GrantKind::Network => "The command may send to this host whatever it can read.".to_owned(),
    }
}

/// What follows the kind and the subject of the grant.
pub(crate) fn reason(problem: GrantProblem) -> &'static str {
    match problem {
        GrantProblem::Missing => "does not exist",
        GrantProblem::NotADirectory => "is a file, and only directories are made writable",
        GrantProblem::NotText => "leads to a path that is not UTF-8",
        GrantProblem::AroundRoot => "contains the root directory",
        GrantProblem::AroundHome => "contains a home directory",
        GrantProblem::OfTheKernel => "belongs to the kernel",
        GrantProblem::Denied => "is closed by the host program (sandbox.denyRead)",
        GrantProblem::Protected => "is protected by the host program (sandbox.denyWrite)",
        GrantProblem::StaysClosed => "stays closed to every command",
        GrantProblem::IsWritable => "is writable already",
        GrantProblem::IsReadable => "is readable already",
        GrantProblem::NoHost => "is not the name of one host",
        GrantProblem::PrivateHost => "is not a host of the public internet",
        GrantProblem::DeniedHost => "is denied by the host program (sandbox.network.deny)",
        GrantProblem::IsReached => "is reached already",
        GrantProblem::IsAskedAbout => {
            "needs no grant: the user is asked when a command connects to it"
        }
        GrantProblem::NoNames => "cannot be reached by name with this loopback interface",
    }
}

pub(crate) fn next_move(problem: GrantProblem) -> &'static str {
    match problem {
        GrantProblem::Missing => {
            "Name a path that exists; for a new file, name the directory that will contain it."
        }
        GrantProblem::NotADirectory => "Name the directory of the file.",
        GrantProblem::NotText => "Name another path.",
        GrantProblem::AroundRoot | GrantProblem::AroundHome => {
            "Name the one directory that the command needs."
        }
        GrantProblem::NoHost => "Name one host, with a port if it is known: example.com:443.",
        GrantProblem::IsWritable
        | GrantProblem::IsReadable
        | GrantProblem::IsReached
        | GrantProblem::IsAskedAbout => "Run the command without grant.",
        GrantProblem::OfTheKernel
        | GrantProblem::Denied
        | GrantProblem::Protected
        | GrantProblem::StaysClosed
        | GrantProblem::PrivateHost
        | GrantProblem::DeniedHost
        | GrantProblem::NoNames => "Go on without it; no grant opens it.",
    }
}

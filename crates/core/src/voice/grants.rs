//! Why something is not granted to one command, and the next move.

use crate::command::grant::GrantProblem;

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

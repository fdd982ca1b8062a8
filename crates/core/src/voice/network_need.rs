//! What a model reads of a command that can do nothing without a network.

use crate::command::network_need::Need;

pub(crate) const NETWORK: &str = "Network access is disabled for the bash tool";
pub(crate) const GIT: &str = "Git remote operations are disabled for the bash tool";

const OR_SAY_SO: &str = "If the task cannot be done without the network, say so: the host program can allow it (allowNetwork: true).";

/// The next move.
pub(crate) fn hint(need: &Need) -> String {
    let move_of_model = match need {
        Need::Machine(_) => "Work with what is on this machine.".to_owned(),
        Need::Packages(_) => {
            "Work with the packages that are installed; the scripts of package.json run.".to_owned()
        }
        Need::Program(_, program) => format!(
            "`{program}` is not installed here, and it cannot be fetched. Use a program that is (see node_modules/.bin)."
        ),
        Need::Remote(_) => {
            "Work with the commits that are here; a repository on this machine can be named by its path.".to_owned()
        }
    };
    format!("{move_of_model} {OR_SAY_SO}")
}

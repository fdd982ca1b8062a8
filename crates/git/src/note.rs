//! What a reader has to know about changes that came back, or did not.

#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

/// One thing to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Another program has changed this reference meanwhile. The command's value is kept under another name.
    ReferenceKept {
        /// The reference, or `HEAD`.
        name: String,
        /// Where the value of the command is. `None`: it was a deletion, or is kept nowhere.
        kept: Option<String>,
    },
    /// Another program has staged something else at these paths meanwhile. That was kept.
    StagedMeanwhile(Vec<PathBuf>),
    /// These settings may run programs, or lead elsewhere. They were not carried over.
    SettingsRefused(Vec<String>),
    /// Another program has changed these settings meanwhile. Its values were kept.
    SettingsMeanwhile(Vec<String>),
    /// These settings came back, and a user may want to know: a remote has another address.
    SettingsChanged(Vec<String>),
    /// These settings did not come back, because existing addresses stay what they are.
    AddressesHeld(Vec<String>),
    /// This file came back, and hides other files from git.
    HidesFiles(String),
    /// These files stayed in the fork, and are gone with it.
    LeftOut(Vec<String>),
    /// This state of an operation stayed in the fork: a file of it has a form that git does not write.
    StateLeftOut {
        /// The operation: `merge`, `rebase`.
        operation: String,
        /// What was found.
        reason: String,
    },
    /// Another program holds this lock. The changes wait for the next command.
    Locked(PathBuf),
    /// Nothing came back, for this reason.
    Failed(String),
}

#[cfg(target_os = "linux")]
impl Note {
    /// The same of a repository that lies in this directory of another one.
    pub(crate) fn within(self, directory: &Path) -> Self {
        let name = |name: String| format!("{}/{name}", directory.display());
        let names = |names: Vec<String>| names.into_iter().map(name).collect();
        match self {
            Self::ReferenceKept { name: of, kept } => {
                Self::ReferenceKept { name: name(of), kept: kept.map(name) }
            }
            Self::StagedMeanwhile(paths) => {
                Self::StagedMeanwhile(paths.into_iter().map(|path| directory.join(path)).collect())
            }
            Self::SettingsRefused(settings) => Self::SettingsRefused(names(settings)),
            Self::SettingsMeanwhile(settings) => Self::SettingsMeanwhile(names(settings)),
            Self::SettingsChanged(settings) => Self::SettingsChanged(names(settings)),
            Self::AddressesHeld(settings) => Self::AddressesHeld(names(settings)),
            Self::HidesFiles(file) => Self::HidesFiles(name(file)),
            Self::LeftOut(files) => Self::LeftOut(names(files)),
            Self::StateLeftOut { operation, reason } => {
                Self::StateLeftOut { operation: name(operation), reason }
            }
            Self::Locked(lock) => Self::Locked(directory.join(lock)),
            Self::Failed(reason) => Self::Failed(format!("{}: {reason}", directory.display())),
        }
    }
}

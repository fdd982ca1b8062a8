//! Configurations of git that belong to no repository: the system's and the user's.

use std::env;
use std::path::{Path, PathBuf};

use crate::policy::stores;

/// Where builds of git look for the system's.
const OF_SYSTEM: [&str; 3] =
    ["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"];

/// The configurations outside of repositories, in the order in which git reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Scopes {
    /// Nothing has to be there.
    pub(super) files: Vec<PathBuf>,
    /// What `~/` stands for.
    pub(super) home: Option<PathBuf>,
}

impl Scopes {
    /// Those that a git of this user reads. It may be started with other variables than this process, so that
    /// a file which a variable names is read beside the usual ones.
    pub(super) fn of_process() -> Self {
        Self::of(|name| env::var_os(name).map(PathBuf::from), env::home_dir())
    }

    fn of(variable: impl Fn(&str) -> Option<PathBuf>, home: Option<PathBuf>) -> Self {
        let home = home.filter(|home| home.is_absolute());
        let mut files: Vec<PathBuf> = OF_SYSTEM.iter().map(PathBuf::from).collect();
        let homes = home.iter().map(PathBuf::as_path).chain(stores::home_of_user());
        let mut of_user: Vec<PathBuf> =
            variable("XDG_CONFIG_HOME").iter().map(|above| above.join("git/config")).collect();
        for home in homes {
            of_user.extend([".config/git/config", ".gitconfig"].map(|name| home.join(name)));
        }
        files.extend(variable("GIT_CONFIG_SYSTEM"));
        files.extend(of_user);
        files.extend(variable("GIT_CONFIG_GLOBAL"));
        files.retain(|file| file.is_absolute());
        let mut known = Vec::with_capacity(files.len());
        files.retain(|file| {
            !known.contains(file) && {
                known.push(file.clone());
                true
            }
        });
        Self { files, home }
    }

    /// Git takes `~/` for the home directory of the person who runs it.
    pub(super) fn at_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_add_files_and_take_none_away() {
        let variable = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some(PathBuf::from("/x")),
            "GIT_CONFIG_GLOBAL" => Some(PathBuf::from("/g")),
            "GIT_CONFIG_SYSTEM" => Some(PathBuf::from("relative")),
            _ => None,
        };
        let scopes = Scopes::of(variable, Some("/home/u".into()));
        for file in ["/etc/gitconfig", "/x/git/config", "/home/u/.gitconfig", "/g"] {
            assert!(scopes.files.contains(&file.into()), "{file}");
        }
        assert!(scopes.files.iter().all(|file| file.is_absolute()));
        assert_eq!(scopes.at_home(Path::new("~/a")), Path::new("/home/u/a"));
        assert_eq!(scopes.at_home(Path::new("~other/a")), Path::new("~other/a"));
    }
}

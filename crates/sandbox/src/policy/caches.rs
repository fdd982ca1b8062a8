//! Where programs keep what they can make or fetch again.
//!
//! Most of it lies in the home directory, which commands do not write. Programs that find such a directory read-only
//! give up in the middle of their work. So commands have a fork of each: they find what the user's programs have left
//! there, and what they add stays with them.
//!
//! A directory counts only as it is named here or by a variable of the host, without links on the way. Links to the home
//! directory itself are followed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Options;
use super::stamp::Watched;
use crate::plan::Files;

/// Below the home directory.
pub const CACHES: [&str; 44] = [
    ".android/cache",
    ".bun/install/cache",
    ".bundle/cache",
    ".cabal/packages",
    ".cache",
    ".cargo/git",
    ".cargo/registry",
    ".ccache",
    ".cocoapods/repos",
    ".composer/cache",
    ".conda/pkgs",
    ".cpan",
    ".cpanm",
    ".dart_tool",
    ".dotnet",
    ".electron",
    ".electron-gyp",
    ".expo/cache",
    ".gem/specs",
    ".gradle",
    ".hex/packages",
    ".ivy2/cache",
    ".julia",
    ".konan",
    ".kotlin",
    ".local/share/direnv",
    ".local/share/NuGet",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenv",
    ".m2/repository",
    ".mix/archives",
    ".nimble/pkgcache",
    ".node-gyp",
    ".npm",
    ".nuget/packages",
    ".nv",
    ".pnpm-store",
    ".pub-cache",
    ".sbt",
    ".stack/pantry",
    ".triton/cache",
    ".yarn/berry",
    "go/pkg",
];

/// Variables that name such a directory, or one that holds some.
pub const VARIABLES: [(&str, &[&str]); 27] = [
    ("BUN_INSTALL_CACHE_DIR", &[""]),
    ("BUNDLE_USER_CACHE", &[""]),
    ("CARGO_HOME", &["git", "registry"]),
    ("CCACHE_DIR", &[""]),
    ("COMPOSER_CACHE_DIR", &[""]),
    ("CYPRESS_CACHE_FOLDER", &[""]),
    ("DENO_DIR", &[""]),
    ("ELECTRON_CACHE", &[""]),
    ("GOCACHE", &[""]),
    ("GOMODCACHE", &[""]),
    ("GOPATH", &["pkg"]),
    ("GRADLE_USER_HOME", &[""]),
    ("JULIA_DEPOT_PATH", &[""]),
    ("NPM_CONFIG_CACHE", &[""]),
    ("npm_config_cache", &[""]),
    ("NUGET_PACKAGES", &[""]),
    ("PIP_CACHE_DIR", &[""]),
    ("POETRY_CACHE_DIR", &[""]),
    ("PRE_COMMIT_HOME", &[""]),
    ("PUB_CACHE", &[""]),
    ("SCCACHE_DIR", &[""]),
    ("TURBO_CACHE_DIR", &[""]),
    ("UV_CACHE_DIR", &[""]),
    ("XDG_CACHE_HOME", &[""]),
    ("YARN_CACHE_FOLDER", &[""]),
    ("YARN_GLOBAL_FOLDER", &[""]),
    ("ZIG_GLOBAL_CACHE_DIR", &[""]),
];

/// By which variable a program takes another directory instead.
const MOVED_BY: [(&str, &str); 10] = [
    (".bun/install/cache", "BUN_INSTALL_CACHE_DIR"),
    (".cache", "XDG_CACHE_HOME"),
    (".cargo/registry", "CARGO_HOME"),
    (".ccache", "CCACHE_DIR"),
    (".gradle", "GRADLE_USER_HOME"),
    (".julia", "JULIA_DEPOT_PATH"),
    (".npm", "npm_config_cache"),
    (".nuget/packages", "NUGET_PACKAGES"),
    (".pub-cache", "PUB_CACHE"),
    ("go/pkg", "GOPATH"),
];

/// The cache below a home directory that holds a path, and the variable by which its program takes another one.
#[must_use]
pub fn holding(path: &Path, home: &Path) -> Option<(&'static str, Option<&'static str>)> {
    let real = fs::canonicalize(home);
    let below = path
        .strip_prefix(home)
        .or_else(|_| path.strip_prefix(real.as_deref().unwrap_or(home)))
        .ok()?;
    let cache = CACHES.into_iter().find(|cache| below.starts_with(cache))?;
    let moved = MOVED_BY.iter().find(|(name, _)| *name == cache);
    Some((cache, moved.map(|(_, variable)| *variable)))
}

/// The directories of which commands have forks: those that they neither write nor find closed.
pub(super) fn of(
    options: &Options<'_>,
    writable: &[PathBuf],
    closed: &[PathBuf],
    protected: &[PathBuf],
) -> Vec<PathBuf> {
    if options.files == Files::Full {
        return Vec::new();
    }
    let mut homes: Vec<&Path> = options.home.into_iter().chain(options.other_home).collect();
    homes.dedup();
    let found = find(&homes, options.variables);
    let is_left = |path: &&PathBuf| {
        let is_below = |others: &[PathBuf]| others.iter().any(|other| path.starts_with(other));
        let holds = |others: &[PathBuf]| others.iter().any(|other| other.starts_with(path));
        // What a grant lies in stays what it is for everybody.
        !is_below(writable) && !holds(writable) && !is_below(closed) && !is_below(protected)
    };
    found.there.iter().filter(is_left).cloned().collect()
}

/// What is there, and what that depends on.
#[derive(Debug)]
struct Found {
    there: Vec<PathBuf>,
    homes: Vec<PathBuf>,
    /// Variables by their place in the table, with their values, in the order of the environment.
    moved: Vec<(usize, OsString)>,
    watched: Watched,
    is_settled: bool,
}

fn find(homes: &[&Path], variables: &[(OsString, OsString)]) -> Arc<Found> {
    static LAST: Mutex<Option<Arc<Found>>> = Mutex::new(None);
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(last) = last
        && last.is_of(homes, variables)
        && last.is_settled
        && last.watched.are_same()
    {
        return last;
    }
    let found = Arc::new(Found::look(homes, variables));
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&found));
    found
}

impl Found {
    fn is_of(&self, homes: &[&Path], variables: &[(OsString, OsString)]) -> bool {
        let known = self.moved.iter().map(|(index, value)| (*index, value.as_os_str()));
        self.homes.iter().map(PathBuf::as_path).eq(homes.iter().copied())
            && variables.iter().filter_map(moving).eq(known)
    }

    fn look(homes: &[&Path], variables: &[(OsString, OsString)]) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let moved: Vec<(usize, OsString)> = variables
            .iter()
            .filter_map(moving)
            .map(|(index, value)| (index, value.into()))
            .collect();
        let mut watched = Watched::default();
        let mut there = Vec::new();
        let mut add = |base: &Path, below: &str| {
            let Some(path) = watched.reach(base, below) else { return };
            let is_directory = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            // A link on the way may lead anywhere.
            if is_directory && fs::canonicalize(&path).is_ok_and(|real| real == path) {
                there.push(path);
            }
        };
        // A system may lead to the directories of all users by a link.
        let real_homes: Vec<PathBuf> = homes.iter().flat_map(fs::canonicalize).collect();
        for home in &real_homes {
            for cache in CACHES {
                add(home, cache);
            }
        }
        for (index, value) in &moved {
            let path = Path::new(value);
            let (Some(parent), Some(name)) =
                (path.parent(), path.file_name().and_then(OsStr::to_str))
            else {
                continue;
            };
            for below in VARIABLES[*index].1 {
                match *below {
                    "" => add(parent, name),
                    below => add(path, below),
                }
            }
        }
        // One that holds a home directory, or the system, is no cache.
        there.retain(|path| path.parent().is_some_and(|above| above != Path::new("/")));
        there.retain(|path| !real_homes.iter().any(|home| home.starts_with(path)));
        there.sort_unstable();
        there.dedup_by(|path, above| path.starts_with(above));
        let homes = homes.iter().map(|home| (*home).to_owned()).collect();
        let is_settled = watched.is_old(now);
        Self { there, homes, moved, watched, is_settled }
    }
}

/// For a variable that moves a cache: its place in the table.
fn moving((name, value): &(OsString, OsString)) -> Option<(usize, &OsStr)> {
    let index = VARIABLES.iter().position(|(known, _)| known.as_bytes() == name.as_bytes())?;
    Path::new(value).is_absolute().then_some((index, value.as_os_str()))
}

//! The narrow read scope: the system, toolchains and the root.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use super::{Options, Resolved};

const SYSTEM: [&str; 16] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "sbin",
    "sys", "tmp", "usr", "run",
];

/// Below the home directory, where toolchains put themselves.
const TOOLCHAINS: [&str; 14] = [
    ".cargo",
    ".rustup",
    ".nvm",
    ".volta",
    ".fnm",
    ".asdf",
    ".pyenv",
    ".rbenv",
    ".sdkman",
    ".bun",
    ".deno",
    ".local/bin",
    ".local/share/mise",
    "go",
];

pub(super) fn narrow(
    options: &Options<'_>,
    closed: &mut Vec<PathBuf>,
    readable: &mut Vec<PathBuf>,
) {
    // A directory that cannot be listed cannot be read by commands either.
    #[expect(clippy::disallowed_methods, reason = "no command writes there")]
    for entry in fs::read_dir("/").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_system = SYSTEM.iter().any(|system| name == *system);
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if !is_system && !is_link {
            closed.push(entry.path());
        }
    }
    // A home directory elsewhere, and files of services.
    closed.extend(["/var/lib", "/var/log", "/var/mail", "/var/spool"].map(PathBuf::from));
    closed.retain(|path| path.exists());
    for home in options.home.into_iter().chain(options.other_home).flat_map(fs::canonicalize) {
        if !closed.iter().any(|path| home.starts_with(path)) && home != Path::new("/") {
            closed.push(home.clone());
        }
        for toolchain in TOOLCHAINS {
            readable.extend(fs::canonicalize(home.join(toolchain)));
        }
    }
    for directory in options.path.map(env::split_paths).into_iter().flatten() {
        if let Ok(real) = fs::canonicalize(&directory)
            && !options.resolved.leads_out(&directory, &real)
        {
            readable.push(toolchain_of(real));
        }
    }
    if let Ok(program) = env::current_exe()
        && let Some(directory) = program.parent()
    {
        readable.push(toolchain_of(directory.to_owned()));
    }
    readable.retain(|path| path != Path::new("/"));
}

/// What commands have one of their own of.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Directories of programs that lie there: a checkout in `/tmp` is of no use without its own programs.
pub(super) fn temporary_toolchains(
    path: Option<&OsStr>,
    resolved: &Resolved,
) -> impl Iterator<Item = PathBuf> {
    temporary_directories(path)
        .filter_map(|directory| {
            let real = fs::canonicalize(&directory).ok()?;
            (!resolved.leads_out(&directory, &real)).then_some(real)
        })
        .map(toolchain_of)
        .filter(is_temporary)
}

/// The directories of programs that are named there.
pub(super) fn temporary_directories(path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    // What runs this is what commands are likely to run, too.
    let own = OWN.get_or_init(|| env::current_exe().ok()?.parent().map(Path::to_owned));
    path.map(env::split_paths).into_iter().flatten().chain(own.clone()).filter(is_temporary)
}

fn is_temporary(path: &PathBuf) -> bool {
    TEMPORARY.iter().any(|above| path.starts_with(above) && path != Path::new(above))
}

/// Programs in a `bin` find their libraries beside it, unless that is where users' homes are. Those in
/// a `node_modules/.bin` are links to the packages.
fn toolchain_of(directory: PathBuf) -> PathBuf {
    match directory.parent() {
        Some(parent) if directory.ends_with("node_modules/.bin") => parent.to_owned(),
        Some(parent) if directory.ends_with("bin") && parent.components().count() > 3 => {
            parent.to_owned()
        }
        _ => directory,
    }
}

//! A grant for one command: one path or one host more than the options give, if the user agrees.
//!
//! What a model may ask for is decided here, once before anybody is asked and once after the answer. The
//! question has the real path, so a link cannot have the user agree to something else. No grant switches
//! the sandbox off: the widest is one directory or one host, and what the host program denies stays denied.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toolwright_fs::DirectoryGrant;
use toolwright_policy::Host;
use toolwright_sandbox::plan::{Files, Plan};
use toolwright_sandbox::policy::{self, Grants, Resolved, stores};

use super::hosts;
use super::plan::{Loopback, SandboxOptions, home_of};
use crate::access::protected_list;
use crate::failure::{Unfinished, grants as failure};
use crate::voice::grants as words;

/// File systems of the kernel, of which nothing can be granted.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What a grant opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantKind {
    /// A directory that the command may write.
    Writable,
    /// A path that it may read although it is closed.
    Readable,
    /// A host that it reaches by name.
    Network,
}

impl GrantKind {
    /// By the name of its argument; a host for any other name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "writable" => Self::Writable,
            "readable" => Self::Readable,
            _ => Self::Network,
        }
    }

    /// The name of its argument.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Writable => "writable",
            Self::Readable => "readable",
            Self::Network => "network",
        }
    }
}

/// Something that may be granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallGrant {
    /// The real path, or the host with its port.
    pub subject: String,
    /// Device and inode of a directory, as `DEVICE:INODE`.
    pub identity: Option<String>,
    /// What the grant opens and what stays closed, for the user who is asked.
    pub opens: String,
}

/// Why something is not granted, whatever the user says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantProblem {
    Missing,
    NotADirectory,
    NotText,
    AroundRoot,
    AroundHome,
    OfTheKernel,
    Denied,
    Protected,
    StaysClosed,
    IsWritable,
    IsReadable,
    NoHost,
    PrivateHost,
    DeniedHost,
    IsReached,
    IsAskedAbout,
    NoNames,
}

impl SandboxOptions {
    /// What would be granted to one command, in the words of the question.
    ///
    /// Fails with `TOOL_GRANT_REFUSED` for what nobody is asked about: what the options deny, what is open
    /// already, and what is more than one place.
    pub fn call_grant(
        &self,
        root: &DirectoryGrant,
        grants: &Grants,
        environment: &[(OsString, OsString)],
        kind: GrantKind,
        wanted: &str,
    ) -> Result<CallGrant, Unfinished> {
        root.check()?;
        let found = match kind {
            GrantKind::Network => self.host_grant(wanted),
            GrantKind::Writable | GrantKind::Readable => {
                let resolved = grants.resolve()?;
                self.path_grant(&resolved, environment, kind, wanted)
            }
        };
        found.map_err(|problem| failure::refused(kind, wanted, problem).into())
    }

    fn path_grant(
        &self,
        resolved: &Resolved,
        environment: &[(OsString, OsString)],
        kind: GrantKind,
        wanted: &str,
    ) -> Result<CallGrant, GrantProblem> {
        let plan = self.plan(&resolved.root, resolved, environment);
        let home = home_of(environment);
        let named = policy::absolute(Path::new(wanted), &plan.root, home.as_deref());
        let path = fs::canonicalize(named).map_err(|_| GrantProblem::Missing)?;
        let metadata = fs::metadata(&path).map_err(|_| GrantProblem::Missing)?;
        if OF_THE_KERNEL.iter().any(|kernel| path.starts_with(kernel)) {
            return Err(GrantProblem::OfTheKernel);
        }
        if plan.root != path && plan.root.starts_with(&path) {
            return Err(GrantProblem::AroundRoot);
        }
        let mut homes = home.iter().map(PathBuf::as_path).chain(stores::home_of_user());
        if homes.any(|home| real(home).starts_with(&path)) {
            return Err(GrantProblem::AroundHome);
        }
        // What the host program has denied by name. What it keeps closed otherwise can be asked for.
        if resolved.closed.iter().any(|closed| path.starts_with(closed)) {
            return Err(GrantProblem::Denied);
        }
        if kind == GrantKind::Writable {
            check_writable(&plan, &path, metadata.is_dir())?;
        } else {
            self.check_readable(&plan, resolved, environment, &path)?;
        }
        let identity = metadata.is_dir().then(|| format!("{}:{}", metadata.dev(), metadata.ino()));
        let subject = path.into_os_string().into_string().map_err(|_| GrantProblem::NotText)?;
        let opens = words::opens(kind, &protected_list(self.deny_write.as_deref()));
        Ok(CallGrant { subject, identity, opens })
    }

    fn check_readable(
        &self,
        plan: &Plan,
        resolved: &Resolved,
        environment: &[(OsString, OsString)],
        path: &Path,
    ) -> Result<(), GrantProblem> {
        if !plan.closes(path) {
            return Err(GrantProblem::IsReadable);
        }
        let (mut options, mut granted) = (self.clone(), resolved.clone());
        options.readable.push(path.to_owned());
        granted.readable.push(path.to_owned());
        let widened = options.plan(&resolved.root, &granted, environment);
        if widened.closes(path) { Err(GrantProblem::StaysClosed) } else { Ok(()) }
    }

    fn host_grant(&self, wanted: &str) -> Result<CallGrant, GrantProblem> {
        let host = Host::parse(wanted).ok_or(GrantProblem::NoHost)?;
        if host.is_private() {
            return Err(GrantProblem::PrivateHost);
        }
        match &self.names {
            None if self.network => return Err(GrantProblem::IsReached),
            None if self.loopback != Loopback::Private => return Err(GrantProblem::NoNames),
            None => {}
            Some(names) => hosts::may_be_granted(names, &host)?,
        }
        let opens = words::opens(GrantKind::Network, &[]);
        Ok(CallGrant { subject: host.to_string(), identity: None, opens })
    }
}

fn check_writable(plan: &Plan, path: &Path, is_directory: bool) -> Result<(), GrantProblem> {
    if !is_directory {
        return Err(GrantProblem::NotADirectory);
    }
    let is_protected = plan.protected.iter().any(|protected| path.starts_with(protected));
    if is_protected || plan.is_of_git(path) {
        return Err(GrantProblem::Protected);
    }
    let is_writable = || plan.writable.iter().any(|writable| path.starts_with(writable));
    if plan.files == Files::Full || is_writable() {
        return Err(GrantProblem::IsWritable);
    }
    // A store that a command could write, it could also read.
    if plan.closes(path) { Err(GrantProblem::StaysClosed) } else { Ok(()) }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;

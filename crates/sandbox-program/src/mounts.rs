//! The tree of files a command sees.
//!
//! The supervisor changes its copy of the host's mounts once, in place: all of it becomes read-only,
//! what may be written is put back on top, private directories for temporary files and a small `/dev`
//! are laid over the host's, and closed and protected paths are covered. Workers start from that and
//! add their own `/proc`.

mod devices;
mod error;
mod forks;
mod kernel;
mod layout;
mod moves;
mod older_kernel;
mod own_changes;
mod place;
mod placeholder;
mod placement;
mod private;
mod proc;
mod programs;
mod protection;
mod removal;
mod renewal;
mod resolver;
mod scratch;
mod settling;
mod shared;
mod trust;
mod watch;

use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use error::At;
pub use error::{GRANTED, MountError};
use forks::Forks;
use kernel::Attributes;
pub(crate) use kernel::{attach, open_plain};
use layout::Layout;
use own_changes::OwnChanges;
use placeholder::Placeholder;
use placement::{Placed, Placement};
pub(crate) use private::DirectoryIdentity;
use private::PrivateDirectories;
pub(crate) use private::names;
pub use proc::{close_proc, worker_proc};
use programs::Programs;
use protection::{Held, OnAbsent};
pub(crate) use removal::Revealed;
use renewal::Renewal;
pub(crate) use renewal::SAVE_TIME;
pub use resolver::name_resolver;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{chdir, umask};
pub(crate) use settling::{Found, UNHELD};
pub use shared::{Shared, own_mounts};
pub use trust::lay_trust;
pub use watch::Watch;

use toolwright_sandbox::layers::Layer;
use toolwright_sandbox::plan::{Forked, Plan};

/// A built tree, and the placeholders that the host sees.
#[derive(Debug, Default)]
pub struct Tree {
    placeholders: Vec<Placeholder>,
    /// Protected paths that are not there, and that have none.
    absent: Vec<PathBuf>,
    renewal: Option<Renewal>,
    programs: Option<Programs>,
    forks: Option<Forks>,
    private: PrivateDirectories,
    own_changes: Option<OwnChanges>,
    /// The file systems of directories for temporary files, which the host does not see.
    temporary: Vec<u64>,
}

impl Tree {
    /// Whether the host sees a placeholder where it would not expect one.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        self.placeholders.iter().any(Placeholder::is_visible)
    }

    /// The descriptors of directories on mounts that can be written, which are for the supervisor alone.
    pub(crate) fn writable_descriptors(&self) -> impl Iterator<Item = RawFd> {
        let programs = self.programs.as_ref().map(Programs::descriptor);
        let forks = self.forks.iter().flat_map(Forks::descriptors);
        programs.into_iter().chain(forks).chain(self.private.descriptors())
    }

    /// Whether commands work on forks of git directories.
    pub(crate) fn forks(&self) -> Layer {
        self.forks.as_ref().map_or(Layer::Unused, |forks| forks.layer)
    }

    /// Has commands see a private directory in the place of an empty one of the host. `false`: it is private
    /// already, because the host does not see where it lies. One that `is_new` was made for this.
    pub(crate) fn hide(
        &mut self,
        path: &Path,
        identity: DirectoryIdentity,
        is_new: bool,
    ) -> Result<bool, Errno> {
        let forks = self.forks.as_mut().ok_or(Errno::NOSYS)?;
        // Its place may be this one's now.
        forks.forget_removed();
        if self.renewal.is_none() {
            return Err(Errno::NOSYS);
        }
        if hides(&self.temporary, forks, &self.private, identity.device) {
            return Ok(false);
        }
        let (private, hidden) = (&mut self.private, forks.hidden());
        change(self.own_changes.as_ref(), || private.add(hidden, path, identity, is_new))?;
        Ok(true)
    }

    /// The file systems of directories for temporary files that are the commands' alone.
    pub(crate) fn temporary_devices(&self) -> &[u64] {
        &self.temporary
    }

    /// Whether the host does not see what lies in a file system.
    pub(crate) fn is_hidden(&self, device: u64) -> bool {
        let (Some(_), Some(forks)) = (&self.renewal, &self.forks) else { return false };
        hides(&self.temporary, forks, &self.private, device)
    }

    /// Removes the directory of the host on which an empty private directory lies, or an emptied fork of a repository
    /// that commands have made. Where that cannot be done here, a private one is only taken away.
    pub(crate) fn reveal(&mut self, identity: DirectoryIdentity) -> Result<Revealed, Errno> {
        let forks = self.forks.as_mut().ok_or(Errno::NOSYS)?;
        let private = &mut self.private;
        change(self.own_changes.as_ref(), || match forks.remove(identity, private) {
            Some(removed) => removed,
            None => private.remove(forks.hidden(), identity),
        })
    }

    /// The private directory of this index: where it is, its content, and the directory of the host.
    pub(crate) fn private(&self, index: u32) -> Option<(PathBuf, BorrowedFd<'_>, BorrowedFd<'_>)> {
        self.private.iter().nth(usize::try_from(index).ok()?)
    }

    /// The directories that have forks, on mounts that can be written if the host can write them.
    pub(crate) fn take_forked(&mut self) -> Vec<OwnedFd> {
        self.forks.take().map(Forks::into_directories).unwrap_or_default()
    }

    /// Puts our own programs in their place. Without them a command has no program of that name.
    pub fn make_programs(&self) {
        if let Some(programs) = &self.programs {
            let _ = programs.fill();
        }
    }

    /// Removes what stood for absent protected paths, unless another supervisor needs it or it is in
    /// use. At the very end: after it those paths are protected no more.
    pub fn remove_placeholders(self) {
        // What lies in another one goes before it.
        for placeholder in self.placeholders.into_iter().rev() {
            placeholder.remove();
        }
    }
}

fn hides(temporary: &[u64], forks: &Forks, private: &PrivateDirectories, device: u64) -> bool {
    temporary.contains(&device) || forks.has_device(device) || private.has_device(device)
}

/// A copy of a mount without those on it, attached nowhere. What is mounted in one place appears not in the other.
pub(crate) fn detached_copy(root: &OwnedFd) -> Result<OwnedFd, Errno> {
    let copy = kernel::copy_entry(root, c"")?;
    kernel::make_private(&copy)?;
    Ok(copy)
}

/// Builds the tree in the mount namespace of this process. After a failure that namespace is
/// neither the host's nor the plan's, and the process must end.
pub fn build(plan: &Plan) -> Result<Tree, MountError> {
    build_with(plan, Beside::default(), OnAbsent::StandIn)
}

/// What a tree takes from elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// Another tree, for its temporary directories where it has some.
    pub(crate) shared: Option<&'a Shared>,
    /// A mount of the fork that is to be seen in the place of a directory.
    pub(crate) root_fork: Option<&'a OwnedFd>,
}

/// As [`build`], with what comes from elsewhere. Nothing stands for absent protected paths until [`Tree::stand_in`].
pub(crate) fn build_beside(plan: &Plan, beside: Beside<'_>) -> Result<Tree, MountError> {
    build_with(plan, beside, OnAbsent::Note)
}

fn build_with(plan: &Plan, beside: Beside<'_>, on_absent: OnAbsent) -> Result<Tree, MountError> {
    let mut tree = Tree { own_changes: OwnChanges::new().ok(), ..Tree::default() };
    if let Err(error) = without_umask(|| build_in_place(plan, (beside, on_absent), &mut tree)) {
        tree.remove_placeholders();
        return Err(error);
    }
    Ok(tree)
}

fn build_in_place(
    plan: &Plan,
    (beside, on_absent): (Beside<'_>, OnAbsent),
    tree: &mut Tree,
) -> Result<(), MountError> {
    private()?;
    if let Some(Forked { base, .. }) = &plan.root_fork {
        // Before anything else: from here on the fork is what lies there.
        let mount = beside.root_fork.ok_or(Errno::BADF).at("take the fork of", base)?;
        kernel::open_plain(base)
            .and_then(|place| kernel::attach(mount, place))
            .at("attach the fork of", base)?;
    }
    let layout = Layout::new(plan)?;
    let placement = Placement::begin(&layout, plan, beside.shared)?;
    let root = Path::new("/");
    let always = Attributes::NO_SUID | Attributes::NO_DEVICES;
    if layout.root_is_writable() {
        kernel::set_at(root, always).at("restrict the tree at", root)?;
        // These are no files but the kernel's switches.
        for switches in ["/proc", "/sys"].map(Path::new) {
            match kernel::set_at(switches, always | Attributes::READ_ONLY) {
                Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
                Err(errno) => return Err(MountError::new("make read-only", switches, errno)),
            }
        }
    } else {
        let all = always | Attributes::READ_ONLY;
        kernel::set_at(root, all).at("make read-only the tree at", root)?;
    }
    let held = Held { placeholders: &mut tree.placeholders, absent: &mut tree.absent };
    let placed = placement.place(&layout, plan, (held, on_absent))?;
    let Placed { scratch, programs, forks, temporary } = placed;
    (tree.programs, tree.forks, tree.temporary) = (programs, forks, temporary);
    proc::mask()?;
    // The working directory may now lie below a cover.
    chdir("/").at("enter", root)?;
    // Without it, what loses its cover stays open until the next command.
    tree.renewal = Renewal::begin(layout, scratch).ok();
    Ok(())
}

/// Changes the tree, so that the processes that watch it know whose change it is.
fn change<T>(changes: Option<&OwnChanges>, change: impl FnOnce() -> T) -> T {
    match changes {
        Some(changes) => changes.during(|| without_umask(change)),
        None => without_umask(change),
    }
}

/// What is made meanwhile has the modes that are given.
fn without_umask<T>(make: impl FnOnce() -> T) -> T {
    let mask = umask(Mode::empty());
    let result = make();
    umask(mask);
    result
}

/// Mounts of this namespace stay in it, and those of the host stay out.
pub(crate) fn private() -> Result<(), MountError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .at("make private the mounts at", Path::new("/"))
}

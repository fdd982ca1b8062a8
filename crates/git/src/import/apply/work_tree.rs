//! Writing what only a linked work tree has, and removing one.

use super::{Apply, MODE, NotWritten};
use crate::config::Scope;
use crate::database::Database;
use crate::import::area::After;
use crate::import::linked::{self, Changed, LEAD, LOCK};
use crate::import::read::{Failure, Received};
use crate::import::settings::{self, Settings};
use crate::import::{Note, Snapshot, Terms, states};
use crate::log::{self, LogName};
use crate::refs::{Packed, RefMap, RefName};
use crate::transaction::TransactionError;
use crate::upper::{Bounds, Upper};

impl Apply<'_> {
    /// Removes a linked work tree, if `git worktree prune` would still do so, and nobody works in it.
    pub(super) fn remove(
        &mut self,
        area: &After,
        snapshot: &Snapshot,
        terms: &Terms<'_>,
    ) -> Result<(), NotWritten> {
        let before = snapshot.areas.iter().find(|one| one.prefix == area.prefix);
        let Some(before) = before else { return Ok(()) };
        let locked = ["HEAD", "index"]
            .iter()
            .try_for_each(|name| self.transaction.lock(&area.prefix.join(name), MODE));
        let judged = match locked {
            Ok(()) => linked::may_go(self.git, terms, before),
            Err(TransactionError::Held(_)) => Err("somebody works in it"),
            Err(error) => return Err(error.into()),
        };
        match judged {
            Ok(true) => {
                self.transaction.detach(&area.prefix)?;
                self.is_empty = false;
            }
            Ok(false) => {}
            Err(reason) => {
                let name = format!("{} (its removal: {reason})", area.prefix.display());
                self.notes.push(Note::LeftOut(vec![name]));
            }
        }
        Ok(())
    }

    /// Writes what a linked work tree has for itself.
    pub(super) fn linked(
        &mut self,
        area: &After,
        (whole, snapshot, terms): (&Upper, &Snapshot, &Terms<'_>),
        objects: (&Received<'_>, &Database),
    ) -> Result<(), NotWritten> {
        if area.prefix.as_os_str().is_empty() {
            return Ok(());
        }
        let directory = self.git.below(&area.prefix).map_err(Failure::from)?;
        let upper = whole.below(&area.prefix).map_err(Failure::from)?;
        let (Some(directory), Some(upper)) = (directory, upper) else { return Ok(()) };
        let written = self.own_refs(area, &directory)?;
        let logs = log::changes(&directory, &upper, Bounds::default()).map_err(Failure::from)?;
        for log in logs.logs {
            if matches!(&log.name, LogName::Ref(name) if written.contains(name)) {
                self.log(&area.prefix.join(log.name.path()), log.change, objects.0)?;
            }
        }
        let before = snapshot.areas.iter().find(|one| one.prefix == area.prefix);
        let none = linked::Before::default();
        let before = before.map_or(&none, |before| &before.linked);
        let place = (&directory, &upper, &*area.prefix);
        let transaction = &mut self.transaction;
        self.is_empty &=
            !states::write(place, &before.marks, objects, transaction, &mut self.notes)?;
        let path = area.prefix.join(settings::OF_WORK_TREE);
        let file = (&*path, Scope::Worktree, area.top.as_deref());
        let texts = (&before.config, &snapshot.configs[0][..]);
        let (git, notes) = (self.git, &mut self.notes);
        let mut settings =
            Settings { git, transaction: &mut self.transaction, notes, work_tree: None };
        self.is_empty &= !settings.merge_file(file, texts, whole, terms)?;
        for (name, changed) in [(LEAD, &area.linked.lead), (LOCK, &area.linked.lock)] {
            if let Some(changed) = changed {
                self.replace(area, name, changed)?;
            }
        }
        Ok(())
    }

    /// Returns the references that have the command's value.
    fn own_refs(
        &mut self,
        area: &After,
        directory: &crate::directory::Directory,
    ) -> Result<Vec<RefName>, NotWritten> {
        let mut written = Vec::new();
        for change in &area.linked.refs {
            let path = area.prefix.join(change.name.path());
            let locked = self.transaction.lock(&path, MODE);
            let now = RefMap::read_one(directory, &change.name, &Packed::default());
            let now = now.map_err(|error| Failure::Unreadable(error.to_string()))?;
            if now == change.after {
                written.push(change.name.clone());
                continue;
            }
            let is_free = match locked {
                Ok(()) => now == change.before,
                Err(TransactionError::InTheWay(_)) => false,
                Err(error) => return Err(error.into()),
            };
            let staged = match &change.after {
                _ if !is_free => Err(TransactionError::InTheWay(path.clone())),
                Some(value) => self.transaction.write(&path, &value.content()),
                None => self.transaction.remove(&path),
            };
            match staged {
                Ok(()) => {
                    self.is_empty = false;
                    written.push(change.name.clone());
                }
                Err(TransactionError::InTheWay(_)) => self.keep(&area.prefix, change)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(written)
    }

    /// Writes a file that git does not lock, unless another program has changed it.
    fn replace(&mut self, area: &After, name: &str, changed: &Changed) -> Result<(), NotWritten> {
        let path = area.prefix.join(name);
        let now = self.git.read(&path, 1 << 20).map_err(Failure::from)?;
        if now == changed.after {
            return Ok(());
        }
        if now != changed.before {
            self.notes.push(Note::LeftOut(vec![path.display().to_string()]));
            return Ok(());
        }
        match &changed.after {
            Some(text) => self.transaction.put(&path, text, MODE)?,
            None => self.transaction.discard(&path)?,
        }
        self.is_empty = false;
        Ok(())
    }
}

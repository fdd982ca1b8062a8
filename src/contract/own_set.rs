//! What a session itself says of what it may do, apart from what its parent says.

use std::path::PathBuf;

use toolwright_policy::{CompileError, Declared, Effective, Union, Variables};

use super::policy::Policy;

/// One of the sets that all have to allow.
#[derive(Debug, Clone)]
pub(super) struct OwnSet {
    members: Vec<Declared>,
    /// All of it but what depends on `{ad-hoc}`.
    fixed: Union,
}

impl OwnSet {
    pub(super) fn compile(
        members: Vec<Declared>,
        variables: &Variables,
    ) -> Result<Self, CompileError> {
        let without = Variables { ad_hoc: Vec::new(), ..variables.clone() };
        Ok(Self { fixed: Union::compile(&members, &without)?, members })
    }

    fn with(&self, ad_hoc: &[PathBuf]) -> Result<Union, CompileError> {
        Ok(self.fixed.or(&Union::ad_hoc(&self.members, ad_hoc)?))
    }
}

/// All that have to allow what is done: the parent's sets as they are, then its own.
pub(super) fn effective(
    parent: Option<&Policy>,
    own: &[OwnSet],
    ad_hoc: &[PathBuf],
) -> Result<Effective, CompileError> {
    let above = parent.map_or(&[][..], |parent| parent.effective.sets());
    let own = own.iter().map(|set| set.with(ad_hoc));
    let all = above.iter().cloned().map(Ok).chain(own);
    all.collect::<Result<_, _>>().map(Effective::new)
}

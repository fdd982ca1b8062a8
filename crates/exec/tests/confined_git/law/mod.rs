//! The law of git in commands: the person's git behaves as if a command had been a remote that was fetched from,
//! and a work tree that was edited.
//!
//! Each test has a fraction of its cases in an ordinary run. `TOOLWRIGHT_SOAK_FACTOR` multiplies it, and
//! `TOOLWRIGHT_SEED` chooses other cases.

mod between;
mod entries;
mod generator;
mod home;
mod later;
mod matrix;
mod meanwhile;
mod places;
mod seen;
mod steps;
mod swaps;

use std::fs;
use std::path::{Path, PathBuf};

pub(super) use self::seen::tree;
use super::support::factor;
use super::{Scene, has_namespaces};

/// A person's project: a repository with a submodule, one that is not there, two linked work trees, a repository
/// below and a bare one. Its attributes name drivers that the person does not have.
const PROJECT: &str = "git init -q . && printf '* filter=x diff=x merge=x\\n*.none filter=lfs\\n' > .gitattributes \
    && echo one > a && mkdir d && echo d > d/f && git add -A && git commit -qm first \
    && git remote add origin $BESIDE/up.git && git fetch -q origin && echo two >> a && git commit -qam second \
    && git submodule --quiet add $BESIDE/lib sub && git commit -qm sub && git switch -qc other && echo o > o && git add o \
    && git commit -qm other && git switch -q main && git branch side && git worktree add -q wt && git worktree add -q $BESIDE/tree \
    && git update-index --add --cacheinfo 160000,$(git -C $BESIDE/lib rev-parse HEAD),gl && mkdir gl \
    && git config -f .gitmodules submodule.gl.path gl && git config -f .gitmodules submodule.gl.url $BESIDE/lib && git add .gitmodules \
    && git commit -qm gl && git init -q --bare b.git && git push -q ./b.git main && git init -q own && cd own && echo own > o && git add o \
    && git commit -qm own && cd .. && for k in PGP SSH; do git branch signed-$k $(git cat-file commit HEAD \
    | sed \"s/^committer.*/&\\ngpgsig -----BEGIN $k SIGNATURE-----\\n \\n x\\n -----END $k SIGNATURE-----/\" | git hash-object -t commit -w --stdin); done \
    && printf 'wt\\nown\\nb.git\\n' >> .git/info/exclude && git status --porcelain";

/// A program of the command: it tells that it has run, by whom and where.
const CANARY: &str = "#!/bin/sh\n{ echo \"$0 $*\"; tr '\\0' ' ' < /proc/$PPID/cmdline; echo; pwd; } >> $RAN\nexit 1\n";

/// What the person has outside of the root.
const VICTIM: &str = "the person's\n";

/// Numbers that a seed decides (`SplitMix64`).
#[derive(Clone)]
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).expect("small")).expect("small")
    }

    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// The seed of a run.
pub(super) fn seed() -> u64 {
    let given = std::env::var("TOOLWRIGHT_SEED").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(20_261_128)
}

/// A project that is made once and put back before each case.
pub(super) struct Grounds {
    pub(super) scene: Scene,
    pub(super) ran: PathBuf,
    pub(super) victim: PathBuf,
    kept: PathBuf,
}

impl Grounds {
    pub(super) fn new(prepare: &str) -> Self {
        let scene = Scene::new(prepare);
        let outside = &scene.place.outside;
        let (ran, victim) = (outside.join("ran"), outside.join("victim"));
        fs::write(&victim, VICTIM).expect("written");
        let canary = CANARY.replace("$RAN", &ran.display().to_string());
        scene.put("../beside/canary", &canary);
        let kept = outside.join("kept");
        fs::create_dir(&kept).expect("made");
        let grounds = Self { scene, ran, victim, kept };
        grounds.copy("cp -a $ROOT $KEPT/root; cp -a $BESIDE $KEPT/beside");
        grounds
    }

    /// How it was at first, in the same places.
    pub(super) fn restore(&self) {
        self.copy(
            "chmod -R u+rwX $ROOT; find $ROOT -mindepth 1 -delete; cp -a $KEPT/root/. $ROOT/; rm -rf $BESIDE; cp -a $KEPT/beside $BESIDE",
        );
        let _ = fs::remove_file(&self.ran);
        fs::write(&self.victim, VICTIM).expect("written");
    }

    fn copy(&self, script: &str) {
        let script =
            format!("ROOT={} KEPT={}; {script}", self.root().display(), self.kept.display());
        let shown = self.scene.on_host(&self.scene.place.outside, &script);
        assert!(shown.ends_with("[Some(0)]"), "{shown}");
    }

    pub(super) fn root(&self) -> &Path {
        &self.scene.place.root
    }

    /// A text of the tables.
    pub(super) fn filled(&self, text: &str) -> String {
        text.replace("%C", &self.scene.beside.join("canary").display().to_string())
            .replace("%V", &self.victim.display().to_string())
            .replace("%R", &self.root().display().to_string())
    }

    /// What a program of the command or its text has done, if it has.
    pub(super) fn effect(&self) -> Option<String> {
        if let Ok(ran) = fs::read_to_string(&self.ran) {
            return Some(format!("ran: {ran}"));
        }
        let victim = fs::read_to_string(&self.victim).unwrap_or_default();
        (victim != VICTIM).then(|| format!("the person's file: {victim}"))
    }
}

/// Names what went wrong, and how many of how many.
pub(super) fn none_of(wrong: &[String], count: usize) {
    eprintln!("{} effects in {count} cases, seed {}", wrong.len(), seed());
    assert!(
        wrong.is_empty(),
        "{} of {count}, seed {}\n\n{}",
        wrong.len(),
        seed(),
        wrong.join("\n\n")
    );
}

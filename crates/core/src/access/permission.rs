//! The permission law: how rules decide about a call.
//!
//! A session has rules of its own and keeps to those of every session above it. Each list judges the
//! call by itself, and the strictest judgement counts, with two exceptions: what a session above would
//! ask about is answered where the user's own rules below it allow the call, and a tool that requires
//! nothing needs no rule in any of the lists.
//!
//! The chain is folded from the outermost session inwards, so what a session may do never depends on
//! the sessions below it.

use std::path::Path;
use std::sync::Arc;

use toolwright_policy::{Action, Decided, Resource, Rules, Ruling, Subject};

/// One thing that a call touches.
#[derive(Debug, Clone, Copy)]
pub struct Touched<'a> {
    /// What is done to what.
    pub subject: Subject<'a>,
    /// It lies in one of the session's own directories. Only a deny of a manifest closes such a file;
    /// a command that runs there is decided about like any other.
    pub is_implicit: bool,
    /// The commands of a command line that need no rule.
    pub exempt: &'a [String],
}

/// A call to decide about.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's identifier.
    pub tool: &'a str,
    /// What the call touches.
    pub touched: &'a [Touched<'a>],
    /// The tool requires no capability.
    pub requires_nothing: bool,
}

/// How strict a judgement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strictness {
    /// The call is made.
    Allow,
    /// The user is asked because no rule mentions the subject.
    AskUnmentioned,
    /// The user is asked because a rule says so.
    AskByRule,
    /// The call is refused.
    Deny,
    /// A manifest refuses the call: no user can allow it.
    FinalDeny,
}

impl Strictness {
    fn of(ruling: &Ruling) -> Self {
        match ruling.action {
            Action::Allow => Self::Allow,
            Action::Ask if ruling.rule.is_none() => Self::AskUnmentioned,
            Action::Ask => Self::AskByRule,
            Action::Deny if ruling.is_final => Self::FinalDeny,
            Action::Deny => Self::Deny,
        }
    }

    /// What becomes of the call.
    #[must_use]
    pub fn action(self) -> Action {
        match self {
            Self::Allow => Action::Allow,
            Self::AskUnmentioned | Self::AskByRule => Action::Ask,
            Self::Deny | Self::FinalDeny => Action::Deny,
        }
    }
}

/// What one list of rules says of a call, or what a chain of them does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Judgement {
    strictness: Strictness,
    /// No rule matched the call of a tool that needs none.
    is_open: bool,
    /// The rules of the session and the project alone allow all of it.
    user_allows: bool,
}

impl From<Ruling> for Judgement {
    fn from(ruling: Ruling) -> Self {
        Self {
            strictness: Strictness::of(&ruling),
            is_open: false,
            user_allows: ruling.user_allows,
        }
    }
}

/// Folds the judgements of a chain, the session's own first, and names the list that decides.
fn fold(
    judgements: impl DoubleEndedIterator<Item = Judgement> + ExactSizeIterator,
) -> Option<(usize, Judgement)> {
    judgements.enumerate().rev().fold(None, |above, (index, own)| {
        let Some((level, above)) = above else { return Some((index, own)) };
        let is_answered = above.strictness.action() == Action::Ask && own.user_allows;
        let defers = if is_answered || above.is_open {
            false
        } else {
            own.is_open || above.strictness > own.strictness
        };
        let user_allows = own.user_allows && (is_answered || above.user_allows);
        let (level, judgement) = if defers { (level, above) } else { (index, own) };
        Some((level, Judgement { user_allows, ..judgement }))
    })
}

/// Decides about reading one file by itself: what a search asks about each file that it meets.
pub(super) fn judge_file(
    chain: &[Arc<Rules>],
    tool: &str,
    real_path: &Path,
    is_implicit: bool,
) -> Strictness {
    let mut rulings = chain.iter().map(|rules| rules.about_path(tool, "fs.read", real_path));
    if is_implicit {
        let is_closed = rulings.any(|ruling| ruling.is_final);
        return if is_closed { Strictness::FinalDeny } else { Strictness::Allow };
    }
    fold(rulings.map(Judgement::from))
        .map_or(Strictness::AskUnmentioned, |(_, judgement)| judgement.strictness)
}

/// What was decided about a call.
#[derive(Debug, Clone)]
pub struct CallVerdict {
    /// How strict the decision is, and so what becomes of the call.
    pub strictness: Strictness,
    /// Some rule of the deciding list matched something.
    pub is_matched: bool,
    /// The rules of sessions and projects alone allow all of it.
    pub user_allows: bool,
    /// The list that decided, by its index in the chain.
    pub level: usize,
    /// The first subject that is judged as strictly as the call, by its index in `decided`.
    pub decisive: Option<usize>,
    /// What that list says: one entry for each subject, and for each command of a command line.
    pub decided: Vec<Decided>,
}

/// Decides about a call by a chain of rules, the session's own first.
#[must_use]
pub fn decide(chain: &[Arc<Rules>], call: &Call<'_>) -> CallVerdict {
    let (implicit, explicit): (Vec<Touched<'_>>, Vec<Touched<'_>>) =
        call.touched.iter().partition(|touched| {
            touched.is_implicit && matches!(touched.subject.resource, Resource::Path(_))
        });
    if !implicit.is_empty() {
        let verdict = decide_implicit(chain, call.tool, &implicit);
        if verdict.strictness == Strictness::FinalDeny || explicit.is_empty() {
            return verdict;
        }
    }
    if !explicit.is_empty() {
        return decide_explicit(chain, call, &explicit);
    }
    // A call that touches nothing is judged by its tool.
    let subject = Subject { capability: call.tool, resource: Resource::Text("") };
    let verdict =
        decide_explicit(chain, call, &[Touched { subject, is_implicit: false, exempt: &[] }]);
    if call.requires_nothing && !verdict.is_matched {
        return CallVerdict { strictness: Strictness::Allow, ..verdict };
    }
    verdict
}

/// Files of the session itself need no rule; only a manifest can close them.
fn decide_implicit(chain: &[Arc<Rules>], tool: &str, touched: &[Touched<'_>]) -> CallVerdict {
    let subjects: Vec<Subject<'_>> = touched.iter().map(|touched| touched.subject).collect();
    let mut lists = chain.iter().map(|rules| rules.evaluate(tool, &subjects)).enumerate();
    let closed = lists.find_map(|(level, decided)| {
        let decisive = decided.iter().position(|decided| decided.ruling.is_final)?;
        Some((level, decisive, decided))
    });
    match closed {
        Some((level, decisive, decided)) => CallVerdict {
            strictness: Strictness::FinalDeny,
            is_matched: true,
            user_allows: false,
            level,
            decisive: Some(decisive),
            decided,
        },
        None => CallVerdict {
            strictness: Strictness::Allow,
            is_matched: false,
            user_allows: true,
            level: 0,
            decisive: None,
            decided: Vec::new(),
        },
    }
}

fn decide_explicit(chain: &[Arc<Rules>], call: &Call<'_>, touched: &[Touched<'_>]) -> CallVerdict {
    let subjects: Vec<Subject<'_>> = touched.iter().map(|touched| touched.subject).collect();
    let lists: Vec<Vec<Decided>> =
        chain.iter().map(|rules| judged(rules, call.tool, &subjects, touched)).collect();
    let judgements = lists.iter().map(|decided| judgement(decided, call.requires_nothing));
    let unmentioned =
        Judgement { strictness: Strictness::AskUnmentioned, is_open: false, user_allows: false };
    let (level, judgement) = fold(judgements).unwrap_or((0, unmentioned));
    let decided = lists.into_iter().nth(level).unwrap_or_default();
    CallVerdict {
        strictness: judgement.strictness,
        is_matched: is_matched(&decided),
        user_allows: judgement.user_allows,
        level,
        decisive: decided
            .iter()
            .position(|decided| Strictness::of(&decided.ruling) == judgement.strictness),
        decided,
    }
}

fn is_matched(decided: &[Decided]) -> bool {
    decided.iter().any(|decided| decided.ruling.rule.is_some())
}

/// What one list says of a call. Without a rule, only an exempt command is allowed.
fn judgement(decided: &[Decided], requires_nothing: bool) -> Judgement {
    let is_exempt = |ruling: &Ruling| ruling.rule.is_none() && ruling.action == Action::Allow;
    let rulings = || decided.iter().map(|decided| &decided.ruling);
    let mut judged = rulings().filter(|ruling| !is_exempt(ruling)).peekable();
    Judgement {
        strictness: rulings().map(Strictness::of).max().unwrap_or(Strictness::Allow),
        is_open: requires_nothing && !is_matched(decided),
        user_allows: judged.peek().is_some() && judged.all(|ruling| ruling.user_allows),
    }
}

/// What one list says of each subject. An exempt command counts as allowed where no rule mentions it
/// and it is known before it runs.
fn judged(
    rules: &Rules,
    tool: &str,
    subjects: &[Subject<'_>],
    touched: &[Touched<'_>],
) -> Vec<Decided> {
    let mut decided = rules.evaluate(tool, subjects);
    let is_exempt = |one: &Decided| {
        let names_it = |touched: &Touched<'_>| {
            touched.subject.capability == one.capability && touched.exempt.contains(&one.resource)
        };
        one.ruling.rule.is_none() && one.restricted.is_none() && touched.iter().any(names_it)
    };
    for one in &mut decided {
        if is_exempt(one) {
            one.ruling.action = Action::Allow;
        }
    }
    decided
}

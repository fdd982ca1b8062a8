//! Which files there are, which state each belongs to, and what each may contain.
//!
//! The files are those that git 2.20 to 2.50 writes for an operation that has stopped. What is not in this list
//! is none of a state's: with it, the state is not carried.

use std::path::Path;

use super::text::{self, Rule};
use super::{Kind, bisect, options, todo};
use crate::log::is_printable;

/// What a file of a state may be.
#[derive(Clone, Copy)]
pub(super) enum Grammar {
    /// Its content follows a rule.
    Rule(Rule),
    /// Git makes it anew. It is not carried, and its state is without it.
    Transient,
}

use Grammar::{Rule as Is, Transient};

/// The files that are not in a directory of their own.
pub(super) const FILES: [(&str, Kind, Grammar); 27] = [
    ("MERGE_HEAD", Kind::Operation, Is(text::ids)),
    ("MERGE_MODE", Kind::Operation, Is(merge_mode)),
    ("MERGE_MSG", Kind::Operation, Is(text::message)),
    ("MERGE_AUTOSTASH", Kind::Operation, Is(text::id)),
    ("MERGE_RR", Kind::Operation, Transient),
    ("SQUASH_MSG", Kind::Operation, Is(text::message)),
    ("CHERRY_PICK_HEAD", Kind::Operation, Is(text::id)),
    ("REVERT_HEAD", Kind::Operation, Is(text::id)),
    ("REBASE_HEAD", Kind::Operation, Is(text::id)),
    ("AUTO_MERGE", Kind::Operation, Is(text::id)),
    ("BISECT_START", Kind::Bisection, Is(bisect::start)),
    ("BISECT_LOG", Kind::Bisection, Is(bisect::log)),
    ("BISECT_NAMES", Kind::Bisection, Is(bisect::names)),
    ("BISECT_TERMS", Kind::Bisection, Is(bisect::terms)),
    ("BISECT_EXPECTED_REV", Kind::Bisection, Is(text::id)),
    ("BISECT_HEAD", Kind::Bisection, Is(text::id)),
    ("BISECT_ANCESTORS_OK", Kind::Bisection, Is(text::nothing)),
    ("BISECT_FIRST_PARENT", Kind::Bisection, Is(text::nothing)),
    ("BISECT_RUN", Kind::Bisection, Transient),
    ("COMMIT_EDITMSG", Kind::CommitMessage, Is(text::message)),
    ("ORIG_HEAD", Kind::OriginalHead, Is(text::id)),
    ("FETCH_HEAD", Kind::FetchHead, Is(fetch_head)),
    ("shallow", Kind::Shallow, Is(text::ids_or_nothing)),
    ("info/exclude", Kind::Exclude, Is(text::message)),
    ("info/sparse-checkout", Kind::SparseCheckout, Is(text::message)),
    ("TAG_EDITMSG", Kind::CommitMessage, Transient),
    ("NOTES_EDITMSG", Kind::CommitMessage, Transient),
];

/// The directories of states, with the files that each must have.
pub(super) const DIRECTORIES: [(&str, &[&str]); 3] = [
    ("rebase-merge", &["head-name", "onto", "orig-head"]),
    ("rebase-apply", &["next", "last"]),
    ("sequencer", &["todo"]),
];

/// The grammar of a file in one of the directories.
pub(super) fn in_directory(directory: &str, file: &str) -> Option<Grammar> {
    match directory {
        "rebase-merge" => rebase_merge(file),
        "rebase-apply" => rebase_apply(file),
        "sequencer" => sequencer(file),
        _ => None,
    }
}

/// The state that a path belongs to.
pub(super) fn kind(path: &Path) -> Option<Kind> {
    let file = FILES.iter().find(|(name, ..)| path == Path::new(name)).map(|(_, kind, _)| *kind);
    let is_below = |(directory, _): &(&str, _)| path.starts_with(directory);
    file.or_else(|| DIRECTORIES.iter().any(is_below).then_some(Kind::Operation))
}

fn rebase_merge(file: &str) -> Option<Grammar> {
    Some(Is(match file {
        "git-rebase-todo" | "git-rebase-todo.backup" | "done" | "dropped" => todo::rebase,
        "head-name" => head_name,
        "onto" | "orig-head" | "autostash" | "squash-onto" => text::id,
        "stopped-sha" | "amend" => text::short_id,
        "msgnum" | "end" => text::number,
        "message" | "message-squash" | "message-fixup" => text::message,
        "patch" => text::text,
        "author-script" => options::author_script,
        "current-fixups" => todo::fixups,
        "rewritten-list" => text::pairs,
        "rewritten-pending" => text::ids_or_nothing,
        "update-refs" => todo::update_refs,
        "refs-to-delete" => todo::labels,
        "strategy" => options::strategy,
        "strategy_opts" => options::strategy_options,
        "quiet" | "signoff" => flag,
        "allow_rerere_autoupdate" => rerere,
        "interactive"
        | "verbose"
        | "drop_redundant_commits"
        | "keep_redundant_commits"
        | "cdate_is_adate"
        | "ignore_date"
        | "reschedule-failed-exec"
        | "no-reschedule-failed-exec" => text::nothing,
        _ => return None,
    }))
}

fn rebase_apply(file: &str) -> Option<Grammar> {
    let is_mail = file.len() >= 4 && file.bytes().all(|byte| byte.is_ascii_digit());
    Some(Is(match file {
        _ if is_mail => text::text,
        "next" | "last" => text::number,
        "threeway" | "quiet" | "sign" | "utf8" | "messageid" | "rerere-autoupdate"
        | "dirtyindex" => flag_or_boolean,
        "keep" | "scissors" | "quoted-cr" => word,
        "apply-opt" => options::apply_options,
        "rebasing" | "applying" | "verbose" => text::nothing,
        "abort-safety" => text::id_or_nothing,
        "onto" | "orig-head" | "head" | "autostash" | "original-commit" => text::id,
        "head-name" => head_name,
        "signoff" => flag,
        "allow_rerere_autoupdate" => rerere,
        "author-script" => options::author_script,
        "final-commit" => text::message,
        "patch" | "info" | "msg" | "msg-clean" => text::text,
        "rewritten" => text::pairs,
        "patch-merge-index" => return Some(Transient),
        _ => return None,
    }))
}

fn sequencer(file: &str) -> Option<Grammar> {
    Some(Is(match file {
        "todo" => todo::pick_or_revert,
        "head" => text::id,
        "abort-safety" => text::id_or_nothing,
        "opts" => options::pick_options,
        _ => return None,
    }))
}

fn merge_mode(content: &[u8]) -> bool {
    matches!(text::line(content), b"" | b"no-ff")
}

fn head_name(content: &[u8]) -> bool {
    let name = text::line(content);
    name == b"detached HEAD" || todo::is_branch(name)
}

fn flag(content: &[u8]) -> bool {
    matches!(text::line(content), b"" | b"t" | b"-q" | b"--signoff")
}

fn flag_or_boolean(content: &[u8]) -> bool {
    text::boolean(content) || flag(content)
}

fn word(content: &[u8]) -> bool {
    text::line(content).iter().all(u8::is_ascii_lowercase) && content.len() < 16
}

fn rerere(content: &[u8]) -> bool {
    matches!(text::line(content), b"--rerere-autoupdate" | b"--no-rerere-autoupdate")
}

fn fetch_head(content: &[u8]) -> bool {
    text::lines(content, |line| {
        let mut fields = line.splitn(3, |byte| *byte == b'\t');
        fields.next().is_some_and(text::is_id)
            && fields.next().is_some_and(|mark| matches!(mark, b"" | b"not-for-merge"))
            && fields.next().is_some_and(is_printable)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIRECTORY_FILES: [(&str, &str); 12] = [
        ("rebase-merge", "git-rebase-todo"),
        ("rebase-merge", "head-name"),
        ("rebase-merge", "author-script"),
        ("rebase-merge", "current-fixups"),
        ("rebase-merge", "rewritten-list"),
        ("rebase-merge", "update-refs"),
        ("rebase-merge", "refs-to-delete"),
        ("rebase-merge", "strategy_opts"),
        ("rebase-apply", "apply-opt"),
        ("rebase-apply", "keep"),
        ("sequencer", "todo"),
        ("sequencer", "opts"),
    ];

    fn rules() -> impl Iterator<Item = Rule> {
        let files = FILES.iter().map(|(.., grammar)| *grammar);
        let others =
            DIRECTORY_FILES.iter().filter_map(|(directory, file)| in_directory(directory, file));
        files.chain(others).filter_map(|grammar| match grammar {
            Is(rule) => Some(rule),
            Transient => None,
        })
    }

    /// As git reads a list: it skips white space, and takes `x` for `exec`.
    fn runs_a_program(content: &[u8]) -> bool {
        content.split(|byte| *byte == b'\n').any(|line| {
            let line = line.trim_ascii_start();
            let rest = line.strip_prefix(b"exec").or_else(|| line.strip_prefix(b"x"));
            rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_panic(
            noise in any::<Vec<u8>>(),
            text in "(pick|merge|-C|exec|label|[0-9a-f]{40}|'|\\\\|=| |\n|\t|refs/heads/|GIT_AUTHOR_NAME=|#|--ours){0,30}",
        ) {
            for rule in rules() {
                let _ = (rule(&noise), rule(text.as_bytes()));
            }
        }

        #[test]
        fn no_list_runs_a_program(
            lines in proptest::collection::vec(
                "[ \t\r]{0,2}(exec|x|pick|p|#|break|label|merge)[ \t\r]{0,2}(touch x|11111111|x|#|)[ \t\r]{0,1}", 0..4,
            ),
        ) {
            let content = lines.iter().fold(String::new(), |text, line| text + line + "\n");
            if todo::rebase(content.as_bytes()) || todo::pick_or_revert(content.as_bytes()) {
                prop_assert!(!runs_a_program(content.as_bytes()), "{content:?}");
            }
        }
    }
}

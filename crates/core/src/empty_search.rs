//! Why a search is empty, or not whole: what was left out, and what was meant.

mod other_pattern;
mod regex_as_glob;

use std::path::Path;

use toolwright_search::{
    GrepError, LeftOuts, Nearby, OpenFile, Scope, SearchLeftOuts, SecondLook, Way, Why, escaped,
};

use crate::voice::Door;
use crate::voice::searches::empty::{self, Argument, Named, NoName, at_door};
pub(crate) use other_pattern::{any_of, other_patterns};
use regex_as_glob::glob_like;

/// A pattern for names, and how its reader knows paths.
#[derive(Clone, Copy)]
pub(crate) struct AskedNames<'a> {
    pub(crate) pattern: &'a str,
    pub(crate) argument: Argument,
    /// The paths of directories that a pattern may begin with, absolute.
    pub(crate) root: &'a Path,
    /// The path of a file below the search's root, as the tools take it.
    pub(crate) display: &'a dyn Fn(&Path) -> String,
}

/// What a search has left out that its reader should know, although it has found something.
pub(crate) fn notes(
    left_out: &SearchLeftOuts,
    display: &dyn Fn(&Path) -> String,
    door: Door,
) -> Vec<String> {
    let SearchLeftOuts { asked, by_name, .. } = left_out;
    let mut notes = Vec::new();
    let is_git = asked.named.iter().any(|one| one.why == Why::Git);
    if is_git {
        notes.push(at_door(empty::GIT, door));
    } else if asked.total > 0 {
        notes.push(at_door(&empty::asked(&named(asked, display), asked.total), door));
    }
    if by_name.total > 0 {
        notes.push(at_door(&empty::by_name(&named(by_name, display), by_name.total), door));
    }
    notes
}

pub(crate) fn named(some: &LeftOuts, display: &dyn Fn(&Path) -> String) -> Vec<Named> {
    let one = |one: &toolwright_search::LeftOut| Named { path: display(&one.path), why: one.why };
    some.named.iter().map(one).collect()
}

impl AskedNames<'_> {
    /// The sentence for a search in which no name matched.
    pub(crate) fn sentence(
        &self,
        scope: &Scope<'_>,
        left_out: &SearchLeftOuts,
        open: &OpenFile<'_>,
    ) -> Result<String, GrepError> {
        if left_out.asked.named.iter().any(|one| one.why == Why::Git) {
            return Ok(empty::GIT.to_owned());
        }
        let reason = self.reason(scope, open)?;
        Ok(empty::no_names(self.pattern, self.argument, &reason))
    }

    fn reason(&self, scope: &Scope<'_>, open: &OpenFile<'_>) -> Result<NoName, GrepError> {
        if let Some(reason) = self.outside() {
            return Ok(reason);
        }
        let glob = glob_like(self.pattern);
        let inner = inner(self.pattern);
        let wider: Vec<_> = inner.iter().cloned().chain(wider(self.pattern)).collect();
        let plain = |glob: &String| Way { glob: glob.clone(), any_case: false };
        let mut ways: Vec<Way> = glob.iter().chain(&wider).map(plain).collect();
        ways.push(Way { glob: self.pattern.to_owned(), any_case: true });
        let nearby = SecondLook { scope, pattern: self.pattern, ways: &ways }.look(open)?;
        let Nearby { left_out, left_out_total, directory, found } = nearby;
        if let [(first, from), ..] = &*left_out {
            let is_same = |way: &Option<_>| way == from;
            let from = from.as_deref().filter(|_| left_out.iter().all(|(_, way)| is_same(way)));
            let (named, total) = match from {
                // One move shows those that are named, or the first.
                None if left_out.iter().any(|(_, way)| way.is_some()) => {
                    (vec![self.named(&first.path, first.why)], 1)
                }
                _ => {
                    let named = left_out.iter().map(|(one, _)| self.named(&one.path, one.why));
                    (named.collect(), left_out_total)
                }
            };
            let from = from.map(|from| (self.display)(from));
            return Ok(NoName::LeftOut { named, total, from });
        }
        if let Some((path, why)) = directory {
            let relative = path.strip_prefix(scope.start).unwrap_or(&path);
            let inside = format!("{}/**", escaped(&relative.to_string_lossy()));
            return Ok(NoName::Directory { path: (self.display)(&path), inside, why });
        }
        let mut found = ways.into_iter().zip(found);
        if let Some(glob) = glob {
            let finds = found.next().and_then(|(_, found)| found);
            let finds = finds.map(|path| (self.display)(&path));
            return Ok(NoName::Regex { glob, finds });
        }
        let first = found.find_map(|(way, found)| found.map(|found| (way, found)));
        Ok(first.map_or(NoName::Nothing, |(way, path)| {
            if way.any_case {
                let relative = path.strip_prefix(scope.start).unwrap_or(&path);
                return NoName::OtherCase { glob: escaped(&relative.to_string_lossy()) };
            }
            if inner.contains(&way.glob) {
                return NoName::Outside { inside: Some(way.glob) };
            }
            NoName::Wider { glob: way.glob, finds: (self.display)(&path) }
        }))
    }

    fn named(&self, path: &Path, why: Why) -> Named {
        Named { path: (self.display)(path), why }
    }

    /// A pattern that begins outside of what is searched.
    fn outside(&self) -> Option<NoName> {
        let pattern = self.pattern;
        if let Ok(inside) = Path::new(pattern).strip_prefix(self.root)
            && !inside.as_os_str().is_empty()
        {
            return Some(NoName::Outside { inside: Some(inside.to_string_lossy().into_owned()) });
        }
        let leads_out = pattern.starts_with('~') || pattern == ".." || pattern.starts_with("../");
        leads_out.then_some(NoName::Outside { inside: None })
    }
}

/// The ends of an absolute pattern, whose directories may be those of another machine.
fn inner(pattern: &str) -> Vec<String> {
    const MAX_DEPTH: usize = 8;
    let Some(relative) = pattern.strip_prefix('/') else { return Vec::new() };
    let mut all = Vec::new();
    let mut rest = relative;
    while let Some((first, end)) = rest.split_once('/') {
        if all.len() == MAX_DEPTH || end.is_empty() || first.contains(['*', '?', '[', '{']) {
            break;
        }
        all.push(end.to_owned());
        rest = end;
    }
    all
}

/// Patterns that match more: at any depth, and a part of the name.
fn wider(pattern: &str) -> Vec<String> {
    let pattern = pattern.trim_start_matches('/').trim_end_matches('/');
    if pattern.is_empty() || pattern.starts_with('!') {
        return Vec::new();
    }
    let mut all = Vec::new();
    let is_deep = pattern.starts_with("**/");
    if pattern.contains('/') && !is_deep {
        all.push(format!("**/{pattern}"));
    }
    let (above, name) =
        pattern.rsplit_once('/').map_or(("", pattern), |(above, name)| (above, name));
    if !name.is_empty() && !name.contains(['*', '?', '[', '{']) {
        let part = if above.is_empty() { format!("*{name}*") } else { format!("{above}/*{name}*") };
        all.push(part);
        if !above.is_empty() && !is_deep {
            all.push(format!("*{name}*"));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_patterns_match_deeper_and_parts() {
        assert_eq!(wider("page"), ["*page*"]);
        assert_eq!(wider("app/page"), ["**/app/page", "app/*page*", "*page*"]);
        assert_eq!(wider("/src/*.ts"), ["**/src/*.ts"]);
        assert_eq!(wider("**/page"), ["**/*page*"]);
        assert_eq!(inner("/repo/src/**/*.ts"), ["src/**/*.ts", "**/*.ts"]);
        assert!(inner("src/*.ts").is_empty() && inner("/*").is_empty() && inner("/a/").is_empty());
        assert!(wider("!x").is_empty() && wider("/").is_empty());
    }
}

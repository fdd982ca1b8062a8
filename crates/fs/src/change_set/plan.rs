//! The plan of a change set, as it lies on the disk.
//!
//! It has two parts, each with a checksum. The first says which directories the set makes and works
//! in, and is there before anything else. The second has the steps, and is there before the first of
//! them is made. A plan is text with one record in a line; names are written in hexadecimal.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::step::{Print, Step, StepKind};

const TITLE: &str = "toolwright change set 1";
/// No set has a longer plan.
pub(crate) const MAX_BYTES: u64 = 256 << 20;

/// What a change set does. All paths are relative to the directory of the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The directories that the set makes, outer ones first.
    pub(crate) made: Vec<PathBuf>,
    /// The directories that it works in.
    pub(crate) directories: Vec<PathBuf>,
    /// The directories to remove at the end if they are empty, outer ones first.
    pub(crate) emptied: Vec<PathBuf>,
    /// The steps, in their order.
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    /// The first part.
    pub(crate) fn outline(&self) -> String {
        let mut text = format!("{TITLE}\n");
        for (word, paths) in
            [("made", &self.made), ("in", &self.directories), ("emptied", &self.emptied)]
        {
            for path in paths {
                let _ = writeln!(text, "{word} {}", hex(path.as_os_str()));
            }
        }
        seal(&mut text);
        text
    }

    /// The second part.
    pub(crate) fn steps(&self) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let Step { kind, directory, name, sequence, new, out } = step;
            let _ = write!(text, "{} {directory:x} {sequence:x}", kind.word());
            for print in [new, out] {
                match print {
                    Some(Print { inode, size, seconds, nanoseconds }) => {
                        let _ = write!(text, " {inode},{size},{seconds},{nanoseconds}");
                    }
                    None => text.push_str(" -"),
                }
            }
            let _ = writeln!(text, " {}", hex(name));
        }
        seal(&mut text);
        text
    }

    /// Reads a plan. One that is only outlined has no steps; `None` if even its outline is
    /// incomplete. `true` if it is complete.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, bool)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (outline, steps) = unseal(text)?;
        let mut plan = Self::default();
        let mut lines = outline.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        for line in lines {
            let (word, path) = line.split_once(' ')?;
            let paths = match word {
                "made" => &mut plan.made,
                "in" => &mut plan.directories,
                "emptied" => &mut plan.emptied,
                _ => return None,
            };
            paths.push(unhex(path).map(PathBuf::from).filter(|path| is_below(path))?);
        }
        let Some((steps, "")) = unseal(steps) else { return Some((plan, false)) };
        for line in steps.lines() {
            plan.steps.push(step(line, plan.directories.len())?);
        }
        // A plan with several steps of one file would be a way to guess what state it has.
        let mut names = HashSet::with_capacity(plan.steps.len());
        let is_set = plan.steps.iter().all(|step| names.insert((step.directory, &step.name)));
        is_set.then_some((plan, true))
    }
}

fn step(line: &str, directories: usize) -> Option<Step> {
    let mut fields = line.split_ascii_whitespace();
    let kind = StepKind::of(fields.next()?)?;
    let directory = usize::from_str_radix(fields.next()?, 16).ok()?;
    let sequence = u64::from_str_radix(fields.next()?, 16).ok()?;
    let (new, out) = (print(fields.next()?), print(fields.next()?));
    let name = unhex(fields.next()?)?;
    // A name and not a path.
    let is_name = Path::new(&name).file_name() == Some(&name);
    let step = Step { kind, directory, name, sequence, new, out };
    (directory < directories && is_name && step.is_consistent()).then_some(step)
}

/// Reads a print that a step of its kind may have or not.
fn print(field: &str) -> Option<Print> {
    let mut numbers = field.split(',').map(|number| number.parse::<i128>().ok());
    let mut next = || numbers.next().flatten();
    Some(Print { inode: next()?, size: next()?, seconds: next()?, nanoseconds: next()? })
}

/// Ends a part.
fn seal(text: &mut String) {
    let sum = checksum(text);
    let _ = writeln!(text, "sum {sum:x}");
}

/// Splits a part from what follows, if it is complete.
fn unseal(text: &str) -> Option<(&str, &str)> {
    const WORD: &str = "sum ";
    let at = if text.starts_with(WORD) { 0 } else { text.find("\nsum ")? + 1 };
    let (part, rest) = text.split_at(at);
    let (sum, rest) = rest.strip_prefix(WORD)?.split_once('\n')?;
    (u64::from_str_radix(sum, 16).ok()? == checksum(part)).then_some((part, rest))
}

/// FNV-1a: the sum has to be the same in every version of this program.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Whether a path leads down only. The plan's own directory has the empty path.
pub(crate) fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn hex(name: &OsStr) -> String {
    // The empty path is a field too.
    name.as_bytes().iter().fold(String::from("."), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn unhex(text: &str) -> Option<OsString> {
    let text = text.strip_prefix('.')?.as_bytes();
    let pairs = text.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok().filter(|byte| *byte != 0)
    });
    pairs.collect::<Option<Vec<u8>>>().map(OsString::from_vec)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use proptest::prelude::*;

    use super::*;

    fn name() -> impl Strategy<Value = OsString> {
        prop::collection::vec(1..=255_u8, 1..20)
            .prop_map(OsString::from_vec)
            .prop_filter("a name", |name| Path::new(name).file_name() == Some(name))
    }

    fn path() -> impl Strategy<Value = PathBuf> {
        prop::collection::vec(name(), 0..4).prop_map(|names| names.into_iter().collect())
    }

    fn print() -> impl Strategy<Value = Print> {
        any::<(u64, i64, i64, u32)>().prop_map(|(inode, size, seconds, nanoseconds)| Print {
            inode: inode.into(),
            size: size.into(),
            seconds: seconds.into(),
            nanoseconds: nanoseconds.into(),
        })
    }

    fn some_step(directories: usize) -> impl Strategy<Value = Step> {
        let kind = prop::sample::select(vec![StepKind::Create, StepKind::Update, StepKind::Delete]);
        (kind, 0..directories, name(), any::<u64>(), print(), print()).prop_map(
            |(kind, directory, name, sequence, new, out)| Step {
                kind,
                directory,
                name,
                sequence,
                new: (kind != StepKind::Delete).then_some(new),
                out: (kind != StepKind::Create).then_some(out),
            },
        )
    }

    fn plan() -> impl Strategy<Value = Plan> {
        let paths = || prop::collection::vec(path(), 1..5);
        (paths(), paths(), paths()).prop_flat_map(|(made, directories, emptied)| {
            let steps = prop::collection::vec(some_step(directories.len()), 0..8);
            steps.prop_map(move |mut steps| {
                let mut names = HashSet::new();
                steps.retain(|step| names.insert((step.directory, step.name.clone())));
                let (made, directories) = (made.clone(), directories.clone());
                Plan { made, directories, emptied: emptied.clone(), steps }
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_plan_is_read_back(plan in plan()) {
            let text = plan.outline() + &plan.steps();
            prop_assert_eq!(Plan::parse(text.as_bytes()), Some((plan, true)));
        }

        #[test]
        fn a_part_of_a_plan_is_no_plan(plan in plan(), at in any::<prop::sample::Index>()) {
            let (outline, text) = (plan.outline(), plan.outline() + &plan.steps());
            let at = at.index(text.len());
            match Plan::parse(&text.as_bytes()[..at]) {
                None => prop_assert!(at < outline.len()),
                Some((part, is_complete)) => {
                    prop_assert!(!is_complete && at >= outline.len());
                    prop_assert_eq!(part, Plan { steps: Vec::new(), ..plan });
                }
            }
        }

        #[test]
        fn any_bytes_can_be_parsed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Plan::parse(&bytes);
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_make_no_plan() {
        for path in ["..", "a/../..", "/etc", "a/.."] {
            let plan = Plan { made: vec![path.into()], ..Plan::default() };
            assert_eq!(Plan::parse((plan.outline() + &plan.steps()).as_bytes()), None, "{path}");
        }
        let step = Step {
            kind: StepKind::Create,
            directory: 0,
            name: "a".into(),
            sequence: 1,
            new: Some(Print { inode: 1, size: 1, seconds: 1, nanoseconds: 1 }),
            out: None,
        };
        let good = Plan { directories: vec!["a".into()], steps: vec![step], ..Plan::default() };
        assert!(Plan::parse((good.outline() + &good.steps()).as_bytes()).unwrap().1);
        for (name, directory) in [("..", 0), ("a/b", 0), ("", 0), (".", 0), ("a", 1)] {
            let mut bad = good.clone();
            (bad.steps[0].name, bad.steps[0].directory) = (name.into(), directory);
            assert_eq!(Plan::parse((bad.outline() + &bad.steps()).as_bytes()), None, "{name}");
        }
        let mut twice = good.clone();
        twice.steps.extend(good.steps);
        assert_eq!(Plan::parse((twice.outline() + &twice.steps()).as_bytes()), None);
    }
}

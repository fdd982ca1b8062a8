//! The law over any program: after a command, what it may not write is byte for byte what it was, whatever the command
//! wrote, and whatever the host did about that. The root is a home directory, so everything lies in it.

mod held;
mod judged;
mod place;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use toolwright_exec::{ExecEnv, ExecRequest, GitReport, GitReports, run};
use toolwright_sandbox::plan::Plan;

use super::seen::obeyed;
use super::{Grounds, Numbers, factor, has_namespaces, none_of, seed};
use crate::support::place::Place;
use crate::support::strings;
use held::{Held, Seen, seen};

/// How many home directories an ordinary run has, and how many programs run in each. A soak has 100,000 in all.
const PLACES: u64 = 2;
const PROGRAMS: u64 = 12;

/// A step may wait for a pipe.
const WATCH: &str = "(exec 3>&-; sleep 2; kill -9 $$) > /dev/null 2>&1 &";

/// What the command sees at its very end, but for git directories: the host has to leave that as it is.
const LISTED: &str =
    "exec 1>&3; find . -iname .git -type d -prune -o -printf '%i %y %s %T@ %P\\0' 2>/dev/null";

/// A home directory that is put back after each program.
struct Home {
    grounds: Grounds,
    plan: Plan,
    before: Seen,
}

impl Home {
    fn new(numbers: &mut Numbers) -> Self {
        let grounds = Grounds::new(&place::script(numbers));
        // Git has made hard links to what lies beside the root.
        grounds.restore();
        let plan = plan_of(grounds.root());
        let before = seen(&grounds.scene.place.outside, &Seen::default());
        Self { grounds, plan, before }
    }

    /// Runs a program, and returns what it printed at its end.
    fn run(&self, script: &str) -> (Vec<u8>, Vec<GitReport>) {
        let mut place = Place::confined();
        place.plan = self.plan.clone();
        let reports = GitReports::default();
        let script = format!("exec 3>&1 >/dev/null 2>&1\n{WATCH}\n{script}\n{LISTED}");
        let args = strings(&["-c", &script]);
        let variables = self.grounds.scene.variables().into_iter();
        let variables: Vec<_> =
            variables.map(|(name, value)| (name.into(), value.into())).collect();
        let request = ExecRequest {
            cwd: self.grounds.root(),
            env: ExecEnv::Exactly(variables.into()),
            git: Some(&reports),
            timeout: Duration::from_secs(20),
            ..place.request("sh", &args)
        };
        let printed = run(&request).map(|finished| finished.output.bytes).unwrap_or_default();
        (printed, reports.take())
    }

    /// Puts back what has changed.
    fn restore(&mut self) {
        let now = seen(&self.grounds.scene.place.outside, &self.before);
        let root = self.grounds.root();
        let mut changed = BTreeSet::new();
        for (path, _) in now.differences(&self.before) {
            let Ok(relative) = path.strip_prefix(root) else {
                return self.restore_all();
            };
            match relative.components().next() {
                Some(first) => drop(changed.insert(first.as_os_str().to_owned())),
                None => return self.restore_all(),
            }
        }
        if changed.is_empty() {
            return;
        }
        let mut script = Command::new("sh");
        let text = "cd \"$1\"; k=$2; shift 2; for n; do find \"./$n\" -type d -exec chmod u+rwx {} +; rm -rf \"./$n\"; cp -a \"$k/$n\" . ; done 2>/dev/null; touch -r \"$k\" .; :";
        let kept = self.grounds.scene.place.outside.join("kept/root");
        script.args(["-c", text, "sh"]).arg(root).arg(&kept).args(&changed);
        assert!(script.status().expect("sh runs").success());
        self.remember();
    }

    fn restore_all(&mut self) {
        self.grounds.restore();
        self.remember();
    }

    fn remember(&mut self) {
        self.plan = plan_of(self.grounds.root());
        self.before = seen(&self.grounds.scene.place.outside, &self.before);
    }

    /// What a program did that it may not do, or the host for it.
    fn case(&mut self, steps: &[String]) -> Vec<String> {
        let script = self.grounds.filled(&steps.join("\n"));
        let held = Held::of(&self.plan, &self.before);
        let (printed, reports) = self.run(&script);
        let now = seen(&self.grounds.scene.place.outside, &self.before);
        let mut wrong = held.changed(&self.grounds, &self.before, &now);
        // A loop goes on after the list was made.
        if !script.contains("while :") {
            wrong.extend(held.judged(&self.plan, &printed, &now));
        }
        wrong.extend(obeyed(self.grounds.root(), "/canary", |path, now| self.before.is(path, now)));
        wrong.extend(self.grounds.effect());
        if !wrong.is_empty() {
            wrong.push(format!("{reports:?}"));
        }
        self.restore();
        wrong
    }

    /// Leaves steps out as long as the rest goes wrong.
    fn reduced(&mut self, steps: &[String]) -> String {
        let mut steps = steps.to_vec();
        let mut number = 0;
        while number < steps.len() {
            let mut fewer = steps.clone();
            fewer.remove(number);
            if self.case(&fewer).is_empty() {
                number += 1;
            } else {
                steps = fewer;
            }
        }
        format!("{}\n--\n{}", steps.join("\n"), self.case(&steps).join("\n"))
    }
}

/// The usual policy of a host whose root is a home directory, with two paths of its own.
fn plan_of(root: &Path) -> Plan {
    let state = root.join(".local/state/toolwright");
    let deny = ["@git", "@editors", "@agents", "@tools", "keep", "notes/secret"];
    crate::plan_of(root, &deny, Some(root), Some(&state))
}

/// What a command printed at its end, by path.
fn listed(printed: &[u8]) -> BTreeMap<PathBuf, (u64, char, u64, String)> {
    let mut all = BTreeMap::new();
    for record in printed.split(|byte| *byte == 0) {
        let mut parts = record.splitn(5, |byte| *byte == b' ');
        let mut next = || parts.next().map(|part| String::from_utf8_lossy(part).into_owned());
        let (Some(inode), Some(kind), Some(size), Some(time)) = (next(), next(), next(), next())
        else {
            continue;
        };
        let path = record.splitn(5, |byte| *byte == b' ').nth(4).unwrap_or_default();
        if let (Ok(inode), Ok(size), false) = (inode.parse(), size.parse(), path.is_empty()) {
            let kind = kind.chars().next().unwrap_or('?');
            all.insert(PathBuf::from(OsStr::from_bytes(path)), (inode, kind, size, time));
        }
    }
    all
}

#[test]
fn what_a_program_may_not_write_stays_as_it_is() {
    if !has_namespaces() {
        return;
    }
    let number_of = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (places, programs) = (PLACES * factor().min(500), PROGRAMS * factor().div_ceil(500));
    let mut wrong = Vec::new();
    let (mut count, chosen) = (0, number_of("TOOLWRIGHT_CASE"));
    let steps_of_own = env::var("TOOLWRIGHT_STEPS").ok();
    for place in chosen.map_or(0..places, |place| place..place + 1) {
        let mut numbers = Numbers(seed().wrapping_add(place.wrapping_mul(0x1000_0000_01b3)));
        let mut home = Home::new(&mut numbers);
        for _ in 0..programs {
            let steps: Vec<_> = (0..=numbers.below(9)).map(|_| steps::step(&mut numbers)).collect();
            let steps = steps_of_own.clone().map_or(steps, |own| vec![own]);
            count += 1;
            let first = home.case(&steps);
            if !first.is_empty() {
                let (reduced, first) = (home.reduced(&steps), first.join("\n"));
                let found = format!("place {place}:\n{reduced}\n== at first:\n{first}");
                eprintln!("{found}\n");
                wrong.push(found);
            }
        }
        eprintln!("{count} programs in {} places, {} effects", place + 1, wrong.len());
    }
    none_of(&wrong, count);
}

/// What was found once.
const FOUND: &[&str] = &[
    // What is set aside by its name can be a git directory, or hold one.
    "git init -q --bare .idea; git config -f .idea/config core.fsmonitor %C; echo /elsewhere > .idea/objects/info/alternates",
    "mkdir .vscode; git init -q .vscode/x; ln -s /elsewhere .vscode/x/.git/commondir",
];

#[test]
fn what_was_found_is_held() {
    if !has_namespaces() {
        return;
    }
    let mut home = Home::new(&mut Numbers(1));
    let wrong: Vec<_> = FOUND.iter().flat_map(|step| home.case(&[(*step).to_owned()])).collect();
    none_of(&wrong, FOUND.len());
}

/// Programs of which the last did more than it may, after the person had put back what those before it had changed.
const IN_A_ROW: &[&str] = &[
    "rm -rf p/sub/.git; mkfifo p/sub/.git",
    "git init -q --bare p/q/r; mkdir -p deep/1/objects deep/1/refs; echo ref: refs/heads/main > deep/1/HEAD; find keep -depth -name '*' -delete",
    "rm -rf ./p",
];

/// A repository that a person has put in the place of another one was covered by nothing, if a protected path beside it
/// could not be covered again.
#[test]
fn a_repository_in_the_place_of_another_is_held() {
    if !has_namespaces() {
        return;
    }
    let has_all = |home: &Home| {
        ["p/.git", "deep/1"].iter().all(|name| home.grounds.root().join(name).exists())
    };
    let homes = (0..64).map(|seed| Home::new(&mut Numbers(seed)));
    let mut home = homes.into_iter().find(has_all).expect("one of them has both");
    let mut wrong = Vec::new();
    for step in IN_A_ROW.iter().chain(IN_A_ROW) {
        wrong.extend(home.case(&[(*step).to_owned()]));
    }
    none_of(&wrong, IN_A_ROW.len() * 2);
}

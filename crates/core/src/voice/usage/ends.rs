//! Ends that say something and are no failure, and words that a plain shell does not know.

use toolwright_exec::Exit;

use super::{Call, line_of, words};
use crate::command::end::End;
use crate::denials::Ended;

/// How shells end after a program that is not there.
const NO_PROGRAM: i32 = 127;

/// Words of bash that `sh` takes for programs.
const OF_BASH: [&str; 8] =
    ["[[", "declare", "mapfile", "popd", "pushd", "readarray", "shopt", "source"];

/// What models call their tools, and no shell knows.
const TOOLS: [&str; 9] = [
    "edit",
    "edit_file",
    "glob",
    "list_dir",
    "read_file",
    "str_replace_editor",
    "todo",
    "todo_write",
    "write_file",
];

/// What an exit code means.
pub(super) fn note(ended: &Ended<'_>, calls: &[Call]) -> Option<String> {
    let End::Exited(Exit::Code(code)) = *ended.end else { return None };
    if code == NO_PROGRAM {
        return of_bash(ended, calls).or_else(|| tool(calls));
    }
    if code != 1 {
        return None;
    }
    // What was printed says more, and a note on every ordinary failure would be noise.
    if ended.printed.iter().any(|text| !text.is_empty()) {
        return None;
    }
    let line = || ended.command.1.iter();
    let is_chain = line().any(|word| word.contains("&&"))
        && !line().any(|word| word.contains([';', '\n']) || word.contains("||"));
    if !is_chain {
        return meaning(calls.last()?);
    }
    // Any of a chain can have ended it, and `exit` with any code.
    let is_exit = |call: &Call| call.first().is_some_and(|name| name == "exit");
    let mut meanings = calls.iter().filter_map(|call| meaning(call));
    let only = meanings.next().filter(|_| meanings.next().is_none());
    only.filter(|_| !calls.iter().any(is_exit))
}

/// What the exit code 1 of a silent call means.
fn meaning(call: &[String]) -> Option<String> {
    let words = words(call);
    let [name, rest @ ..] = &*words else { return None };
    let (program, means) = match *name {
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "zgrep" => (*name, "no line matches"),
        "git" if rest.contains(&"grep") => ("git grep", "no line matches"),
        "git"
            if rest.contains(&"diff")
                && rest.iter().any(|word| *word == "--exit-code" || *word == "--quiet") =>
        {
            ("git diff", "there are differences")
        }
        "diff" | "cmp" => (*name, "the files differ"),
        "test" | "[" => (*name, "the condition is false"),
        "pgrep" | "pidof" => (*name, "no such process runs"),
        "which" => (*name, "there is no such program"),
        "command" if rest.first() == Some(&"-v") => ("command -v", "there is no such program"),
        _ => return None,
    };
    Some(format!("`{program}` ends with 1 where {means}: that is an answer, and no failure."))
}

/// A line of bash for another shell.
fn of_bash(ended: &Ended<'_>, calls: &[Call]) -> Option<String> {
    let shell = ended.command.0.rsplit('/').next()?;
    if !matches!(shell, "sh" | "dash" | "ash") {
        return None;
    }
    let line = line_of(ended)?;
    let is_there = |word: &&&str| {
        line.split(|letter: char| letter.is_whitespace() || ";&|()".contains(letter))
            .any(|one| one == **word)
            || calls.iter().any(|call| call.first().is_some_and(|name| name == *word))
    };
    let word = OF_BASH.iter().find(is_there)?;
    Some(format!(
        "`{word}` is a word of bash, which `{shell}` does not know: run the line by bash."
    ))
}

/// A tool that was called as a program.
fn tool(calls: &[Call]) -> Option<String> {
    let name = calls.iter().filter_map(|call| call.first()).find(|name| is_tool(name))?;
    Some(format!("`{name}` is no program: if you have a tool of that name, call it as a tool."))
}

/// Whether models have tools of this name, and no system has a program.
pub(in crate::voice) fn is_tool(name: &str) -> bool {
    TOOLS.contains(&name)
}

//! Commands that do not end by themselves.

use super::{Call, words};
use crate::denials::Ended;

const LEAVE_OUT: &str = "leave that option out";

/// Why the time of a command was not enough.
pub(super) fn note(ended: &Ended<'_>, calls: &[Call]) -> Option<String> {
    if let Some(port) = ended.facts.served_port {
        let instead = if ended.starts_processes {
            "start it with process_start"
        } else {
            "start it with `&` in the command line that uses it"
        };
        return Some(format!(
            "It listened at port {port}, and a server does not end by itself: {instead}."
        ));
    }
    calls.iter().find_map(|call| {
        let words = words(call);
        let [name, rest @ ..] = &*words else { return None };
        let has = |options: &[&str]| rest.iter().find(|word| options.contains(word)).copied();
        let (option, instead) = match *name {
            "tail" => (has(&["-f", "-F", "--follow"])?, LEAVE_OUT),
            "journalctl" => (has(&["-f", "--follow"])?, LEAVE_OUT),
            "docker" | "kubectl" if rest.first() == Some(&"logs") => {
                (has(&["-f", "--follow"])?, LEAVE_OUT)
            }
            "tsc" | "jest" | "webpack" | "rollup" | "esbuild" | "sass" | "cargo" | "nodemon"
            | "tsx" | "node" | "mocha" | "ava" => {
                (has(&["--watch", "-w", "--watchAll"])?, LEAVE_OUT)
            }
            "vitest" => match rest.first() {
                None | Some(&"watch" | &"dev") => ("", "use `vitest run`"),
                _ => (has(&["--watch", "-w"])?, LEAVE_OUT),
            },
            "watch" => ("", "call once what it would repeat"),
            "top" | "htop" if has(&["-b", "-n"]).is_none() => ("", "use `ps`"),
            "ping" if has(&["-c"]).is_none() => ("", "give it `-c` and a number"),
            "yes" => ("", "give it to `head`"),
            "emacs" | "joe" | "micro" | "nano" | "pico" | "vi" | "view" | "vim" | "nvim" => {
                return Some(format!(
                    "`{name}` waits for keys, and nobody can press them: change files by other tools."
                ));
            }
            "inotifywait" => (has(&["-m", "--monitor"])?, LEAVE_OUT),
            _ => return None,
        };
        let what = if option.is_empty() { (*name).to_owned() } else { format!("{name} {option}") };
        Some(format!("`{what}` does not end by itself: {instead}."))
    })
}

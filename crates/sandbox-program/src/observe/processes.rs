//! The processes of a command.

use std::fs;

use rustix::process::getpid;

/// The numbers of all processes of the command. Where the worker has no namespace of its own, its
/// descendants, which are collected by it.
pub(super) fn of_command(is_alone: bool) -> Vec<i32> {
    let own = getpid().as_raw_nonzero().get();
    if is_alone {
        let names = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        return numbers.filter(|number| *number != own).collect();
    }
    let mut processes = children(own);
    let mut index = 0;
    while let Some(process) = processes.get(index).copied() {
        processes.extend(children(process));
        index += 1;
    }
    processes
}

fn children(process: i32) -> Vec<i32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(path).unwrap_or_default();
    children.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Fields of `/proc/PID/stat`.
pub(super) struct Stat {
    pub(super) group: i32,
    /// The device of its terminal; 0 without one.
    pub(super) terminal: i32,
    /// The group in the foreground of that terminal.
    pub(super) foreground: i32,
}

pub(super) fn stat(process: i32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in parentheses, and may hold any others.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(2).map(|field| field.parse().ok());
    let group = fields.next()??;
    // After the session.
    let (terminal, foreground) = (fields.nth(1)??, fields.next()??);
    Some(Stat { group, terminal, foreground })
}

/// The numbers of its threads.
pub(super) fn threads(process: i32) -> Vec<i32> {
    let names = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

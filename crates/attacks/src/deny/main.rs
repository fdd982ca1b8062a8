//! `deny NAME[=ERROR][,NAME…] [--uid N] -- program …`: runs a program with failing system calls, as
//! on older kernels and in containers. They fail for every process that it starts.
//!
//! A name is that of a call (`mount`), of a flag that asks for a namespace (`clone-newuser`), or of
//! a group (`landlock`, `seccomp`, `namespaces`). The error is `EPERM` unless another one is named,
//! and `ENOSYS` for `clone3` where a flag is denied, because the filter cannot see its flags.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod filter;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::io::Write;

    let Err(problem) = run(&std::env::args().skip(1).collect::<Vec<_>>());
    let _ = writeln!(std::io::stderr(), "deny: {problem}");
    std::process::ExitCode::from(125)
}

/// Comes back only with what went wrong.
#[cfg(target_os = "linux")]
fn run(arguments: &[String]) -> Result<std::convert::Infallible, String> {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    let usage = || "usage: deny NAME[=ERROR][,NAME…] [--uid N] -- program …".to_owned();
    let split = arguments.iter().position(|word| word == "--").ok_or_else(usage)?;
    let (options, command) = (&arguments[..split], &arguments[split + 1..]);
    let (program, rest) = command.split_first().ok_or_else(usage)?;
    let (names, user) = match options {
        [names] => (names, None),
        [names, flag, user] if flag == "--uid" => {
            (names, Some(user.parse().map_err(|_| format!("{user} is no user"))?))
        }
        _ => return Err(usage()),
    };
    let mut denials = Vec::new();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        denials.extend(calls::denials(name)?);
    }
    if let Some(user) = user {
        filter::become_user(user).map_err(|error| format!("user {user}: {error}"))?;
    }
    filter::install(&filter::program(&denials)).map_err(|error| format!("the filter: {error}"))?;
    Err(format!("{program}: {}", Command::new(program).args(rest).exec()))
}

#[cfg(not(target_os = "linux"))]
fn main() {}

//! Variables that make a program run code it was not asked to run, and those that belong to the
//! host process. All names are in capitals here.
//!
//! A search path for what a program itself asks for (`PYTHONPATH`, `NODE_PATH`, `PERL5LIB`,
//! `RUBYLIB`, `CLASSPATH`) passes, and so does the choice of a tool or of its flags (`CC`,
//! `RUSTC_WRAPPER`, `GOFLAGS`, `MAKEFLAGS`, `PAGER`). Builds depend on them, and they
//! affect one program, not every program.

use super::is_one_of;

/// Whole families.
const PREFIXES: &[&str] = &[
    "LD_",               // the dynamic loader: libraries into every program
    "DYLD_",             // the same on macOS
    "__XPC_DYLD_",       // the same, handed on by launchd
    "BASH_FUNC_",        // functions exported by bash: take the place of commands
    "LUA_INIT",          // Lua, also by version: run at the start
    "GIT_CONFIG_",       // see `PASSED`; any setting, and many are commands
    "CORECLR_",          // .NET: loads a profiler
    "COR_",              // .NET Framework and Mono: the same
    "BUN_INSPECT",       // Bun: waits for, or connects to, a debugger
    "R_PROFILE",         // R, also `_USER`: run at the start
    "R_ENVIRON",         // R, also `_USER`: variables from a file, these among them
    "VSCODE_INSPECTOR_", // the debugger of VS Code, for its part in `NODE_OPTIONS`
];

/// Members of these families that only locate a file, or say that none is to be read.
const PASSED: &[&str] = &["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

const NAMES: &[&str] = &[
    // libc and libraries: modules loaded into programs that use them.
    "GCONV_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "GTK_MODULES",
    // Shells.
    "BASH_ENV",       // read by every bash that runs a script
    "ENV",            // read by sh
    "ZDOTDIR",        // where zsh finds .zshenv
    "SHELLOPTS",      // options of every bash, `xtrace` among them
    "BASHOPTS",       // the same
    "PS4",            // expanded, with command substitution, under `xtrace`
    "PROMPT_COMMAND", // run before every prompt
    "FPATH",          // functions loaded in place of commands, by ksh and zsh
    // Python.
    "PYTHONSTARTUP",    // run at the start of a session
    "PYTHONINSPECT",    // keeps the interpreter after the script
    "PYTHONBREAKPOINT", // called by `breakpoint()`
    "PYTHONHOME",       // another standard library
    "PYTHONUSERBASE",   // another `usercustomize`
    // JavaScript.
    "NODE_OPTIONS", // `--require`
    "NODE_REPL_EXTERNAL_MODULE",
    "NPM_CONFIG_NODE_OPTIONS", // becomes NODE_OPTIONS in scripts
    "NPM_CONFIG_SCRIPT_SHELL", // runs every script
    "BUN_OPTIONS",             // `--preload`
    // Perl and Ruby.
    "PERL5OPT", // `-M`
    "PERL5DB",  // run by the debugger
    "RUBYOPT",  // `-r`
    // Java: `-javaagent` for every virtual machine.
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    // .NET, PHP, Erlang.
    "DOTNET_STARTUP_HOOKS",
    "DOTNET_ADDITIONAL_DEPS",
    "DOTNET_SHARED_STORE",
    "PHPRC",            // `auto_prepend_file`
    "PHP_INI_SCAN_DIR", // the same
    "ERL_FLAGS",        // `-eval`
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "ELIXIR_ERL_OPTIONS",
    // git: commands that it runs unasked, and its programs and hooks.
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    // Viewers and editors: commands they run at the start.
    "LESSOPEN",
    "LESSCLOSE",
    "VIMINIT",
    "GVIMINIT",
    "EXINIT",
];

/// Variables that identify the host process. Another program would take them for its own.
const HOST: &[&str] = &[
    "NODE_CHANNEL_FD", // a descriptor the command does not have
    "NODE_CHANNEL_SERIALIZATION_MODE",
    "NODE_UNIQUE_ID", // makes Node a cluster's worker
    "LISTEN_FDS",     // sockets the command does not have
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
];

/// Variables that change how a shell reads a line or what it runs, beside files and functions.
const SHELL: &[&str] = &[
    "BASH_COMPAT",     // the grammar of an older bash
    "POSIXLY_CORRECT", // another grammar, with aliases
    "POSIX_PEDANTIC",  // the same
    "BASH_XTRACEFD",   // where `xtrace` writes
    "BASH_LOADABLES_PATH",
    "EXECIGNORE", // programs that are not found
    "GLOBIGNORE", // files that are not found
    "CDPATH",     // where `cd` leads
];

pub(super) fn is_for_a_shell(name: &[u8]) -> bool {
    const STARTED: [&[u8]; 6] =
        [b"BASH_ENV", b"ENV", b"SHELLOPTS", b"BASHOPTS", b"PS4", b"PROMPT_COMMAND"];
    STARTED.contains(&name) || name.starts_with(b"BASH_FUNC_") || is_one_of(SHELL, name)
}

pub(super) fn is_injection(name: &[u8]) -> bool {
    let starts = |prefix: &&str| name.starts_with(prefix.as_bytes());
    is_one_of(NAMES, name) || PREFIXES.iter().any(starts) && !is_one_of(PASSED, name)
}

pub(super) fn is_of_the_host(name: &[u8]) -> bool {
    is_one_of(HOST, name)
}

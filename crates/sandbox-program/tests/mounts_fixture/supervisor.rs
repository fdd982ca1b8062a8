//! The test program, started as a supervisor.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio, exit};
use std::time::Instant;

use rustix::process::{Pid, WaitOptions, waitpid};
use toolwright_sandbox::layers::Layers;
use toolwright_sandbox::plan::{FileIdentity, Files, Granted, Network, Plan};
use toolwright_sandbox_program::mounts::{self, Watch};
use toolwright_sandbox_program::namespaces::{self, Forked};

use super::BROKEN;

const NETWORKS: [Network; 4] =
    [Network::Open, Network::PrivateLoopback, Network::Nothing, Network::HostLoopback];

/// Gives a plan to a supervisor that is going to be started.
pub(super) fn hand_over(plan: &Plan, command: &mut Command) {
    command.env("STAGE_ROOT", &plan.root);
    command.env("STAGE_FILES", format!("{:?}", plan.files));
    command.env("STAGE_NETWORK", format!("{:?}", plan.network));
    for (name, paths) in [
        ("WRITABLE", &plan.writable),
        ("CLOSED", &plan.closed),
        ("READABLE", &plan.readable),
        ("PROTECTED", &plan.protected),
        ("FORKS", &plan.forks),
        ("HOOKS", &plan.hooks),
    ] {
        for (number, path) in paths.iter().enumerate() {
            command.env(format!("STAGE_{name}_{number}"), path);
        }
    }
    for (number, Granted { path, identity }) in plan.granted.iter().enumerate() {
        command.env(format!("STAGE_GRANTED_{number}"), path);
        let FileIdentity { device, inode, .. } = identity;
        command.env(format!("STAGE_IDENTITY_{number}"), format!("{device} {inode}"));
    }
}

fn take_over(root: PathBuf) -> Plan {
    let word = |name: &str| env::var(name).unwrap_or_default();
    let paths = |name: &str| -> Vec<PathBuf> {
        let variables = (0..).map(|number| env::var_os(format!("STAGE_{name}_{number}")));
        variables.map_while(|variable| variable.map(PathBuf::from)).collect()
    };
    let is_meant = |network: &Network| format!("{network:?}") == word("STAGE_NETWORK");
    Plan {
        root,
        network: NETWORKS.into_iter().find(is_meant).expect("a network"),
        files: if word("STAGE_FILES") == "Full" { Files::Full } else { Files::Confined },
        writable: paths("WRITABLE"),
        closed: paths("CLOSED"),
        readable: paths("READABLE"),
        protected: paths("PROTECTED"),
        forks: paths("FORKS"),
        hooks: paths("HOOKS"),
        granted: paths("GRANTED").into_iter().zip(paths("IDENTITY")).map(granted).collect(),
        ..Plan::default()
    }
}

fn granted((path, identity): (PathBuf, PathBuf)) -> Granted {
    let text = identity.to_string_lossy();
    let numbers: Vec<u64> = text.split(' ').filter_map(|number| number.parse().ok()).collect();
    let identity = FileIdentity { device: numbers[0], inode: numbers[1], born: None };
    Granted { path, identity }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    if let Some(root) = env::var_os("STAGE_ROOT") {
        exit(i32::from(supervise(&take_over(PathBuf::from(root))).is_err()));
    }
}

fn supervise(plan: &Plan) -> io::Result<()> {
    let mut layers = Layers::default();
    let start = Instant::now();
    namespaces::enter(plan, true, None, &mut layers);
    let entered = start.elapsed();
    let tree = if layers.mount.holds() { Some(mounts::build(plan)) } else { None };
    let times = format!("{} {}", entered.as_micros(), start.elapsed().as_micros());
    let (tree, error) = match tree {
        Some(Ok(tree)) => (Some(tree), String::new()),
        Some(Err(error)) => (None, error.to_string()),
        None => (None, String::new()),
    };
    let watch = tree.as_ref().map(|tree| Watch::of(tree, &plan.root)).transpose()?;
    say(&error, 0)?;
    let mut input = io::stdin().lock();
    loop {
        let mut script = Vec::new();
        if input.read_until(0, &mut script)? == 0 {
            break;
        }
        script.pop();
        match script.as_slice() {
            b"@layers" => say(&format!("{layers:?}"), 0)?,
            b"@times" => say(&times, 0)?,
            b"@changed" => {
                let changed = watch.as_ref().expect("there is one").has_changed()?;
                say("", i32::from(changed))?;
            }
            _ => {
                let start = Instant::now();
                let (text, status) = run(plan, &mut layers, &OsString::from_vec(script), start)?;
                say(&text, status)?;
            }
        }
    }
    if let Some(tree) = tree {
        tree.remove_placeholders();
    }
    Ok(())
}

fn run(
    plan: &Plan,
    layers: &mut Layers,
    script: &OsString,
    start: Instant,
) -> io::Result<(String, i32)> {
    match namespaces::make_worker(layers)? {
        Forked::Child if script == "@worker-time" => {
            let _ = finish(layers);
            exit(tell(&start.elapsed().as_micros().to_string(), 0));
        }
        Forked::Child => exit(work(plan, layers, script)),
        Forked::Parent(pid) => {
            let ended = waitpid(Pid::from_raw(pid), WaitOptions::empty())?;
            let status = ended.and_then(|(_, status)| status.exit_status());
            Ok((String::new(), status.unwrap_or(BROKEN)))
        }
    }
}

fn work(plan: &Plan, layers: &Layers, script: &OsString) -> i32 {
    if let Err(error) = finish(layers) {
        return tell(&error.to_string(), BROKEN);
    }
    let text = script.to_string_lossy();
    let tried = if text == "@talk" {
        Some(talk())
    } else if let Some(address) = text.strip_prefix("@connect ") {
        Some(TcpStream::connect(address).map(drop))
    } else {
        text.strip_prefix("@unix ").map(|path| UnixStream::connect(path).map(drop))
    };
    if let Some(tried) = tried {
        return tell(&format!("{tried:?}"), i32::from(tried.is_err()));
    }
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(script).current_dir(&plan.root).env_clear().stdin(Stdio::null());
    shell.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C").stderr(io::stdout());
    match shell.status() {
        Ok(status) => status.code().unwrap_or(126),
        Err(error) => tell(&error.to_string(), BROKEN),
    }
}

/// The last steps of a worker that matter to these tests.
fn finish(layers: &Layers) -> io::Result<()> {
    if layers.pid.holds() {
        mounts::close_proc()?;
    }
    namespaces::drop_capabilities(layers).map(drop)
}

fn tell(text: &str, status: i32) -> i32 {
    let written = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
    if written.is_ok() { status } else { BROKEN }
}

/// A server and its client in one worker, over both kinds of addresses.
fn talk() -> io::Result<()> {
    for address in ["127.0.0.1:80", "[::1]:0"] {
        let listener = TcpListener::bind(address)?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        client.write_all(b"word\n")?;
        let mut word = String::new();
        io::BufReader::new(listener.accept()?.0).read_line(&mut word)?;
        if word != "word\n" {
            return Err(io::Error::other("another word"));
        }
    }
    Ok(())
}

fn say(text: &str, status: i32) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.write_all(b"\0")?;
    output.write_all(&status.to_ne_bytes())?;
    output.flush()
}

//! What it costs that calls on names wait. Prints times and asserts nothing: `cargo test --release -- --ignored costs`.

use std::time::{Duration, Instant};

use toolwright_sandbox::plan::Network;

use super::sandbox::Sandbox;

/// 50,000 files of 1.5 KB in 5,000 directories, with 500 renames; how long it takes, in the work itself.
const TREE: &str = r"
import os, time
data = b'x' * 1500; began = time.perf_counter()
for d in range(5000):
    os.mkdir(f'tree/{d}')
    for f in range(10):
        fd = os.open(f'tree/{d}/{f}', os.O_CREAT | os.O_WRONLY, 0o644); os.write(fd, data); os.close(fd)
    if d % 10 == 0: os.rename(f'tree/{d}', f'tree/r{d}')
print(time.perf_counter() - began)
";

const CALLS: &str = r"
import os, time
os.mkdir('calls'); os.chdir('calls'); os.makedirs('a/b/c/d')
def per_call(name, *calls):
    began = time.perf_counter()
    for n in range(3000):
        for call in calls: call(n)
    print(name, round((time.perf_counter() - began) / 3000 / len(calls) * 1e6, 1), 'us')
per_call('mkdir, rmdir', lambda n: os.mkdir('x'), lambda n: os.rmdir('x'))
per_call('deep', lambda n: os.mkdir('a/b/c/d/x'), lambda n: os.rmdir('a/b/c/d/x'))
os.mkdir('x'); per_call('rename', lambda n: os.rename('x', 'y'), lambda n: os.rename('y', 'x'))
made = lambda n: os.close(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY, 0o644))
per_call('file', made); per_call('file that is there', made); per_call('file that is read', lambda n: os.close(os.open('f1', 0)))
os.umask(os.umask(0)); per_call('after umask', lambda n: os.mkdir('z'), lambda n: os.rmdir('z'))
";

fn script(text: &str) -> String {
    format!("python3 - <<'E'\n{text}\nE\n:")
}

#[test]
#[ignore = "a measurement"]
fn costs() {
    let mut pair = [false, true].map(|hides| Sandbox::with(hides, Network::PrivateLoopback));
    let mut strict = Sandbox::strict();
    // In memory, so that the file system itself takes little.
    for _ in 0..3 {
        for (sandbox, name) in pair.iter_mut().zip(["without", "with"]) {
            let work = format!("cd /tmp; mkdir tree; {}\nrm -rf tree calls", script(TREE));
            println!("{name}: {}", sandbox.output(&work).trim());
        }
    }
    for _ in 0..3 {
        let work = format!("cd /tmp; mkdir tree; {}\nrm -rf tree", script(TREE));
        println!("strict: {}", strict.output(&work).trim());
    }
    let all = pair.iter_mut().chain([&mut strict]);
    for (sandbox, name) in all.zip(["without", "with", "strict"]) {
        println!(
            "{name}: {}",
            sandbox.output(&format!("cd /tmp; {}", script(CALLS))).replace('\n', "; ")
        );
    }
    let git = toolwright_git::directory::Directory::open(&pair[0].root).unwrap();
    let began = Instant::now();
    for _ in 0..1000 {
        toolwright_git::transaction::recover(&git).unwrap();
    }
    println!("end without transactions: {:?}", began.elapsed() / 1000);
    // The best and the middle of many, in turns.
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..600 {
        for (sandbox, times) in pair.iter_mut().zip(&mut times) {
            let began = Instant::now();
            sandbox.run_program("/bin/true");
            times.push(began.elapsed());
        }
    }
    for (mut times, name) in times.into_iter().zip(["without", "with"]) {
        times.sort();
        let at = |part: usize| -> Duration { times[times.len() * part / 100] };
        println!("true {name}: least {:?}, 10 % {:?}, 50 % {:?}", times[0], at(10), at(50));
    }
}

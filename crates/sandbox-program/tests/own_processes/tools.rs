//! A day's tools work among a command's own processes, where they are installed.

use super::place::has;
use super::sockets::with;

/// Runs a script, where its program is there, and compares the end of what it says.
fn says(program: &str, script: &str, end: &str) {
    if !has(program) {
        return;
    }
    let Some((_place, mut sandbox, _)) = with(None, |_| {}) else { return };
    // The system's own users have a shell that ends at once, which tmux would start.
    let ended = sandbox.run(&format!("export HOME=/tmp SHELL=/bin/sh; {script} 2>&1"));
    assert!(ended.output.ends_with(end), "{script}: {ended:?}");
}

#[test]
fn python_processes_share_a_manager() {
    let script = "cat > m.py <<'END'\n\
        import multiprocessing as m\n\
        def f(x): return x * x\n\
        if __name__ == '__main__':\n\
        \x20   m.set_start_method('forkserver')\n\
        \x20   with m.Pool(2) as p: print(p.map(f, range(4)))\n\
        \x20   with m.Manager() as g: d = g.dict(); d['a'] = 1; print(dict(d))\n\
        END\npython3 m.py";
    says("python3", script, "[0, 1, 4, 9]\n{'a': 1}\n");
}

#[test]
fn sanitizers_run() {
    let script = "echo 'int main(void) { return 0; }' > a.c; gcc -fsanitize=address a.c -o a && ./a; echo $?";
    says("gcc", script, "0\n");
}

#[test]
fn debuggers_run() {
    says("strace", "strace -f -o /tmp/o true; grep -c exit_group /tmp/o", "1\n");
    says("gdb", "gdb -batch -ex run /bin/true", "exited normally]\n");
}

#[test]
fn servers_on_sockets_are_reached() {
    for socket in ["-L x", "-S ./s"] {
        let script =
            format!("tmux {socket} new-session -d 'sleep 9'; tmux {socket} ls | cut -d ' ' -f 1-3");
        says("tmux", &script, "0: 1 windows\n");
    }
    let script = "redis-server --port 0 --unixsocket ./r --daemonize yes > /dev/null; \
        until redis-cli -s ./r ping; do sleep 0.1; done";
    says("redis-server", script, "PONG\n");
}

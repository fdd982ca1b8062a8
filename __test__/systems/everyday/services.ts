import type { Project } from './project.ts'

/** Servers of a command's own, terminals, and programs that want more than a sandbox gives. */
export const SERVICES: Project[] = [
  {
    name: 'sqlite in WAL mode, two processes',
    needs: ['sqlite3'],
    script:
      "rm -f a.db*; sqlite3 a.db 'pragma journal_mode=wal; create table t (x);' > log; for n in 1 2; do (for i in $(seq 20); do sqlite3 -cmd '.timeout 5000' a.db \"insert into t values ($n);\"; done) & done; wait; sqlite3 a.db 'select count(*) from t'",
    differs: /^a\.db|^log$/,
  },
  {
    name: 'postgres by its default socket',
    notAsRoot: true,
    needs: ['initdb', 'pg_ctl', 'psql'],
    script:
      'd=/tmp/everyday-pg; rm -rf $d; initdb -D $d -U me -A trust > log 2>&1 && pg_ctl -D $d -o "-k $d -c listen_addresses=" -w -l $d/log start > log && psql -h $d -U me -d postgres -Atc "select 1 + 2"; r=$?; pg_ctl -D $d -m fast -w stop > log; rm -rf $d; exit $r',
    differs: /^log$/,
  },
  {
    name: 'redis by a unix socket',
    needs: ['redis-server', 'redis-cli'],
    script:
      's=$PWD/redis.sock; redis-server --port 0 --unixsocket $s --save "" --daemonize no > log 2>&1 & pid=$!; for n in $(seq 50); do test -S $s && break; sleep .1; done; redis-cli -s $s set a 1 && redis-cli -s $s get a; r=$?; kill $pid; wait; rm -f $s; exit $r',
    differs: /^log$/,
  },
  {
    name: 'tmux',
    needs: ['tmux'],
    script:
      'tmux -L everyday new-session -d "echo in tmux > out; sleep 5" && for n in $(seq 50); do test -s out && break; sleep .1; done; tmux -L everyday kill-server; cat out',
  },
  {
    name: 'a program with windows',
    needs: ['Xvfb', 'xdpyinfo'],
    script:
      'Xvfb :97 -screen 0 640x480x8 -nolisten tcp > log 2>&1 & pid=$!; for n in $(seq 50); do DISPLAY=:97 xdpyinfo > info 2>&1 && break; sleep .1; done; kill $pid; grep -q 640x480 info',
    differs: /^log$|^info$/,
  },
  { name: 'a terminal of its own', needs: ['script'], script: "script -qec 'test -t 0 && echo yes' /dev/null" },
  {
    name: 'locks, pipes, notifications of files',
    needs: ['python3', 'flock'],
    script: "mkfifo p; (echo x > p) & cat p; flock f -c 'echo locked'; python3 -c 'import os, select; print(os.path.exists(\"f\"))'",
  },
  {
    name: 'ps, lsof, ss, nice',
    needs: ['ps', 'nice'],
    script: 'ps -ef > log && nice -n 5 true && pgrep -x nothing-named-so; test $? = 1',
    differs: /^log$/,
  },
  {
    name: 'curl to a server of its own',
    needs: ['curl', 'python3'],
    script:
      'echo hello > a.txt; python3 -m http.server 5197 --bind 127.0.0.1 > log 2>&1 & pid=$!; for n in $(seq 50); do curl -sf http://127.0.0.1:5197/a.txt && break; sleep .1; done; kill $pid',
    differs: /^log$/,
  },
  {
    name: 'ssh agent',
    needs: ['ssh-agent', 'ssh-add', 'ssh-keygen'],
    script:
      "ssh-keygen -q -t ed25519 -N '' -f key && eval $(ssh-agent) > log && ssh-add -q key && ssh-add -l | grep -c ED25519; r=$?; ssh-agent -k > log; exit $r",
    differs: /^log$|^key/,
  },
  { name: 'docker is not there', needs: ['docker'], script: 'docker ps > log 2>&1; test $? != 0', differs: /^log$/ },
  {
    name: 'archives keep modes and links',
    needs: ['tar', 'gzip'],
    script:
      'mkdir d && echo x > d/f && chmod 750 d/f && ln -s f d/l && ln d/f d/h && tar -czpf a.tgz d && mkdir x && tar -xzpf a.tgz -C x && stat -c %a x/d/f',
    differs: /\.tgz$/,
  },
]

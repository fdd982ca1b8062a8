import { forEach, node, perl, php, python, type RefusalClass, type Row, ruby } from './refusal.ts'

/** Programs that connect to PEER, a name or an address, at PORT. */
const CLIENTS: Row[] = [
  ['curl', 'curl http://PEER:PORT/', 'curl'],
  ['curl -s', 'curl -s http://PEER:PORT/', 'curl'],
  ['curl -sSf', 'curl -sSf --retry 1 http://PEER:PORT/', 'curl'],
  ['wget', 'wget -t 1 -T 5 http://PEER:PORT/', 'wget'],
  ['wget -q', 'wget -q -t 1 -T 5 http://PEER:PORT/', 'wget'],
  ['git ls-remote', 'git ls-remote http://PEER:PORT/a.git', 'git'],
  ['git clone', 'git clone -q http://PEER:PORT/a.git', 'git'],
  ['git by ssh', 'GIT_SSH_COMMAND="ssh -o BatchMode=yes" git ls-remote ssh://git@PEER:PORT/a.git', 'git', 'ssh'],
  ['git by git', 'git ls-remote git://PEER:PORT/a.git', 'git'],
  ['ssh', 'ssh -o BatchMode=yes -p PORT PEER true', 'ssh'],
  ['scp', 'scp -o BatchMode=yes -P PORT PEER:a .', 'scp'],
  ['python socket', python('import socket; socket.create_connection(("PEER", PORT), 3)'), 'python3'],
  ['python urllib', python('import urllib.request; urllib.request.urlopen("http://PEER:PORT/", timeout=3)'), 'python3'],
  ['python http', python('import http.client; http.client.HTTPConnection("PEER", PORT, timeout=3).request("GET", "/")'), 'python3'],
  ['python asyncio', python('import asyncio; asyncio.run(asyncio.open_connection("PEER", PORT))'), 'python3'],
  ['node http', node('require("http").get("http://PEER:PORT/")')],
  ['node fetch', node('fetch("http://PEER:PORT/").catch((e) => { console.error(e); process.exit(1) })')],
  ['node net', node('require("net").connect(PORT, "PEER")')],
  ['ruby', ruby('require "net/http"; Net::HTTP.get(URI("http://PEER:PORT/"))'), 'ruby'],
  ['ruby socket', ruby('require "socket"; TCPSocket.new("PEER", PORT)'), 'ruby'],
  [
    'perl',
    perl('use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => "PEER", PeerPort => PORT, Timeout => 3) or die "cannot connect: $@ $!"'),
    'perl',
  ],
  ['php', php('file_get_contents("http://PEER:PORT/") || exit(1);'), 'php'],
  ['php socket', php('fsockopen("PEER", PORT, $n, $s, 3) || exit(1);'), 'php'],
  ['bash', "bash -c 'exec 3<>/dev/tcp/PEER/PORT'", 'bash'],
  ['openssl', 'openssl s_client -connect PEER:PORT < /dev/null', 'openssl'],
  ['redis-cli', 'redis-cli -h PEER -p PORT ping', 'none'],
  ['psql', 'psql -h PEER -p PORT -U me -d me -c "select 1"', 'psql'],
  ['npm', 'npm view a --cache ./c --fetch-retries 0 --registry http://PEER:PORT/', 'npm'],
  ['npm install', 'npm install a --cache ./c --fetch-retries 0 --registry http://PEER:PORT/', 'npm'],
  ['pip', 'pip3 download --trusted-host PEER --no-cache-dir --retries 0 --timeout 3 -i http://PEER:PORT/ a', 'pip3'],
  [
    'go',
    'printf "module a\\n" > go.mod; GOFLAGS=-mod=mod GOPROXY=http://PEER:PORT GONOSUMDB=* GOMODCACHE=$PWD/m GOCACHE=$PWD/c go get example.com/b',
    'go',
  ],
  [
    'cargo',
    'mkdir .cargo src; touch src/lib.rs; printf \'[package]\\nname="a"\\nversion="0.1.0"\\n[dependencies]\\nb="1"\\n\' > Cargo.toml; printf \'[source.crates-io]\\nreplace-with="x"\\n[source.x]\\nregistry="sparse+http://PEER:PORT/"\\n[net]\\nretry=0\\n\' > .cargo/config.toml; CARGO_HOME=$PWD/h cargo fetch',
    'cargo',
  ],
  ['gem', 'HOME=$PWD gem fetch a --clear-sources --source http://PEER:PORT/; exit 1', 'gem'],
  [
    'composer',
    `echo '{"repositories":[{"type":"composer","url":"http://PEER:PORT"}],"require":{"a/b":"*"},"config":{"secure-http":false}}' > composer.json; COMPOSER_HOME=$PWD/h composer update -n`,
    'composer',
  ],
  [
    'java',
    `printf 'class A { public static void main(String[] a) throws Exception { new java.net.Socket("PEER", PORT); } }' > A.java; java A.java`,
    'java',
  ],
  [
    'java http',
    `printf 'class A { public static void main(String[] a) throws Exception { new java.net.URL("http://PEER:PORT/").openStream(); } }' > A.java; java A.java`,
    'java',
  ],
]

/** Programs that ask for the addresses of a name. */
const RESOLVERS: Row[] = [
  ['python', python('import socket; socket.getaddrinfo("example.org", 80)'), 'python3'],
  ['python gethostbyname', python('import socket; socket.gethostbyname("example.org")'), 'python3'],
  ['node lookup', node('require("dns").lookup("example.org", (e) => { if (e) throw e })')],
  ['node resolve', node('require("dns").resolve("example.org", (e) => { if (e) throw e })')],
  ['ruby', ruby('require "socket"; Addrinfo.getaddrinfo("example.org", 80)'), 'ruby'],
  ['dig', 'dig +tries=1 +time=2 example.org', 'dig'],
  ['host', 'host -W 2 example.org', 'host'],
  ['ping', 'ping -c 1 example.org', 'ping'],
]

/** Programs that connect to the unix socket SOCKET of a program on the host. */
const SOCKETS: Row[] = [
  ['curl', 'curl -sS --unix-socket SOCKET http://x/', 'curl'],
  ['python', python('import socket; socket.socket(socket.AF_UNIX).connect("SOCKET")'), 'python3'],
  ['python asyncio', python('import asyncio; asyncio.run(asyncio.open_unix_connection("SOCKET"))'), 'python3'],
  ['node', node('require("net").connect("SOCKET")')],
  ['node http', node('require("http").get({ socketPath: "SOCKET" })')],
  ['ruby', ruby('require "socket"; UNIXSocket.new("SOCKET")'), 'ruby'],
  ['perl', perl('use IO::Socket::UNIX; IO::Socket::UNIX->new(Peer => "SOCKET") or die "SOCKET: $!"'), 'perl'],
  ['php', php('stream_socket_client("unix://SOCKET", $n, $s) || exit(1);'), 'php'],
  ['redis-cli', 'redis-cli -s SOCKET ping', 'none'],
  ['docker', 'docker -H unix://SOCKET ps', 'docker'],
  ['ssh-add', 'SSH_AUTH_SOCK=SOCKET ssh-add -l', 'ssh-add'],
  ['tmux', 'tmux -S SOCKET ls', 'tmux'],
]

export const NETWORK: RefusalClass[] = [
  { name: 'the network, by a name', says: /network/u, rows: forEach(CLIENTS, 'PEER', ['example.org']).map(at80) },
  { name: 'the network, by an address', says: /network/u, rows: forEach(CLIENTS, 'PEER', ['192.0.2.1']).map(at80) },
  { name: 'names of hosts', says: /network/u, rows: RESOLVERS },
  { name: 'a service of the host', says: /of this machine is served outside/u, rows: forEach(CLIENTS, 'PEER', ['127.0.0.1', 'localhost']) },
  { name: 'a unix socket of the host', says: /unix socket/u, rows: SOCKETS },
  {
    name: 'hosts that are not allowed',
    says: /example\.org|network/u,
    rows: forEach(CLIENTS, 'PEER', ['example.org']).map(at80).slice(0, 24),
    options: { hosts: ['example.com'] },
    inSessions: false,
  },
]

function at80([program, script, ...needs]: Row): Row {
  return [program, script.replaceAll('PORT', '80'), ...needs]
}

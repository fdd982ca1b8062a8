/** Programs that use a token without a setting of their own, and the pages that they ask for. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { SandboxCredential } from 'toolwright'
import type { CredentialHost } from '../../support/credential-host.ts'
import { installedPackages } from '../../support/installed-packages.ts'

/** Where programs are that the machine's PATH does not have. */
const MORE = process.env['TOOLWRIGHT_TEST_CLIENTS'] ?? ''
export const PATH = [MORE, process.env['PATH']].filter(Boolean).join(':')

export const has = (program: string, args = ['--version']): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: { ...process.env, PATH } })
    return true
  } catch {
    console.log(`skipped: ${program} is not installed`)
    return false
  }
}

const here = (name: string, text: string): string => `cat >${name} <<'END'\n${text}\nEND\n`
export const bearer: SandboxCredential['send'] = 'bearer'

export interface Client {
  program: string
  version?: string[]
  send?: SandboxCredential['send']
  script: string
  expected?: RegExp
}

export const clients: Record<string, Client> = {
  curl: { program: 'curl', script: 'curl -sS --fail -H "Authorization: Bearer $TOKEN" https://api.cred.test/page' },
  wget: { program: 'wget', script: 'wget -q -O - --header "Authorization: Bearer $TOKEN" https://api.cred.test/page' },
  'git over https': {
    program: 'git',
    send: 'basic',
    // By variables alone: sandbox-runtime closes git's files.
    script: `export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=credential.helper GIT_CONFIG_VALUE_0='!f() { echo username=x; echo password=$TOKEN; }; f'
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y.z GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y.z
git clone -q https://api.cred.test/git/site.git && cd site &&
echo text >file; git add file; git commit -qm first && git push -q origin HEAD:main && git ls-remote origin`,
    expected: /refs\/heads\/main/u,
  },
  npm: {
    program: 'npm',
    script: `echo 'registry=https://api.cred.test/' >.npmrc; echo '//api.cred.test/:_authToken=\${TOKEN}' >>.npmrc; npm view test-package version`,
    expected: /1\.2\.3/u,
  },
  pnpm: {
    program: 'pnpm',
    script: `echo 'registry=https://api.cred.test/' >.npmrc; echo '//api.cred.test/:_authToken=\${TOKEN}' >>.npmrc; cp .npmrc ~/.npmrc
echo '{"name":"x","version":"1.0.0"}' >package.json; pnpm add --lockfile-only test-package 2>&1; cat pnpm-lock.yaml`,
    expected: /test-package@1\.2\.3/u,
  },
  pip: {
    program: 'pip',
    send: 'basic',
    script: 'pip download -q --no-deps --no-cache-dir --index-url "https://x:$TOKEN@api.cred.test/simple/" test-package 2>&1; ls',
    expected: /test_package-1\.2\.3/u,
  },
  uv: {
    program: 'uv',
    send: 'basic',
    script:
      'echo test-package | uv pip compile -q --no-cache --no-python-downloads --index-url "https://x:$TOKEN@api.cred.test/simple/" - 2>&1',
    expected: /test-package==1\.2\.3/u,
  },
  cargo: {
    program: 'cargo',
    send: { header: 'authorization' },
    script: `mkdir -p ~/.cargo; printf '[registries.own]\\nindex = "sparse+https://api.cred.test/cargo/"\\ncredential-provider = "cargo:token"\\n' >~/.cargo/config.toml
CARGO_REGISTRIES_OWN_TOKEN=$TOKEN cargo search test-package --registry own 2>&1`,
    expected: /test-package = "1\.2\.3"/u,
  },
  go: {
    program: 'go',
    version: ['version'],
    script: `${here(
      'main.go',
      `package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
  request, _ := http.NewRequest("GET", "https://api.cred.test/page", nil)
  request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
  response, err := http.DefaultClient.Do(request)
  if err != nil { fmt.Println(err); os.Exit(1) }
  text, _ := io.ReadAll(response.Body)
  fmt.Println(string(text))
}`,
    )}GOFLAGS=-mod=mod GOTOOLCHAIN=local go run main.go`,
  },
  Bun: {
    program: 'bun',
    script: `bun -e "fetch('https://api.cred.test/page',{headers:{authorization:'Bearer '+process.env.TOKEN}}).then((r)=>r.text()).then(console.log)"`,
  },
  'Python, requests': {
    program: 'python3',
    script: `${here(
      'main.py',
      `import os, requests
print(requests.get('https://api.cred.test/page', headers={'Authorization': 'Bearer ' + os.environ['TOKEN']}).text)`,
    )}python3 main.py`,
  },
  'Python, a socket': {
    program: 'python3',
    script: `${here(
      'main.py',
      `import os, socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(('api.cred.test', 443)), server_hostname='api.cred.test')
s.sendall(('GET /page HTTP/1.1\\r\\nHost: api.cred.test\\r\\nConnection: close\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n' % os.environ['TOKEN']).encode())
text = b''
while True:
    part = s.recv(4096)
    if not part:
        break
    text += part
print(text.decode())`,
    )}python3 main.py`,
  },
  Java: {
    program: 'java',
    script: `${here(
      'Main.java',
      `import java.net.*;
public class Main {
  public static void main(String[] args) throws Exception {
    URLConnection connection = new URL("https://api.cred.test/page").openConnection();
    connection.setRequestProperty("Authorization", "Bearer " + System.getenv("TOKEN"));
    System.out.println(new String(connection.getInputStream().readAllBytes()));
  }
}`,
    )}java Main.java`,
  },
  Ruby: {
    program: 'ruby',
    script: `${here(
      'main.rb',
      `require 'net/http'
uri = URI('https://api.cred.test/page')
request = Net::HTTP::Get.new(uri)
request['Authorization'] = "Bearer #{ENV['TOKEN']}"
puts Net::HTTP.start(uri.host, uri.port, use_ssl: true) { |http| http.request(request).body }`,
    )}ruby main.rb`,
  },
}

export const nodes = ['22', '24', '26'] as const
for (const version of nodes) {
  const program = `node${version}`
  const node = `"$NODES/${program}/bin/node"`
  clients[`Node ${version}, fetch`] = {
    program,
    script: `${node} -e "fetch('https://api.cred.test/page',{headers:{authorization:'Bearer '+process.env.TOKEN}}).then((r)=>r.text()).then(console.log)"; ${node} --version`,
    expected: new RegExp(`the page\\s+v${version}\\.`, 'u'),
  }
  clients[`Node ${version}, https`] = {
    program,
    script: `${node} -e "require('https').get('https://api.cred.test/page',{headers:{authorization:'Bearer '+process.env.TOKEN}},(r)=>r.pipe(process.stdout))"; ${node} --version`,
    expected: new RegExp(`the page\\s*v${version}\\.`, 'u'),
  }
}

/** The folder of the versions of Node, each in one of its own. */
export async function installedNodes(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`
  const packages = nodes.map((version) => `node${version}@npm:node-${platform}@${version}`)
  // The first one is asked for at the registry, which knows no aliases.
  return join(await installedPackages('nodes', ['semver', ...packages]), 'node_modules')
}

/** What a host has for the clients. */
export function servePages({ pages }: CredentialHost): void {
  pages.set('/page', 'the page')
  const dist = { tarball: 'https://api.cred.test/test-package.tgz', integrity: `sha512-${Buffer.alloc(64).toString('base64')}` }
  const version = { name: 'test-package', version: '1.2.3', dist }
  pages.set(
    '/test-package',
    JSON.stringify({ name: 'test-package', 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': version }, time: {} }),
  )
  const wheel = 'test_package-1.2.3-py3-none-any.whl'
  pages.set(
    '/simple/test-package/',
    `<!DOCTYPE html><html><body><a href="/files/${wheel}" data-dist-info-metadata="true">${wheel}</a></body></html>`,
  )
  pages.set(`/files/${wheel}.metadata`, 'Metadata-Version: 2.1\nName: test-package\nVersion: 1.2.3\n')
  pages.set(`/files/${wheel}`, (_, response) => void response.end(wheelOf()))
  pages.set('/cargo/config.json', JSON.stringify({ dl: 'https://api.cred.test/dl', api: 'https://api.cred.test', 'auth-required': true }))
  const found = { crates: [{ name: 'test-package', max_version: '1.2.3', description: 'of a test' }], meta: { total: 1 } }
  pages.set('/api/v1/crates', JSON.stringify(found))
}

/** An archive with the metadata of a package, not compressed. */
function wheelOf(): Buffer {
  const files = {
    'test_package-1.2.3.dist-info/METADATA': 'Metadata-Version: 2.1\nName: test-package\nVersion: 1.2.3\n',
    'test_package-1.2.3.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'test_package-1.2.3.dist-info/RECORD': '',
  }
  const script = `import io, json, sys, zipfile
out = io.BytesIO()
with zipfile.ZipFile(out, 'w') as archive:
    for name, text in json.loads(sys.argv[1]).items():
        archive.writestr(name, text)
sys.stdout.buffer.write(out.getvalue())`
  return execFileSync('python3', ['-c', script, JSON.stringify(files)])
}

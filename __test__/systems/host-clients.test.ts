// Clients of every kind reach hosts by name from a sandbox, with nothing in their environment.
// docs/decisions/2026-11-24-hosts-by-name.md
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { connect, createServer as createPlainServer } from 'node:net'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { createTools, sandboxReport, type SandboxHosts } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeBareRepository } from '../support/bare-repository.ts'
import { makeSandbox } from '../support/sandbox.ts'

const report = await sandboxReport()
const isHeld = process.platform === 'linux' && /process namespace/u.test(report.processKill.mechanism) && report.loopback.level === 'kernel'

/** Skips a test with the reason. */
function needs(program: string, args: string[] = ['--version']): { skip: boolean } {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return { skip: false }
  } catch {
    console.log(`skipped: ${program} is not installed`)
    return { skip: true }
  }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const serve = (listener: RequestListener): Promise<string> => listen(createServer(listener))
const echo: RequestListener = ({ headers, url }, response) => void response.end(`${headers.host} ${url}`)

/** Serves the files of a directory. */
const files =
  (directory: string): RequestListener =>
  ({ url = '' }, response) => {
    const path = join(directory, new URL(url, 'http://x').pathname)
    try {
      response.end(readFileSync(path))
    } catch {
      response.writeHead(404).end()
    }
  }

function commands(network: SandboxHosts) {
  const fixture = makeSandbox()
  const env = { allow: [], set: { PATH: process.env['PATH'] ?? '', HOME: fixture.root } }
  const { bash } = createTools({ rootDir: fixture.root, env, toolTimeoutMs: 120_000, sandbox: { network } })
  let count = 0
  const sh = async (script: string): Promise<string> =>
    String(await bash.execute({ cmd: 'bash', args: ['-c', `exec 2>&1; ${script}`] }, { toolCallId: `call-${(count += 1)}` }))
  return { ...fixture, sh }
}

describe.skipIf(!isHeld)('clients with hosts by name', { timeout: 180_000 }, () => {
  const curl = needs('curl')
  test.skipIf(curl.skip)('git and curl by HTTPS', async () => {
    const { directory } = makeBareRepository()
    const pems = await generate([{ name: 'commonName', value: 'git.test' }], {
      extensions: [
        { name: 'basicConstraints', cA: true },
        { name: 'subjectAltName', altNames: [{ type: 2, value: 'git.test' }] },
      ],
    } as never)
    const here = await listen(createTlsServer({ key: pems.private, cert: pems.cert }, files(directory)))
    const { sh, put, text } = commands({ allow: ['git.test:443'], addresses: { 'git.test': here } })
    put('ca.pem', pems.cert)
    await sh('GIT_SSL_CAINFO=$PWD/ca.pem git clone https://git.test/repository.git cloned')
    expect(text('cloned/README')).toBe('from afar')
    expect(await sh('curl -sS --cacert ca.pem https://git.test/source/README')).toBe('from afar')
  })

  const pip = needs('python3', ['-m', 'pip', '--version'])
  test.skipIf(pip.skip)('pip', async () => {
    const { outside, root } = makeSandbox()
    const make = `
import zipfile, sys
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    z.writestr('afar.py', 'value = 1')
    z.writestr('afar-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: afar\\nVersion: 1.0\\n')
    z.writestr('afar-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr('afar-1.0.dist-info/RECORD', '')`
    expect(root).not.toBe('')
    mkdirSync(join(outside, 'simple/afar'), { recursive: true })
    execFileSync('python3', ['-c', make, join(outside, 'simple/afar/afar-1.0-py3-none-any.whl')])
    const page = '<a href="afar-1.0-py3-none-any.whl">afar-1.0-py3-none-any.whl</a>'
    const wheel = readFileSync(join(outside, 'simple/afar/afar-1.0-py3-none-any.whl'))
    const here = await serve(({ url }, response) => {
      const isWheel = url?.endsWith('.whl') === true
      response.setHeader('content-type', isWheel ? 'application/octet-stream' : 'text/html')
      response.end(isWheel ? wheel : page)
    })
    const tools = commands({ allow: ['pypi.test'], addresses: { 'pypi.test': here } })
    const shown = await tools.sh(
      'python3 -m pip install --no-cache-dir --disable-pip-version-check --index-url http://pypi.test/simple --trusted-host pypi.test --target lib afar; PYTHONPATH=lib python3 -c "import afar; print(afar.value)"',
    )
    expect(shown.trim().split('\n').at(-1)).toBe('1')
  })

  const cargo = needs('cargo')
  test.skipIf(cargo.skip)('cargo', async () => {
    const { outside } = makeSandbox()
    const source = join(outside, 'afar-1.0.0')
    mkdirSync(join(source, 'src'), { recursive: true })
    writeFileSync(join(source, 'Cargo.toml'), '[package]\nname = "afar"\nversion = "1.0.0"\nedition = "2021"\n')
    writeFileSync(join(source, 'src/lib.rs'), 'pub fn value() -> u8 { 1 }\n')
    execFileSync('tar', ['-czf', join(outside, 'afar.crate'), '-C', outside, 'afar-1.0.0'])
    const crate = readFileSync(join(outside, 'afar.crate'))
    const cksum = createHash('sha256').update(crate).digest('hex')
    const here = await serve(({ url }, response) => {
      if (url === '/config.json') response.end(JSON.stringify({ dl: 'http://crates.test/dl' }))
      else if (url === '/af/ar/afar')
        response.end(`${JSON.stringify({ name: 'afar', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false })}\n`)
      else if (url?.startsWith('/dl/') === true) response.end(crate)
      else response.writeHead(404).end()
    })
    const tools = commands({ allow: ['crates.test'], addresses: { 'crates.test': here } })
    tools.put('.cargo/config.toml', '[source.crates-io]\nreplace-with = "afar"\n[source.afar]\nregistry = "sparse+http://crates.test/"\n')
    tools.put('Cargo.toml', '[package]\nname = "own"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nafar = "1"\n')
    tools.put('src/main.rs', 'fn main() { println!("{}", afar::value()); }\n')
    // The programs of rustup are not below the home directory of the command.
    const rustup = process.env['RUSTUP_HOME'] ?? join(process.env['HOME'] ?? '', '.rustup')
    const set = existsSync(rustup) ? `RUSTUP_HOME=${rustup} ` : ''
    const shown = await tools.sh(`${set}CARGO_HOME=$PWD/.home cargo fetch && find .home -name lib.rs`)
    expect(shown).toContain('afar-1.0.0/src/lib.rs')
  })

  const java = needs('java')
  test.skipIf(java.skip)('Java: both of its clients', async () => {
    const tools = commands({ allow: ['echo.test:80'], addresses: { 'echo.test': await serve(echo) } })
    tools.put(
      'Get.java',
      `import java.net.*; import java.net.http.*;
public class Get {
  public static void main(String[] a) throws Exception {
    System.out.println(new String(new URL("http://echo.test/one").openStream().readAllBytes()));
    var request = HttpRequest.newBuilder(URI.create("http://echo.test/two")).build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}`,
    )
    expect(await tools.sh('java -Xshare:auto Get.java')).toContain('echo.test /one\necho.test /two')
  })

  const go = needs('go', ['version'])
  test.skipIf(go.skip)('Go, with its own resolver', async () => {
    const tools = commands({ allow: ['echo.test:80'], addresses: { 'echo.test': await serve(echo) } })
    tools.put(
      'get.go',
      `package main
import ("fmt"; "io"; "net/http")
func main() {
  for i := 0; i < 3; i++ {
    answer, err := http.Get(fmt.Sprintf("http://echo.test/%d", i))
    if err != nil { panic(err) }
    body, _ := io.ReadAll(answer.Body)
    fmt.Println(string(body))
  }
}`,
    )
    const shown = await tools.sh(
      'GOCACHE=$PWD/.go GOFLAGS=-mod=mod GO111MODULE=off CGO_ENABLED=0 go build -o get get.go && GODEBUG=netdns=go ./get',
    )
    expect(shown).toBe('echo.test /0\necho.test /1\necho.test /2\n')
  })

  const ssh = existsSync('/usr/sbin/sshd') ? needs('ssh', ['-V']) : { skip: (console.log('skipped: sshd is not installed'), true) }
  test.skipIf(ssh.skip)('git by ssh', async () => {
    const { bare, directory } = makeBareRepository()
    const key = (name: string): void => void execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)])
    key('host')
    key('user')
    const free = createPlainServer()
    const port = Number((await listen(free)).split(':')[1])
    await new Promise<void>((resolve) => free.close(() => resolve()))
    const settings = `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${directory}/host\nAuthorizedKeysFile ${directory}/user.pub\nStrictModes no\nUsePAM no\nPidFile none\n`
    writeFileSync(join(directory, 'sshd_config'), settings)
    mkdirSync('/run/sshd', { recursive: true })
    const server = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', join(directory, 'sshd_config')], { stdio: 'ignore' })
    onTestFinished(() => void server.kill())
    await expect.poll(() => isOpen(port), { timeout: 10_000 }).toBe(true)
    const tools = commands({ allow: ['git.test:22'], addresses: { 'git.test': `127.0.0.1:${port}` } })
    tools.put('key', readFileSync(join(directory, 'user'), 'utf8'))
    const options = '-i $PWD/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=$PWD/hosts -o BatchMode=yes'
    const shown = await tools.sh(
      `chmod 600 key; GIT_SSH_COMMAND="ssh ${options}" git -c safe.directory='*' clone -q ssh://root@git.test${bare} cloned && cat cloned/README`,
    )
    expect(shown).toContain('from afar')
  })
})

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true)))
    socket.on('error', () => resolve(false))
  })

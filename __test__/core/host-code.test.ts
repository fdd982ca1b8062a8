// A command rewrites every file of the package that runs it, which lies in its root: nothing of what it wrote is loaded.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { putPackageInto } from '../support/npm-project.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
const PACKAGES = [
  'ipaddr.js',
  'devalue',
  'minisearch',
  'yaml',
  '@cfworker/json-schema',
  'zod',
  'ai',
  '@ai-sdk/provider',
  '@ai-sdk/provider-utils',
  '@ai-sdk/gateway',
  '@standard-schema',
  '@opentelemetry/api',
  '@vercel/oidc',
  'eventsource-parser',
  '@workflow/serde',
]

/** A project whose packages lie in it, as npm installs them. */
function project(): Sandbox {
  const box = makeSandbox()
  mkdirSync(box.at('node_modules'))
  putPackageInto(box.root)
  for (const name of PACKAGES.filter((one) => existsSync(join(modules, one)))) {
    mkdirSync(dirname(box.at(`node_modules/${name}`)), { recursive: true })
    execFileSync('cp', ['-rL', join(modules, name), box.at(`node_modules/${name}`)])
  }
  return box
}

/** What a hostile command puts into each file: code where there was code, and garbage in the place of the addon. */
const REWRITE = String.raw`
find node_modules -type f ${'\\'}( -name '*.js' -o -name '*.mjs' -o -name '*.cjs' ${'\\'}) | while read -r f; do
  printf '%s\n' 'process.stdout.write("ATTACKED " + import.meta?.url + "\\n"); export default {}' > "$f"
done
find node_modules -name '*.node' -o -name '*.json' | while read -r f; do printf 'garbage' > "$f"; done
printf '{"type":"module","name":"toolwright","main":"index.js","exports":"./index.js"}' > node_modules/toolwright/package.json
mkdir -p node_modules/@ai-sdk/mcp && printf '{"name":"@ai-sdk/mcp","type":"module","exports":{".":"./i.js","./mcp-stdio":"./i.js"}}' > node_modules/@ai-sdk/mcp/package.json
printf 'process.stdout.write("ATTACKED planted\\n")' > node_modules/@ai-sdk/mcp/i.js
mkdir -p node_modules/pg && printf '{"name":"pg","type":"module","exports":"./i.js"}' > node_modules/pg/package.json
printf 'process.stdout.write("ATTACKED planted\\n")' > node_modules/pg/i.js
echo rewritten`

const HOST = `
import { createServer } from 'node:http'
import { createTools, openJournal, openCheckpoints, runWithToolContext } from 'toolwright'
import { createSession, loopAgent } from 'toolwright/contract'

const server = createServer((request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Title</h1><p>text</p>'))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address()
const root = process.argv[2]
const allow = ['**', '/**', '*', '127.0.0.1'].map((pattern) => ({ permission: '*', pattern, action: 'allow' }))
const requires = { shell: [{ cmd: '*' }], net: { hosts: ['127.0.0.1'] }, fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } }
const manifest = { name: 'test', requires, permissions: allow }
const session = await createSession({ workspace: root, manifest, skills: { home: false }, toolSearch: { threshold: 0 } })
const show = (what, value) => console.log(what, JSON.stringify(value).slice(0, 300))
const first = process.argv[3] === 'toolkit'
  ? await createTools({ rootDir: root }).bash.execute({ cmd: 'sh', args: ['rewrite.sh'] }, {})
  : await session.call('bash', { command: 'sh rewrite.sh' })
show('first', first)
const attempt = async (what, run) => { try { show(what, await run()) } catch (error) { show(what, { error: String(error.message).slice(0, 200) }) } }
await attempt('fetch', () => session.call('web_fetch', { url: 'http://127.0.0.1:' + port + '/a' }))
await attempt('grep', () => session.call('grep', { pattern: 'rewritten' }))
await attempt('search', () => session.call('tool_search', { query: 'read' }))
await attempt('bad', () => session.call('read', { nope: true }))
await attempt('second', async () => {
  const other = await createSession({ workspace: root, manifest: { ...manifest, mcpServers: { x: { command: 'true', sandbox: 'none' } } }, skills: { home: false }, enabledMcpServers: ['x'] })
  const called = await other.call('bash', { command: 'echo second' })
  await other.close()
  return called
})
await attempt('agent', () => loopAgent({ doGenerate() {}, specificationVersion: 'v3' })({ agent: { name: 'a' }, prompt: 'x', instructions: '', session, signal: AbortSignal.timeout(5000) }))
await attempt('postgres', () => openJournal('postgres://x@127.0.0.1:9/x'))
await attempt('journal', async () => { const journal = await openJournal('file:' + root + '/runs.db'); const runs = await journal.listRuns(); await journal.close(); return runs })
await attempt('tools', async () => { const tools = createTools({ rootDir: root }); return [await tools.read.execute({ path: 'SKILL.md' }, {}), await tools.bash.execute({ cmd: 'echo', args: ['hi'] }, {})] })
await session.close()
server.close()
console.log('ended')
`

test.each(['contract', 'toolkit'])(
  'a command of the %s that rewrites the package is loaded by nothing',
  { timeout: 60_000 },
  async (door) => {
    const box = project()
    box.put('package.json', '{"private":true,"type":"module"}')
    box.put('host.mjs', HOST)
    box.put('rewrite.sh', REWRITE)
    box.put('.agents/skills/late/SKILL.md', '---\nname: late\ndescription: A skill that is read late.\n---\nbody\n')
    box.put('SKILL.md', 'x')
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['host.mjs', box.root, door], {
      cwd: box.root,
      maxBuffer: 1 << 24,
    }).catch((error: { stdout: string; stderr: string }) => error)
    expect([stdout.includes('ATTACKED'), stdout, stderr]).toEqual([false, expect.any(String), expect.any(String)])
    expect(stdout).toMatch(/^first .*rewritten/mu)
    expect(stdout).toMatch(/^fetch .*Title/mu)
    expect(stdout).toMatch(/^second .*second/mu)
    expect(stdout).toMatch(/^tools .*hi/mu)
    expect(stdout).toMatch(/^ended$/mu)
    // Said once, though several doors run commands.
    expect(stderr.match(/\[toolwright\] commands may write .*@host/gu)).toHaveLength(1)
  },
)

test('`@host` holds the package, and nothing is said', { timeout: 60_000 }, async () => {
  const box = project()
  box.put(
    'host.mjs',
    `import { createTools } from 'toolwright'
const { bash } = createTools({ rootDir: process.argv[2], sandbox: { denyWrite: ['@git', '@host'] } })
console.log(JSON.stringify(await bash.execute({ cmd: 'sh', args: ['-c', 'echo x > node_modules/toolwright/package.json; echo x > host.mjs; echo over'] }, {})))`,
  )
  const { stdout, stderr } = spawnSync(process.execPath, ['host.mjs', box.root], { cwd: box.root, encoding: 'utf8' })
  expect(stdout).toContain('over')
  expect(stderr).toBe('')
  expect(box.text('host.mjs')).toContain('createTools')
  expect(box.text('node_modules/toolwright/package.json')).toContain('"version"')
})

test('a package outside of the root is loaded late, as before', () => {
  const { root } = makeSandbox()
  const script = `import { createTools } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))}
const { bash } = createTools({ rootDir: process.argv[1] })
await bash.execute({ cmd: 'true' }, {})`
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script, root], { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
})

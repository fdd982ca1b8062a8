// What a user does with the published packages: an agent, the README's example, the demo, an upgrade, and a platform package that is broken.
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeBlocks } from '../code-blocks/extract.mjs'
import { binDir, root } from '../setup/paths.mjs'
import { addonOf, readJson } from './packages.mjs'

const fixture = (name) => join(root, 'scripts', 'fixtures', name)
const installedVersion = (name) => readJson(join(root, 'node_modules', name, 'package.json')).version

/** What the projects install beside the package. The demo needs the last two. */
export const peers = () =>
  Object.fromEntries(['ai', 'zod', '@ai-sdk/openai-compatible', 'diff'].map((name) => [name, installedVersion(name)]))

function expect(condition, message) {
  if (!condition) throw new Error(message)
}

/** An agent with a scripted model, and the first program of the README. */
export function useInNode({ folder, runNode }) {
  for (const name of ['consumer-agent.mjs', 'consumer-model.mjs', 'consumer-missing.mjs']) copyFileSync(fixture(name), join(folder, name))
  writeFileSync(
    join(folder, 'agent-of-a-user.mjs'),
    readFileSync(join(folder, 'consumer-agent.mjs'), 'utf8').replace('process.argv[2]', "'MockLanguageModelV4'"),
  )
  runNode('agent-of-a-user.mjs')
  const { code } = codeBlocks(readFileSync(join(root, 'README.md'), 'utf8')).find(({ path }) => path === 'agent.mjs')
  writeFileSync(join(folder, 'agent.mjs'), code)
  const printed = runNode('agent.mjs', ['--import', './consumer-model.mjs'])
  expect(printed.trim() === 'done', `the example of the README prints ${printed}`)
  expect(readFileSync(join(folder, 'fixed.txt'), 'utf8') === 'yes', 'the example of the README changes nothing')
}

/** The same agent in Bun. */
export function useInBun({ folder, run }) {
  run([join(binDir, 'bun'), 'agent-of-a-user.mjs'])
  return readJson(join(folder, 'package.json')).name
}

/** The demo of the published package, copied to where its imports are found. */
export function useDemo({ folder, runNode }, examples) {
  cpSync(join(examples, 'demo'), join(folder, 'demo'), { recursive: true })
  const printed = runNode('demo/run.mjs')
  expect(/green|pass/i.test(printed), `the demo prints ${printed.slice(-500)}`)
}

const packageFolder = (folder, name) => realpathSync(join(folder, 'node_modules', name))

/** The version before, then this one: each package is of the new version, and a journal of the old one is read. */
export function upgrade(project, { before, version, platform }) {
  const { folder, run, runNode } = project
  const installed = (name) => readJson(join(packageFolder(folder, name), 'package.json')).version
  const install = (wanted) => run(['npm', 'install', `toolwright@${wanted}`, '--no-audit', '--no-fund', '--loglevel=error'])
  install(before)
  expect(installed('toolwright') === before, `${installed('toolwright')} is installed instead of ${before}`)
  writeFileSync(
    join(folder, 'record.mjs'),
    `import { createTools, openJournal, runTask } from 'toolwright'
const journal = await openJournal('file:runs.db')
const { write } = createTools({ rootDir: '.' })
await runTask({ journal, runId: 'run', nodeId: process.argv[2] ?? 'before', rootDir: '.' }, () => write.execute({ path: 'a.txt', content: 'a' }))
console.log((await journal.listRun('run')).length)
await journal.close()
`,
  )
  expect(runNode('record.mjs').trim() === '1', 'the version before records no call')
  install(version)
  for (const name of ['toolwright', `toolwright-${platform}`])
    expect(installed(name) === version, `after the upgrade ${name} is ${installed(name)}`)
  writeFileSync(join(folder, 'record.mjs'), readFileSync(join(folder, 'record.mjs'), 'utf8').replace("'before'", "'after'"))
  expect(runNode('record.mjs').trim() === '2', 'after the upgrade the call of the version before is not found')
  const calls = run(['node', join('node_modules', 'toolwright', 'dist', 'cli.js'), 'calls', 'runs.db', '--json'])
  expect(calls.trim().split('\n').length === 2, 'the command does not show both calls')
}

/** A platform package that is damaged, or missing, is what the error says. */
export function breakPlatform({ folder, runNode }, platform) {
  const addon = join(packageFolder(folder, `toolwright-${platform}`), addonOf(platform))
  const failure = () => JSON.parse(runNode('consumer-missing.mjs'))
  copyFileSync(fixture('consumer-missing.mjs'), join(folder, 'consumer-missing.mjs'))
  const copy = `${addon}.whole`
  copyFileSync(addon, copy)
  // A new file: the one in pnpm's store, which others link to, stays.
  const replace = (text) => {
    rmSync(addon)
    if (text !== undefined) writeFileSync(addon, text)
  }
  const is = (wanted) => {
    const { code, message } = failure()
    expect(code === 'NATIVE_UNAVAILABLE' && wanted.test(message), `${code}: ${message}`)
  }
  copyFileSync(copy, addon)
  truncateSync(addon, Math.floor(statSync(addon).size / 3))
  is(/damaged/)
  truncateSync(addon, 40)
  is(/damaged|cannot be loaded/)
  replace('no library')
  is(/damaged/)
  replace(undefined)
  is(/not installed|damaged/)
  rmSync(join(folder, 'node_modules', `toolwright-${platform}`), { recursive: true })
  is(/is not installed/)
}

/** Which platform packages npm takes for another machine. */
export function platformsTaken({ folder, run }, platform) {
  const [os, cpu, libc] = platform.split('-')
  const machine = [`--os=${os}`, `--cpu=${cpu}`, ...(libc ? [`--libc=${{ gnu: 'glibc', musl: 'musl' }[libc]}`] : [])]
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
  run(['npm', 'install', '--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps', '--loglevel=error', ...machine])
  const taken = existsSync(join(folder, 'node_modules')) ? readdirSync(join(folder, 'node_modules')) : []
  return taken.filter((name) => name.startsWith('toolwright-')).map((name) => name.slice('toolwright-'.length))
}

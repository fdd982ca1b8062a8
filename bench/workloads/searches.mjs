import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createSession, repoOverviewTool } from 'toolwright/contract'
import { FREQUENT, RARE, WORDS } from '../source-text.mjs'

const run = promisify(execFile)
const AT_ONCE = 64
const FULL_BYTES = 10_000_000
const EARLY_BYTES = { quick: 20_000, full: 200_000 }
const MARKER = /^\[output cut at/u

/** Lines as a set that can be compared: in order, and relative to the folder. */
const comparable = (output, folder) =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(`${folder}/`, ''))
    .sort()

async function ripgrep(rgPath, pattern, folder) {
  const { stdout } = await run(rgPath, ['-n', '--', pattern, folder], { cwd: folder, maxBuffer: 1 << 27 })
  return stdout
}

/** What ripgrep gives is what everyone has to give. */
async function expectedLines(rgPath, pattern, folder) {
  if (rgPath === undefined) throw new Error('no ripgrep to compare answers with')
  const lines = comparable(await ripgrep(rgPath, pattern, folder), folder)
  assert.ok(lines.length > 0, 'the pattern matches nothing')
  return lines
}

function full(size, pattern) {
  return async ({ corpus, toolsets, rgPath, pi }) => {
    const folder = corpus(size)
    const expected = await expectedLines(rgPath, pattern, folder)
    const verify = (answer) => assert.deepEqual(comparable(answer, folder), expected, 'other lines were found')
    const contenders = { rg: { run: () => ripgrep(rgPath, pattern, folder), verify } }
    for (const [name, call] of Object.entries(toolsets({ rootDir: folder, maxOutputBytes: FULL_BYTES }))) {
      contenders[name] = { run: () => call('grep', { pattern }), verify }
    }
    if (pi) contenders.pi = nativesOf(pi, pattern, folder, expected.length)
    return contenders
  }
}

function nativesOf(pi, pattern, folder, lines) {
  return {
    run: () => pi.grep({ pattern, path: folder, hidden: false, gitignore: true, mode: 'content' }),
    verify: ({ matches }) => assert.equal(matches.length, lines, 'another number of lines was found'),
  }
}

/** Far more lines than are wanted: who stops at the limit has little to do. */
function early(size) {
  return async ({ corpus, toolsets, rgPath, extent }) => {
    const folder = corpus(size)
    const maxOutputBytes = EARLY_BYTES[extent]
    const all = new Set(await expectedLines(rgPath, FREQUENT, folder))
    const verify = (answer) => {
      assert.ok(Buffer.byteLength(answer) <= maxOutputBytes, 'more was given than was asked for')
      assert.ok(answer.length > maxOutputBytes * 0.95, 'less was given than there is')
      const lines = answer
        .split('\n')
        .filter((line) => !MARKER.test(line))
        .join('\n')
      // The original breaks off within a line.
      const foreign = comparable(lines.slice(0, lines.lastIndexOf('\n')), folder).find((line) => !all.has(line))
      assert.equal(foreign, undefined, 'a line was given that is none')
    }
    const contenders = {}
    for (const [name, call] of Object.entries(toolsets({ rootDir: folder, maxOutputBytes }))) {
      contenders[name] = { run: () => call('grep', { pattern: FREQUENT }), verify }
    }
    return contenders
  }
}

async function manySmall({ corpus, toolsets, rgPath }) {
  const folder = corpus('few')
  const expected = await expectedLines(rgPath, FREQUENT, folder)
  const contenders = {}
  for (const [name, call] of Object.entries(toolsets({ rootDir: folder, maxOutputBytes: FULL_BYTES }))) {
    contenders[name] = {
      run: () => Promise.all(Array.from({ length: AT_ONCE }, () => call('grep', { pattern: FREQUENT }))),
      verify: (answers) => {
        for (const answer of answers) assert.deepEqual(comparable(answer, folder), expected, 'other lines were found')
      },
    }
  }
  return contenders
}

/** Names of files by a pattern, through a session, which judges every one of them. */
async function naming({ corpus, rgPath }) {
  const folder = corpus('medium')
  if (rgPath === undefined) throw new Error('no ripgrep to compare answers with')
  const session = await createSession({
    workspace: folder,
    manifest: { name: 'bench', permissions: [{ permission: 'fs.read', pattern: '**', action: 'allow' }] },
    limits: { globEntries: 1_000_000 },
  })
  const pattern = '**/*.ts'
  const list = async () => (await run(rgPath, ['--files', '--no-config', '-g', pattern], { cwd: folder, maxBuffer: 1 << 27 })).stdout
  const expected = (await list()).split('\n').filter(Boolean).sort()
  const verify = (entries) => assert.deepEqual([...entries].sort(), expected, 'other files were named')
  return {
    ours: { run: () => session.call('glob', { pattern }), verify: ({ data }) => verify(data.entries) },
    rg: { run: list, verify: (text) => verify(text.split('\n').filter(Boolean)) },
  }
}

/** What is in a tree, through a session, which judges and looks at every file. */
async function overviewing({ corpus, rgPath }) {
  const folder = corpus('large')
  if (rgPath === undefined) throw new Error('no ripgrep to compare answers with')
  const session = await createSession({
    workspace: folder,
    manifest: { name: 'bench', permissions: [{ permission: 'fs.read', pattern: '**', action: 'allow' }] },
    tools: [repoOverviewTool],
  })
  const { stdout } = await run(rgPath, ['--files', '--no-config'], { cwd: folder, maxBuffer: 1 << 27 })
  const files = stdout.split('\n').filter(Boolean).length
  return {
    ours: {
      run: () => session.call('repo_overview', {}),
      verify: ({ data }) => assert.equal(data.files, files, 'other files were counted'),
    },
  }
}

const often = { quick: { rounds: 10, batch: 2, budgetMs: 1_500 }, full: { rounds: 60, batch: 4, budgetMs: 10_000 } }
const seldom = { quick: { rounds: 5, batch: 1, budgetMs: 2_000 }, full: { rounds: 25, batch: 1, budgetMs: 20_000 } }
const together = {
  quick: { rounds: 4, batch: 1, budgetMs: 3_000, delay: true },
  full: { rounds: 15, batch: 1, budgetMs: 20_000, delay: true },
}
const residentMb = 330

export const workloads = [
  { id: 'grep-20', residentMb, effort: often, contenders: full('few', FREQUENT) },
  { id: 'grep-20-regex', residentMb, effort: often, contenders: full('few', WORDS) },
  { id: 'grep-15k', residentMb, effort: seldom, contenders: full('medium', RARE) },
  { id: 'grep-15k-early', residentMb, effort: seldom, contenders: early('medium') },
  { id: 'grep-78k', residentMb, effort: seldom, contenders: full('large', RARE) },
  { id: 'glob-15k', residentMb, effort: seldom, contenders: naming },
  { id: 'overview-78k', residentMb, effort: seldom, contenders: overviewing },
  { id: 'parallel-grep', residentMb, effort: together, contenders: manySmall },
  { id: 'grep-20-bun', runtime: 'bun', effort: often, contenders: full('few', FREQUENT) },
  { id: 'grep-15k-bun', runtime: 'bun', effort: seldom, contenders: full('medium', RARE) },
]

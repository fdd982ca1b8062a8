/** A host that is asked for too much by every tool; prints what it was that had no answer, and how many requests there were. */
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools, defineTool, openJournal, ToolError } from 'toolwright'
import { createSession, type RecordPart } from 'toolwright/contract'
import { envelopeProblem } from 'toolwright/contract/testing'
import { createThread, defineTool as threadTool, openThreadStore } from 'toolwright/standard-agents'
import { z } from 'zod'
import { anyRequests, contractRequests, type Request, toolRequests } from './requests.ts'

const [limit = '', max = 'all'] = process.argv.slice(2)
/** No answer may take longer: the slowest that were measured take 1 s, a search of all that is there. */
const LATE_MS = 60_000

const root = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-sizes-')))
const restore = (): void => {
  writeFileSync(join(root, 'file'), 'text\n')
  writeFileSync(join(root, 'places'), 'a\n'.repeat(100_000))
}
restore()
const sparse = openSync(join(root, 'sparse'), 'w')
ftruncateSync(sparse, 2 ** 40)
closeSync(sparse)

const permissions = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' as const }))
const parts: RecordPart[] = []
// In files: what is recorded of hundreds of requests is not to take the memory that one of them is measured by.
const records = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-sizes-records-')))
const journal = await openJournal(`file:${join(records, 'journal.db')}`)
const session = await createSession({
  workspace: root,
  manifest: { name: 'sizes', permissions, agents: [{ name: 'file', description: 'x', mode: 'subagent' }] },
  journal,
  watchdog: () => ({ action: 'allow' }),
  onRecord: (part) => void (parts[0] = part),
  limits: { searchMs: 2_000 },
  skills: { project: false, home: false },
  tools: [
    // Compared on a thread of its own.
    {
      id: 'patterned',
      description: 'A pattern',
      parameters: { type: 'object', properties: { value: { type: 'string', pattern: '^(a+)+$' } } },
      requires: {},
      execute: () => 'done',
    },
    { id: 'any', description: 'Anything', parameters: { type: 'object' }, requires: {}, execute: (args: object) => args },
  ],
  host: {
    question: (questions) => questions.map(() => ['yes']),
    spawn: async () => 'done',
    webSearch: [{ id: 'none', host: 'search.invalid', search: async () => [] }],
  },
})
const tools = createTools({ rootDir: root, journal, toolTimeoutMs: 2_000 })
const own = defineTool({ name: 'own', schema: z.any(), sideEffect: true, execute: (args: unknown) => args })
const store = await openThreadStore(`file:${join(records, 'threads.db')}`)
const thread = await createThread({
  store,
  tools: {
    any: threadTool({
      description: 'Anything',
      args: z.object({ value: z.array(z.string()) }),
      execute: async () => ({ status: 'success', result: 'done' }),
    }),
  },
})

const faults: string[] = []
let requests = 0
let slowest: [number, string] = [0, '']

type Answer = (args: unknown) => Promise<string | undefined>
const byEnvelope =
  (id: string): Answer =>
  async (args) =>
    envelopeProblem(await session.call(id, args))
const byError =
  (execute: (args: any) => unknown): Answer =>
  async (args) => {
    try {
      await execute(args)
    } catch (error) {
      if (!ToolError.isInstance(error)) return `${(error as Error).name}: ${(error as Error).message}`.slice(0, 200)
    }
    return undefined
  }
const byResult: Answer = async (args) => {
  const given = args as Record<string, unknown>
  return byError(async () => {
    const { status } = await thread.call('any', given)
    if (status !== 'success' && status !== 'error') throw new Error('no result')
  })(args)
}

async function ask({ what, args }: Request, answer: Answer): Promise<void> {
  requests += 1
  // What the request before has left is none of this one's.
  if (limit !== '') collect()
  if (process.env['TRACE_SIZES'] !== undefined) process.stderr.write(`${what.slice(0, 60)}\n`)
  const start = performance.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('no answer'), LATE_MS)
  })
  const fault = await Promise.race([answer(args()), late])
  clearTimeout(timer)
  const took = performance.now() - start
  if (took > slowest[0]) slowest = [took, what]
  if (fault !== undefined) faults.push(`${what}: ${fault}`)
}

const everything: [Request[], Answer][] = [
  ...contractRequests().map(([id, list]): [Request[], Answer] => [list, byEnvelope(id)]),
  [anyRequests('any'), byEnvelope('any')],
  [
    [40, 400, 4_000_000].map((length) => ({ what: `a pattern over ${length}`, args: () => ({ value: `${'a'.repeat(length)}!` }) })),
    byEnvelope('patterned'),
  ],
  ...toolRequests().map(([name, list]): [Request[], Answer] => [list, byError(tools[name as 'read'].execute)]),
  [anyRequests('own'), byError(own.execute)],
  [anyRequests('thread'), byResult],
]

// Each once beforehand: what has to be loaded is loaded, and threads are there.
await session.call('bash', { command: 'true' })
await session.call('read', { path: 'file' })
await session.call('grep', { pattern: 'text' })
await tools.bash.execute({ cmd: 'true' })
await tools.grep.execute({ pattern: 'text', path: 'file' })
if (limit !== '') limitMemory(Number(limit))

for (const [list, answer] of everything) {
  // Node itself ends where it cannot reserve 128 MB for a new thread (docs/security.md).
  if (limit !== '' && list[0]?.what.startsWith('a pattern') === true && process.versions['bun'] === undefined) continue
  // The largest are among them wherever one begins: every so-manieth.
  const step = max === 'all' ? 1 : Math.max(1, Math.ceil(list.length / Number(max)))
  for (const [index, request] of list.entries())
    if (step === 1 || index % step === 0 || index >= list.length - 12) await ask(request, answer)
  restore()
  const after = await session.call('read', { path: 'file' })
  if (after.type !== 'output') faults.push(`afterwards: ${after.error_text}`)
}
await thread.close()
await Promise.all([store.close(), session.close()])
await journal.close()
rmSync(root, { recursive: true, force: true })
rmSync(records, { recursive: true, force: true })
console.log(JSON.stringify({ requests, faults, slowest }))

function collect(): void {
  const { Bun, gc } = globalThis as { Bun?: { gc(force: boolean): void }; gc?: () => void }
  Bun?.gc(true)
  gc?.()
}

/** Memory that the process may take from now on, besides what it has: only what it could write to counts (`RLIMIT_DATA`). */
function limitMemory(bytes: number): void {
  const [, has = '0'] = /^VmData:\s+(\d+) kB/mu.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--data=${Number(has) * 1024 + bytes}`], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`prlimit: ${stderr}`)
}

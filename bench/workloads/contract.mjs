import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTools } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { sourceText } from '../source-text.mjs'

/** As the AI SDK calls a tool. */
const CALL = { toolCallId: 'call', messages: [] }
/** How many reads of each kind make one sample: a single one is too short for the clock. */
const PAIRS = 40

/**
 * What the contract adds to a read: schema, capabilities, rules, watchdog, envelope. Each sample takes plain
 * reads and reads through a session in turns, so that whatever the machine does meets both.
 */
async function added({ folder }) {
  const text = sourceText(7, 1_000)
  writeFileSync(join(folder, 'contract-1k.txt'), text)
  const permissions = [
    { permission: 'fs.write', pattern: '**/*.lock', action: 'deny' },
    { permission: 'read', pattern: '**', action: 'allow' },
  ]
  const session = await createSession({
    workspace: folder,
    manifest: { name: 'bench', permissions },
    watchdog: () => ({ action: 'allow' }),
  })
  const plain = createTools({ rootDir: folder }).read
  const contract = session.tools.read
  const args = { path: 'contract-1k.txt' }
  const timed = async (call) => {
    const start = performance.now()
    await call()
    return performance.now() - start
  }
  const read = () => contract.execute(args, CALL)
  return {
    ours: {
      run: async () => {
        let ms = 0
        for (let pair = 0; pair < PAIRS; pair += 1) {
          ms -= await timed(() => plain.execute(args, CALL))
          ms += await timed(read)
        }
        return ms / PAIRS
      },
      verify: async () => assert.deepEqual((await read()).data, { content: text }),
    },
  }
}

const effort = {
  quick: { rounds: 12, batch: 1, budgetMs: 3_000, selfTimed: true },
  full: { rounds: 100, batch: 1, budgetMs: 20_000, selfTimed: true },
}

const run = promisify(execFile)

/** The import alone, in a process of its own. */
function importing({ published }) {
  const entry = JSON.stringify(published.contract)
  const program = `const start = performance.now(); await import(${entry}); console.log(performance.now() - start)`
  return {
    ours: {
      run: async () => Number((await run(process.execPath, ['--input-type=module', '-e', program])).stdout),
      verify: (ms) => assert.ok(ms > 0, 'no time was printed'),
    },
  }
}

export const workloads = [
  { id: 'contract-read', effort, contenders: added },
  { id: 'contract-read-bun', runtime: 'bun', effort, contenders: added },
  { id: 'contract-import', isPublished: true, effort, contenders: importing },
]

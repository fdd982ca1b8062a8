import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools } from 'toolwright'
import { sourceText } from '../source-text.mjs'

/** As the AI SDK calls a tool. */
const CALL = { toolCallId: 'call', messages: [] }
/** How many calls of each kind make one sample: a single one is too short for the clock. */
const PAIRS = 200

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1]

/** What it costs to note what a read of 1 KB has shown. Each sample takes reads with and without it in turns. */
async function noted({ folder }) {
  const text = sourceText(7, 1_000)
  writeFileSync(join(folder, 'seen-1k.txt'), text)
  const [plain, seeing] = ['allow', 'refuse'].map((unseenChanges) => createTools({ rootDir: folder, unseenChanges }).read)
  const args = { path: 'seen-1k.txt' }
  const timed = async (tool) => {
    const start = performance.now()
    await tool.execute(args, CALL)
    return performance.now() - start
  }
  return {
    ours: {
      run: async () => {
        const times = new Map([plain, seeing].map((tool) => [tool, []]))
        for (let pair = 0; pair < PAIRS; pair += 1) {
          // Who comes first finds the caches as the other has left them.
          for (const tool of pair % 2 === 0 ? [plain, seeing] : [seeing, plain]) times.get(tool).push(await timed(tool))
        }
        return median(times.get(seeing)) - median(times.get(plain))
      },
      verify: async () => assert.equal(await seeing.execute(args, CALL), text),
    },
  }
}

const effort = {
  quick: { rounds: 12, batch: 1, budgetMs: 3_000, selfTimed: true },
  full: { rounds: 100, batch: 1, budgetMs: 20_000, selfTimed: true },
}

export const workloads = [{ id: 'seen-read', effort, contenders: noted }]

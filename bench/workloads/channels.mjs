import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools } from 'toolwright'

/** How many calls are asked for at once: what one asks is too short to be timed. */
const CALLS = 100

/** What each call of a tool asks of the channels: for itself and for its steps, such as a command and the rows of a journal. */
async function unheard(steps) {
  const { areCallsHeard, traceStep } = await import(new URL('../../dist/core/call-channel.js', import.meta.url).href)
  return () => {
    let done = 0
    const work = () => (done += 1)
    for (let call = 0; call < CALLS; call += 1) {
      if (areCallsHeard()) throw new Error('somebody listens')
      for (let index = 0; index < steps.length; index += 1) traceStep(steps[index], { operation: 'insert' }, work)
    }
    return done
  }
}

async function besides({ folder, tool, args, steps, verify }) {
  const tools = createTools({ rootDir: folder })
  return {
    ours: { run: await unheard(steps), verify: (answer) => assert.equal(answer, steps.length * CALLS) },
    call: { run: () => tools[tool].execute(args), verify },
  }
}

async function besidesRead({ folder }) {
  const text = 'text\n'.repeat(200)
  writeFileSync(join(folder, 'unheard.txt'), text)
  const verify = (answer) => assert.equal(answer, text)
  return besides({ folder, tool: 'read', args: { path: 'unheard.txt' }, steps: [], verify })
}

function besidesBash({ folder }) {
  const verify = (answer) => assert.equal(answer, '')
  return besides({ folder, tool: 'bash', args: { cmd: 'true' }, steps: ['command', 'journal', 'journal'], verify })
}

const effort = { quick: { rounds: 20, batch: 10, budgetMs: 1_500 }, full: { rounds: 200, batch: 20, budgetMs: 8_000 } }

export const workloads = [
  { id: 'unheard-read', effort, contenders: besidesRead },
  { id: 'unheard-bash', effort, contenders: besidesBash },
  { id: 'unheard-bash-bun', runtime: 'bun', effort, contenders: besidesBash },
]

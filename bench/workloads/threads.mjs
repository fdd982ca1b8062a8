import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createThread, defineTool, openThreadStore } from 'toolwright/standard-agents'
import { z } from 'zod'

const THREADS = 64
const CALLS = 1_000

/** A tool that does nothing: what is measured is everything around it. */
const tools = {
  count: defineTool({
    description: 'gives its argument back',
    args: z.object({ n: z.number() }),
    execute: async (_state, { n }) => ({ status: 'success', result: String(n) }),
  }),
}

const upTo = (count) => Array.from({ length: count }, (_, n) => n)
const open = (store, threadId = randomUUID()) => createThread({ tools, store, threadId, resume: false })
const callAll = async (thread, count) => {
  const results = await Promise.all(upTo(count).map((n) => thread.call('count', { n })))
  return results.map(({ result }) => Number(result))
}
const inOrder = (answer, count) => assert.deepEqual(answer, upTo(count))

/** One call: queued, claimed, run, and stored with its message. */
async function oneCall({ folder }) {
  const thread = await open(`file:${join(folder, 'thread-call.db')}`)
  return {
    ours: {
      run: () => thread.call('count', { n: 1 }),
      verify: (answer) => assert.deepEqual(answer, { status: 'success', result: '1' }),
    },
  }
}

/** A thousand calls that are made at once on one thread. */
async function manyCalls({ folder }) {
  const thread = await open(`file:${join(folder, 'thread-1000.db')}`)
  return { ours: { run: () => callAll(thread, CALLS), verify: (answer) => inOrder(answer, CALLS) } }
}

/** Sixteen calls on each of 64 threads, all at once, in one file. */
async function manyThreads({ folder }) {
  const store = await openThreadStore(`file:${join(folder, 'thread-64.db')}`)
  const threads = await Promise.all(upTo(THREADS).map(() => open(store)))
  return {
    ours: {
      run: () => Promise.all(threads.map((thread) => callAll(thread, 16))),
      verify: (answers) => answers.forEach((answer) => inOrder(answer, 16)),
    },
  }
}

const often = { quick: { rounds: 20, batch: 10, budgetMs: 2_000 }, full: { rounds: 100, batch: 20, budgetMs: 20_000 } }
const seldom = {
  quick: { rounds: 3, batch: 1, budgetMs: 5_000, delay: true },
  full: { rounds: 10, batch: 1, budgetMs: 30_000, delay: true },
}

export const workloads = [
  { id: 'thread-call', effort: often, contenders: oneCall },
  { id: 'thread-1000', effort: seldom, contenders: manyCalls },
  { id: 'thread-64', effort: seldom, contenders: manyThreads },
]

// A worker of DBOS: `worker.mjs alone|durable`. An agent pays three invoices. `run.mjs` starts it, and kills it in the middle.
import { appendFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { Pool } from 'pg'
import { defineTool, openJournal } from 'toolwright'
import { dbosSteps, durable } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { z } from 'zod'

const [mode] = process.argv.slice(2)
const { DATABASE_URL: connectionString, PAYMENTS: payments = 'payments.txt', ENGINES: engines = import.meta.dirname } = process.env
const { DBOS } = await import(pathToFileURL(createRequire(`${engines}/`).resolve('@dbos-inc/dbos-sdk')).href)

/** The bank, as a file: a line for each payment. It knows no keys, as most services do not, and the tool says so. */
const pay = defineTool({
  name: 'pay',
  description: 'Pay an invoice',
  schema: z.object({ invoice: z.string() }),
  sideEffect: true,
  usesIdempotencyKey: false,
  execute: async ({ invoice }) => {
    appendFileSync(payments, `${invoice}\n`)
    console.log(`    ${invoice} is paid, and the bank is slow to say so`)
    await setTimeout(700)
    return `${invoice} is paid`
  },
})

// A scripted model: what it has been told decides what it does next.
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const turn = prompt.filter(({ role }) => role === 'assistant').length
    const told = prompt.at(-1)
    if (turn > 0) console.log(`    the model reads: ${told.content.map(({ output }) => String(output?.value).split('\n')[0]).join(' ')}`)
    if (turn === 3) return { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' }, usage, warnings: [] }
    const call = {
      type: 'tool-call',
      toolCallId: `call-${Math.random()}`,
      toolName: 'pay',
      input: JSON.stringify({ invoice: `invoice ${turn + 1}` }),
    }
    return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] }
  },
})

const pool = new Pool({ connectionString })
const journal = await openJournal(postgresStore(pool, { leaseMs: 1_000 }))
DBOS.setConfig({ name: 'example', systemDatabaseUrl: connectionString, executorID: 'worker', applicationVersion: '1', logLevel: 'error' })
const task = DBOS.registerWorkflow(
  async (runId) => {
    const step = dbosSteps(DBOS)
    const parts = durable({ model, tools: { pay }, journal, runId, step })
    // Alone: the engine's steps around the same tool, as its documentation shows.
    const alone = { pay: { ...pay, execute: (input) => step('pay', () => pay.execute(input)) } }
    const agent = new ToolLoopAgent(mode === 'alone' ? { model: parts.model, tools: alone } : parts)
    return (await agent.generate({ prompt: 'Pay the three invoices.' })).text
  },
  { name: 'task' },
)
await DBOS.launch()
const handle = await DBOS.startWorkflow(task, { workflowID: `${mode}-1` })(`${mode}-1`)
console.log(`    ${await handle.getResult()}`)
process.exit(0)

/** A process that makes ten calls by their ids, and is killed in the middle: `killed-process.ts <journal> <effects> <kind>`. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, openJournal } from 'toolwright'
import { callOnce } from 'toolwright/durable'
import { z } from 'zod'

const [file = '', effects = '', kind = 'tell'] = process.argv.slice(2)
const made = (n: number): boolean => existsSync(effects) && readFileSync(effects, 'utf8').split('\n').includes(String(n))
const tool = defineTool({
  name: 'pay',
  schema: z.object({ n: z.number() }),
  sideEffect: true,
  usesIdempotencyKey: false,
  execute: async ({ n }) => {
    await pause(Math.random() * 4)
    appendFileSync(effects, `${n}\n`)
    await pause(Math.random() * 4)
    return `paid ${n}`
  },
  ...(kind === 'probe' && {
    probe: async (args: unknown) => {
      const { n } = args as { n: number }
      return made(n) ? { done: true as const, output: `paid ${n}` } : { done: false as const }
    },
  }),
})
const journal = await openJournal(file)
console.log('open')
for (let n = 0; n < 10; n += 1) {
  const call = { runId: 'run', callId: `call-${n}`, tool, input: { n } }
  const told = await callOnce(journal, call).catch((error: { code?: string }) => error.code)
  console.log(`${n} ${String(told)}`)
}
await journal.close()

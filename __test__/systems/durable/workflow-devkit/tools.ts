// What the server of the workflows works with: `MODE`, `SERVICE` and `DATABASE_URL` in its environment. The name of a task is its prompt.
import { MockLanguageModelV4 } from 'ai/test'
import { defineTool, openJournal } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { z } from 'zod'
import { paymentAnswer } from '../agent.ts'

const { DATABASE_URL: connectionString, SERVICE: service } = process.env
const pool = new Pool({ connectionString, max: 4 })
pool.on('error', () => undefined)
export const journal = await openJournal(postgresStore(pool, { leaseMs: 500, migrate: false }))

export const tools = {
  pay: defineTool({
    name: 'pay',
    schema: z.object({ n: z.number(), task: z.string() }),
    sideEffect: true,
    execute: async ({ n, task }, _ctx) => {
      await fetch(`${service}/?task=${encodeURIComponent(task)}&n=${n}&key=`, { method: 'POST' })
      return `paid ${n}`
    },
  }),
}

interface Part {
  type: string
  text?: string
  input?: { n: number }
  output?: { type: string; value: unknown }
  toolCallId?: string
}

/** The model is made up. In the end it says of which payments it was told that nobody knows whether they were made. */
export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const parts = prompt.flatMap(({ content }) => content as unknown as Part[])
    const task = parts[0]?.text ?? ''
    const answer = await paymentAnswer(prompt, { task })
    const calls = parts.filter(({ type }) => type === 'tool-call')
    const isUnknown = ({ toolCallId }: Part): boolean =>
      parts.some(
        (part) => part.type === 'tool-result' && part.toolCallId === toolCallId && JSON.stringify(part.output).includes('OUTCOME_UNKNOWN'),
      )
    const told = calls.filter(isUnknown).map(({ input }) => input?.n)
    for (const part of answer.content) if (part.type === 'text') part.text = JSON.stringify(told)
    return answer as never
  },
})

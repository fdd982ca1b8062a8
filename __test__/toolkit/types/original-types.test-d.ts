// Hosts and tools typed by the original compile with ours. The compiler is the test: `npm run check`.
import { defineTool, runWithToolContext, type ToolContext } from 'toolwright'
import type { Message, ThreadState } from 'toolwright/standard-agents'
import type { z } from 'zod'

/** The context of `@smithers-orchestrator/tool-context`, as far as it is typed. */
interface OriginalContext {
  db: OriginalDb
  runId: string
  nodeId: string
  iteration: number
  attempt: number
  idempotencyKey: string | null
  toolName: string
}

interface OriginalDb {
  query(sql: string): unknown[]
}

interface OriginalHost {
  db: OriginalDb
  runId: string
  nodeId: string
  recordToolCall: (call: Record<string, unknown>) => Promise<void>
}

interface OriginalOptions {
  name: string
  schema: z.ZodObject<{ id: z.ZodString }>
  sideEffect?: boolean
  execute: (args: { id: string }, ctx: OriginalContext) => Promise<number>
}

declare const host: OriginalHost
export const asContext: ToolContext = host
export const ran = runWithToolContext(host, () => 1)

declare const options: OriginalOptions
export const tool = defineTool(options)

declare const state: ThreadState
const lastOf = (messages: Message[]): Message | undefined => messages.at(-1)
export const history: Message[] = state.messageHistory
export const last = lastOf(state.messageHistory)

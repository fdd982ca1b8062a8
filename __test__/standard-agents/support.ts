import {
  createThread,
  defineTool,
  type CreateThreadOptions,
  type Thread,
  type ThreadState,
  type ToolResult,
} from 'toolwright/standard-agents'
import { onTestFinished } from 'vitest'

/** A thread in memory (or where `options.store` says), closed when the test is over. */
export async function openThread(tools: CreateThreadOptions['tools'], options: Partial<CreateThreadOptions> = {}): Promise<Thread> {
  const thread = await createThread({ tools, ...options })
  onTestFinished(() => thread.close())
  return thread
}

/** A tool without arguments that does this. */
export const tool = (execute: (state: ThreadState) => unknown) =>
  defineTool({ description: 'a tool', execute: execute as () => Promise<ToolResult> })

/** What a tool that has nothing to say gives back. */
export const success = (result?: string): ToolResult => ({ status: 'success', ...(result === undefined ? {} : { result }) })

/** The texts of the messages that results became, in the order of the thread. */
export async function contents(thread: Thread): Promise<string[]> {
  return (await thread.messages.list()).map(({ content }) => content)
}

/** The names of the tools whose results are in the thread, in its order. */
export async function order(thread: Thread): Promise<(string | undefined)[]> {
  return (await thread.messages.list()).map(({ toolName }) => toolName)
}

/** A promise and what settles it. */
export function gate<T = void>(): { opened: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => undefined
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/**
 * Which tools read their idempotency keys. A key protects an effect where the tool hands it over, and not where its function only names the
 * parameter that has it. Until a tool was seen to read it in this process, its own declaration counts alone.
 */
import type { CallContext, RecordedTool } from './call-record.js'

/** The names of tools whose last call has read its key. */
const readers = new Set<string>()

const KEYS = ['idempotencyKey', 'callIdempotencyKey'] as const

/** Whether a tool of this name reads its key. */
export const readsItsKey = (toolName: string): boolean => readers.has(toolName)

/** Whether a key protects the effect of a call, as far as that can be told before it. */
export const isProtected = (tool: RecordedTool, builtIn: boolean): boolean =>
  builtIn ? tool.acceptsIdempotencyKey : tool.usesIdempotencyKey === true || (tool.acceptsIdempotencyKey && readsItsKey(tool.name))

/** Looks whether a call reads its key. @returns what is called when it has ended. */
export function watchKeys({ name, sideEffect, acceptsIdempotencyKey }: RecordedTool, ctx: CallContext): () => void {
  if (!sideEffect || !acceptsIdempotencyKey) return () => undefined
  let wasRead = false
  for (const key of KEYS) {
    let value = ctx[key]
    const get = (): string | null => {
      if (value !== null) {
        wasRead = true
        // At once: the process may end in the middle of the call.
        readers.add(name)
      }
      return value
    }
    const set = (one: string | null): void => void (value = one)
    Object.defineProperty(ctx, key, { get, set, enumerable: true, configurable: true })
  }
  return () => {
    if (!wasRead) readers.delete(name)
  }
}

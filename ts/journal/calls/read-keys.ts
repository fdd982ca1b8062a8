/**
 * Whether an idempotency key protects a call. It does where the tool declares it, or has read its key, and not where its function only names
 * the parameter that has it. The row says what happened: declared at the beginning, and read from then on.
 */
import type { CallContext, RecordedTool } from './call-record.js'

const KEYS = ['idempotencyKey', 'callIdempotencyKey'] as const

/** Whether a key protects the effect of a call that has not read it yet. */
export const declaresItsKey = (tool: RecordedTool, builtIn: boolean): boolean =>
  builtIn ? tool.acceptsIdempotencyKey : tool.usesIdempotencyKey === true

/** Tells when a call reads its key, once. What a tool declares needs no look. */
export function watchKeys(
  { sideEffect, acceptsIdempotencyKey, usesIdempotencyKey }: RecordedTool,
  ctx: CallContext,
  onRead: () => void,
): void {
  if (!sideEffect || !acceptsIdempotencyKey || usesIdempotencyKey !== undefined) return
  let wasRead = false
  for (const key of KEYS) {
    let value = ctx[key]
    const get = (): string | null => {
      if (value !== null && !wasRead) {
        wasRead = true
        // At once: the process may end in the middle of the call.
        onRead()
      }
      return value
    }
    const set = (one: string | null): void => void (value = one)
    Object.defineProperty(ctx, key, { get, set, enumerable: true, configurable: true })
  }
}

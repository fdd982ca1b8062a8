/** Functions of a host that see each call before and after it is made: they refuse it, or replace its arguments or its result. */
import type { Awaitable } from './abort.js'

/** What a hook says of a call: nothing, a refusal with a reason for the model, or other arguments. */
export type BeforeDecision<ARGS = unknown> = undefined | void | { refuse: string; args?: undefined } | { args: ARGS; refuse?: undefined }

/** What a hook says of a call that was made: nothing, or another result. */
export type AfterDecision<RESULT = unknown> = undefined | void | { result: RESULT }

/** How a call goes on. */
export interface HookedArguments {
  args: unknown
  isChanged: boolean
  /** Why it is not made. */
  refusal?: string
}

/** Asks the hook before a call. A hook that fails refuses the call: it cannot have agreed. */
export async function askBefore<CALL extends { args: unknown }>(
  before: ((call: CALL) => Awaitable<BeforeDecision>) | undefined,
  call: CALL,
): Promise<HookedArguments> {
  const { args } = call
  if (before === undefined) return { args, isChanged: false }
  try {
    const decision: unknown = await before(call)
    if (typeof decision !== 'object' || decision === null) return { args, isChanged: false }
    if ('refuse' in decision && decision.refuse !== undefined) return { args, isChanged: false, refusal: String(decision.refuse) }
    if ('args' in decision && decision.args !== undefined) return { args: decision.args, isChanged: true }
    return { args, isChanged: false }
  } catch (error) {
    return { args, isChanged: false, refusal: `its check failed: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** The result that a hook puts in the place of another one; `undefined` if it leaves that. What it throws becomes a warning. */
export async function askAfter<CALL>(
  after: ((call: CALL) => Awaitable<AfterDecision>) | undefined,
  call: CALL,
): Promise<{ result: unknown } | undefined> {
  if (after === undefined) return undefined
  try {
    const decision: unknown = await after(call)
    if (typeof decision !== 'object' || decision === null || !('result' in decision) || decision.result === undefined) return undefined
    return { result: decision.result }
  } catch (error) {
    process.emitWarning(`after failed: ${error instanceof Error ? error.message : String(error)}`, { type: 'ToolwrightHookWarning' })
    return undefined
  }
}

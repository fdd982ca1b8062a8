/** Steps of durable engines. */
import { callable, checked, invalid } from '../core/options.js'

/**
 * Runs `fn` once, and keeps what it returned: `DBOS.runStep`, `ctx.run` of Restate, `step.run` of Inngest, `step.do` of Cloudflare.
 * When the engine executes its program again, `fn` is not called, and the kept value is returned.
 */
export type Step = <T>(name: string, fn: () => Promise<T>) => Promise<T>

/** The part of `DBOS` that {@link dbosSteps} needs. */
export interface DbosSteps {
  runStep<T>(
    fn: () => Promise<T>,
    config: { name: string; retriesAllowed?: boolean; maxAttempts?: number; intervalSeconds?: number },
  ): Promise<T>
}

/**
 * The steps of a DBOS workflow. A tool call that could not be recorded is tried again; what a tool itself throws is kept.
 *
 * @param dbos `DBOS` of `@dbos-inc/dbos-sdk`.
 * @throws {ToolError} INVALID_INPUT
 */
export function dbosSteps(dbos: DbosSteps): Step {
  checked('dbosSteps', () => callable()((dbos as Partial<DbosSteps> | null)?.runStep, 'DBOS.runStep'))
  return (name, fn) => {
    // The AI SDK repeats calls of a model.
    const retries = name.startsWith('tool ') ? { retriesAllowed: true, maxAttempts: 5, intervalSeconds: 1 } : {}
    return dbos.runStep(fn, { name, ...retries })
  }
}

/** The part of a Restate context that {@link restateSteps} needs. */
export interface RestateSteps {
  run<T>(name: string, fn: () => Promise<T>): PromiseLike<T>
}

/**
 * The steps of a Restate handler, one after the other: its context does not take two at once from the AI SDK's parallel calls.
 *
 * @param ctx the context of the handler.
 * @throws {ToolError} INVALID_INPUT
 */
export function restateSteps(ctx: RestateSteps): Step {
  checked('restateSteps', () => {
    if (typeof (ctx as Partial<RestateSteps> | null)?.run !== 'function') throw invalid('The context must have run.')
  })
  let last: Promise<unknown> = Promise.resolve()
  return <T>(name: string, fn: () => Promise<T>): Promise<T> => {
    const next = last.then(async () => ctx.run(name, fn))
    last = next.catch(() => undefined)
    return next
  }
}

/** Tools that yield preliminary results. The AI SDK streams an iterable result and awaits any other, so the kind is decided before a call. */

/** The functions of tools whose own `execute` is a generator. A copy of a tool has the same function. */
const streaming = new WeakSet<object>()

/** Whether a function is a generator itself. */
export const isGenerator = (execute: unknown): boolean => Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'

/** Notes that a tool yields preliminary results, though its function does not show it. */
export function noteStreaming(execute: object): void {
  streaming.add(execute)
}

/** Whether the `execute` of a tool yields preliminary results: one of ours, or that of a plain tool. */
export const isStreaming = (execute: object): boolean => streaming.has(execute) || isGenerator(execute)

/** The same call after a check of its arguments, which an SDK may have made or not. A generator stays one. */
export function checkedCall<INPUT, CALL, RESULT>(
  execute: (input: INPUT, call: CALL) => RESULT,
  check: (input: INPUT) => void,
): (input: INPUT, call: CALL) => RESULT {
  if (!isGenerator(execute)) return (input, call) => (check(input), execute(input, call))
  return async function* (input: INPUT, call: CALL) {
    check(input)
    yield* execute(input, call) as AsyncGenerator<unknown>
  } as (input: INPUT, call: CALL) => RESULT
}

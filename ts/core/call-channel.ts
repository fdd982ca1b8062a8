/**
 * The channels of `node:diagnostics_channel` that publish calls while they run. Without a listener, no message is made.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'
import { attempt, type Awaitable } from './abort.js'
import { type CallMessage, codeOf, type StepMessage, type StepMessages } from './call-message.js'

type About<STEP extends keyof StepMessages> = Omit<StepMessages[STEP], keyof StepMessage>

const channelOf = (name: string): TracingChannel<unknown, object> => tracingChannel<unknown, object>(`toolwright:${name}`)

const calls = channelOf('call')
const steps = {
  permission: channelOf('permission'),
  command: channelOf('command'),
  journal: channelOf('journal'),
  search: channelOf('search'),
}

/** Bun's tracing channels have no `hasSubscribers` of their own. */
const isHeard = ({ start, end, asyncStart, asyncEnd, error }: TracingChannel<unknown, object>): boolean =>
  start.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers || end.hasSubscribers || asyncStart.hasSubscribers

/** Whether `toolwright:call` has a listener. */
export const areCallsHeard = (): boolean => isHeard(calls)

/** The running call. Set only while there is a listener. */
const current = new AsyncLocalStorage<CallMessage>()

/** Runs a call in a context of its own, such as that of a span. */
export type CallScope = <T>(message: CallMessage, run: () => T) => T

/** Shared by all installed copies of the package, as the channels are. */
const scopes = ((globalThis as { [key: symbol]: unknown })[Symbol.for('toolwright.call-scopes')] ??= new Set()) as Set<CallScope>

/** Runs every call in a scope, until the returned function is called. */
export function addCallScope(scope: CallScope): () => void {
  scopes.add(scope)
  return () => void scopes.delete(scope)
}

function within<T>(message: CallMessage, run: () => T): T {
  let scoped = run
  for (const scope of scopes) {
    const inner = scoped
    scoped = () => scope(message, inner)
  }
  return current.run(message, scoped)
}

function publishEnd({ asyncStart, asyncEnd, error }: TracingChannel<unknown, object>, message: object, hasFailed: boolean): void {
  if (hasFailed) error.publish(message)
  asyncStart.publish(message)
  asyncEnd.publish(message)
}

/** Makes a call and publishes it. Unless `run` has set the outcome, the result or error decides it. */
export function traceCall<T>(message: CallMessage, run: () => Promise<T>): Promise<T> {
  calls.start.publish(message)
  const made = within(message, run)
  calls.end.publish(message)
  return made.then(
    (value) => {
      message.succeeded(value)
      publishEnd(calls, message, message.code !== undefined)
      return value
    },
    (error: unknown) => {
      message.failed(error)
      publishEnd(calls, message, true)
      throw error
    },
  )
}

/** The same for a generator. The call begins with the first value, and ends with the last or when the reader stops. */
export async function* traceStream<T>(
  message: CallMessage,
  run: () => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  calls.start.publish(message)
  const values = within(message, run)
  calls.end.publish(message)
  let last: T | undefined
  let isOver = false
  try {
    for (;;) {
      const next = await within(message, () => values.next())
      if (next.done === true) break
      last = next.value
      yield last
    }
    isOver = true
    message.succeeded(last)
  } catch (error) {
    isOver = true
    message.failed(error)
    throw error
  } finally {
    if (!isOver) {
      await within(message, () => values.return())
      message.failed(new DOMException('The results were no longer wanted', 'AbortError'))
    }
    publishEnd(calls, message, message.code !== undefined)
  }
}

/** A running step. */
export interface OpenStep<STEP extends keyof StepMessages> {
  readonly message: StepMessages[STEP]
  succeeded(): void
  failed(error: unknown): void
}

/** Begins a step; `undefined` if neither the step nor its call has a listener. The call's message has a command's exit code. */
export function startStep<STEP extends keyof StepMessages>(step: STEP, about: About<STEP>): OpenStep<STEP> | undefined {
  const channel = steps[step]
  const call = current.getStore()
  if (call === undefined && !isHeard(channel)) return undefined
  const message = { call, ...about } as StepMessages[STEP]
  const startedMs = performance.now()
  const end = (): void => {
    message.durationMs = performance.now() - startedMs
    publishEnd(channel, message, message.code !== undefined)
  }
  channel.start.publish(message)
  channel.end.publish(message)
  return {
    message,
    succeeded: end,
    failed(error) {
      message.code = codeOf(error)
      end()
    },
  }
}

/** Completes the message of a step with its outcome. */
type Note<STEP extends keyof StepMessages, T> = (message: StepMessages[STEP], value: T | undefined, error: unknown) => void

/** Does a step, synchronously if the work is synchronous. */
export function traceStep<STEP extends keyof StepMessages, T>(
  step: STEP,
  about: About<STEP>,
  work: () => Promise<T>,
  note?: Note<STEP, T>,
): Promise<T>
export function traceStep<STEP extends keyof StepMessages, T>(
  step: STEP,
  about: About<STEP>,
  work: () => Awaitable<T>,
  note?: Note<STEP, T>,
): Awaitable<T>
export function traceStep<STEP extends keyof StepMessages, T>(
  step: STEP,
  about: About<STEP>,
  work: () => Awaitable<T>,
  note?: Note<STEP, T>,
): Awaitable<T> {
  const open = startStep(step, about)
  if (open === undefined) return work()
  const onValue = (value: T): T => {
    note?.(open.message, value, undefined)
    open.succeeded()
    return value
  }
  const onError = (error: unknown): never => {
    note?.(open.message, undefined, error)
    open.failed(error)
    throw error
  }
  return attempt(work, onValue, onError)
}

/**
 * The channels of `node:diagnostics_channel` on which calls are published while they are made. Nothing is made or published
 * while nobody listens.
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

/** Whether anybody listens to calls. */
export const areCallsHeard = (): boolean => isHeard(calls)

/** The call that runs. Set only while somebody listens. */
const current = new AsyncLocalStorage<CallMessage>()

/** Runs a call in a context of its own, such as that of a span. */
export type CallScope = <T>(message: CallMessage, run: () => T) => T

/** Shared by all installed copies of the package, as the channels are. */
const scopes = ((globalThis as { [key: symbol]: unknown })[Symbol.for('toolwright.call-scopes')] ??= new Set()) as Set<CallScope>

/** Has every call run in a scope, until the returned function is called. */
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

/** Makes a call that somebody listens to. Unless `run` has noted how it ended, its result or error says so. */
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

/** The same for a call that yields. It begins with its first value, and ends with its last or when the reader breaks off. */
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

/** A step that runs. */
export interface OpenStep<STEP extends keyof StepMessages> {
  readonly message: StepMessages[STEP]
  succeeded(): void
  failed(error: unknown): void
}

/** Begins a step; `undefined` if nobody listens to it or to its call, whose message shows the exit code of a command. */
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

/** Completes the message of a step with what came of it. */
type Note<STEP extends keyof StepMessages, T> = (message: StepMessages[STEP], value: T | undefined, error: unknown) => void

/** Does a step. What is done synchronously stays so. */
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

import { unlessAborted } from '../unless-aborted.js'
import type { CheckArguments } from './argument-checks.js'
import { CallAuthority } from './call-authority.js'
import { callRuntime } from './call-runtime.js'
import { ContractFailure } from './codes.js'
import type { ContractTool } from './contract-tool.js'
import { type Envelope, errorEnvelope, failureOf, outputEnvelope, thrownText } from './envelope.js'
import type { CallRecord, SessionRecorder } from './journal/session-recorder.js'
import type { SessionCore } from './session-core.js'
import { fitOutput } from './truncation.js'

/** A tool of a session, with the check of its arguments. */
export interface RegisteredTool {
  tool: ContractTool
  check: CheckArguments
  effect: boolean
}

/** One call. */
export interface SessionCall {
  id: string
  registered: RegisteredTool
  args: unknown
  signal: AbortSignal
}

/** How long an aborted tool may still give what it has; then nobody waits for it any more. */
const GRACE_MS = 500

/**
 * One call, in the fixed order: schema, capabilities, rules, watchdog, prompt, execution, truncation,
 * envelope. Whatever becomes of it is an envelope, and is recorded before anybody sees it.
 */
export async function runCall(core: SessionCore, recorder: SessionRecorder, call: SessionCall): Promise<Envelope> {
  const start = performance.now()
  const record = recorder.open({ callId: call.id, tool: call.registered.tool.id, args: call.args, effect: call.registered.effect })
  const progress: Progress = { acted: false }
  let envelope: Envelope
  try {
    envelope = await attempt(core, record, call, start, progress)
  } catch (error) {
    const { code, text } = outcomeOf(error, call.signal)
    envelope = errorEnvelope(code, text, performance.now() - start)
  }
  await record.end(envelope, progress.acted)
  return envelope
}

/** How far a call has come: what failed before the tool ran has had no effect. */
interface Progress {
  acted: boolean
}

async function attempt(
  core: SessionCore,
  record: CallRecord,
  { id, registered, args, signal }: SessionCall,
  start: number,
  progress: Progress,
): Promise<Envelope> {
  const { tool, check } = registered
  await recorded(() => record.announce())
  signal.throwIfAborted()
  check(args)
  const authority = new CallAuthority(core, tool, args, id, signal)
  try {
    await authority.prepare()
    await authority.decide()
    await recorded(() => record.begin())
    signal.throwIfAborted()
    progress.acted = true
    const runtime = callRuntime({ core, authority, id, tool: tool.id, signal })
    const returned = await settled(Promise.resolve().then(() => tool.execute(args, runtime)), signal)
    const { data, outcome } = await fitOutput(returned, core.limits, { directory: core.directory, tool: tool.id, callId: id })
    return outputEnvelope(data, performance.now() - start, outcome)
  } finally {
    authority.release()
  }
}

/** Nothing that could not be recorded is done. */
async function recorded(step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    const text = `The call could not be recorded, and was not made: ${thrownText(error)}`
    throw new ContractFailure('recording_failed', text, { cause: error })
  }
}

/** Waits for a tool; after an abort only a moment more, in which it may say what it has. */
async function settled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(work, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(signal.reason), GRACE_MS)
    })
    try {
      return await Promise.race([work, late])
    } catch {
      throw signal.reason
    } finally {
      clearTimeout(timer)
    }
  }
}

function outcomeOf(error: unknown, signal: AbortSignal): ReturnType<typeof failureOf> {
  if (!signal.aborted || error !== signal.reason) return failureOf(error)
  if (ContractFailure.isInstance(error)) return failureOf(error)
  return { code: 'aborted', text: `The call was aborted: ${thrownText(error)}` }
}

import { ownCopyOf } from '../../core/argument-copy.js'
import { unlessAborted } from '../../core/abort.js'
import type { CheckArguments } from './argument-checks/argument-checks.js'
import { AccessController } from './access-controller.js'
import { callRuntime, forgivingRuntime } from './call-runtime.js'
import { ContractFailure, type Envelope, errorEnvelope, failureOf, outputEnvelope, thrownText } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import type { CallRecord, SessionRecorder } from '../journal/session-recorder.js'
import { attachOverwritten } from './overwritten-text.js'
import type { Scope } from './scope.js'
import { snapshotArguments, type ArgumentSnapshot } from '../registry/call-arguments.js'
import { fitError, fitOutput } from '../registry/limited-output.js'

/** A tool of a session, with the check of its arguments. */
export interface RegisteredTool {
  tool: ContractTool
  check: CheckArguments
  effect: boolean
  /** Whether the tool is built in. Built-in tools do not modify their arguments. */
  builtIn: boolean
}

/** One call. */
export interface SessionCall {
  id: string
  registered: RegisteredTool
  args: unknown
  signal: AbortSignal
}

/** How long an aborted tool may still return its result. */
const GRACE_MS = 500

/**
 * Makes one call, in a fixed order: schema, capabilities, rules, watchdog, prompt, execution, truncation, envelope. Every
 * outcome is an envelope, which is recorded before the caller gets it.
 */
export async function runCall(scope: Scope, recorder: SessionRecorder, call: SessionCall): Promise<Envelope> {
  const start = performance.now()
  const { tool, effect } = call.registered
  // The checks and the tool see this copy, whatever the caller does with its object.
  const snapshot = snapshotArguments(tool.id, call.args, scope.host.limits.textBytes)
  const record = recorder.open({ callId: call.id, tool: tool.id, args: snapshot.args, effect })
  const progress: Progress = { acted: false }
  let envelope: Envelope
  try {
    envelope = await attempt(scope, record, call, snapshot, start, progress)
  } catch (error) {
    const { code, text } = outcomeOf(error, call.signal)
    envelope = errorEnvelope(code, fitError(text, scope.host.limits.outputBytes), performance.now() - start)
  }
  await record.end(envelope, progress.acted)
  return envelope
}

/** How far a call has come. A call that fails before the tool runs has no effect. */
interface Progress {
  acted: boolean
}

async function attempt(
  scope: Scope,
  record: CallRecord,
  { id, registered, signal }: SessionCall,
  { args, refusal, ...size }: ArgumentSnapshot,
  start: number,
  progress: Progress,
): Promise<Envelope> {
  const { tool, check, builtIn } = registered
  // Before the first wait, so that the call has the access of the moment at which it was made.
  const access = new AccessController(scope, { id, tool, args, signal })
  await recorded(() => record.announce())
  signal.throwIfAborted()
  if (refusal !== undefined) throw refusal
  await check(args, size, signal)
  try {
    await access.prepare()
    await access.decide()
    await recorded(() => record.begin())
    signal.throwIfAborted()
    progress.acted = true
    let before: string | undefined
    const onOverwritten = tool.id === 'write' ? (text: string | undefined) => void (before = text) : undefined
    const runtime = callRuntime({ scope, access, id, tool: tool.id, signal, onOverwritten })
    const execute = () => (builtIn ? tool.execute(args, runtime) : tool.execute(ownCopyOf(args), forgivingRuntime(runtime)))
    const returned = await unlessAborted(Promise.resolve().then(execute), signal, GRACE_MS)
    const { data, outcome } = await fitOutput(returned, scope.host.limits, { directory: scope.directory, tool: tool.id, callId: id })
    return attachOverwritten(outputEnvelope(data, performance.now() - start, outcome), before)
  } finally {
    access.release()
  }
}

/** Refuses a call that cannot be recorded. */
async function recorded(step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    const text = `The call could not be recorded, and was not made: ${thrownText(error)}`
    throw new ContractFailure('recording_failed', text, { cause: error })
  }
}

function outcomeOf(error: unknown, signal: AbortSignal): ReturnType<typeof failureOf> {
  if (!signal.aborted || error !== signal.reason) return failureOf(error)
  if (ContractFailure.isInstance(error)) return failureOf(error)
  return { code: 'aborted', text: `The call was aborted: ${thrownText(error)}` }
}

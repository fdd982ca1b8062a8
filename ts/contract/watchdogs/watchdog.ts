import { callable, checked } from '../../core/options.js'
import { ContractFailure, thrownText } from '../registry/envelope.js'
import type { AgentManifest } from '../agents/manifest.js'
import { withinTime } from '../../core/abort.js'

/** The verdict of a watchdog on a call. */
export interface Verdict {
  action: 'allow' | 'deny' | 'ask'
  /** For a deny, the text for the model, word for word; for an ask, the text for the user. */
  reason?: string | undefined
}

/** A call before it is made, for a watchdog. */
export interface WatchedCall {
  readonly tool: string
  /** A copy of the checked arguments. */
  readonly args: unknown
  readonly manifest: AgentManifest
  readonly session_id: string
  readonly call_id: string
  /** The commands of a command line, each as its words; `undefined` if the words are not known beforehand. */
  readonly commands?: readonly WatchedCommand[] | undefined
  /** Aborted with the call, and when the time for the answer is over. */
  readonly signal: AbortSignal
}

/** One simple command of a command line. */
export interface WatchedCommand {
  readonly text: string
  readonly argv: readonly string[] | undefined
  /** The files of redirections, its own and those of the constructs around it. */
  readonly redirects?: readonly WatchedRedirect[] | undefined
  /** Why the command is not fully known before it runs. */
  readonly restricted?: string | undefined
}

/** A redirection from or to a file, as `> path`. Those between descriptors, as `2>&1`, and texts, as `<<E`, are none. */
export interface WatchedRedirect {
  readonly operator: '<' | '>' | '>>' | '>|' | '<>' | '>&' | '<&' | '&>' | '&>>'
  /** The word as the shell expands it, not resolved; `null` if it is not known before the line runs. */
  readonly path: string | null
}

/** Judges every call that is within the session's capabilities. It can only refuse. */
export type Watchdog = (call: WatchedCall) => Verdict | PromiseLike<Verdict>

/** Asks a watchdog. A failure, or no answer in time, is a refusal. */
export async function askWatchdog(
  watchdog: Watchdog,
  call: Omit<WatchedCall, 'signal'>,
  limitMs: number,
  signal: AbortSignal,
): Promise<Verdict> {
  try {
    const late = (): Error => new Error(`it did not answer within ${limitMs} ms`)
    const watched = (either: () => AbortSignal): WatchedCall => ({
      ...call,
      get signal() {
        return either()
      },
    })
    return checkVerdict(await withinTime((either) => watchdog(watched(either)), limitMs, signal, late))
  } catch (error) {
    signal.throwIfAborted()
    return { action: 'deny', reason: `The watchdog failed, which refuses the call: ${thrownText(error)}` }
  }
}

function checkVerdict(verdict: unknown): Verdict {
  const { action, reason } = (typeof verdict === 'object' && verdict !== null ? verdict : {}) as Partial<Verdict>
  if (action !== 'allow' && action !== 'deny' && action !== 'ask') throw new Error('it gave no verdict')
  return typeof reason === 'string' && reason !== '' ? { action, reason } : { action }
}

/** The refusal of a call, in the words of the watchdog. */
export function watchdogRefusal({ reason }: Verdict): ContractFailure {
  return new ContractFailure('watchdog_denied', reason ?? 'The watchdog refuses this call.')
}

/**
 * Several watchdogs as one: the strictest answer counts, and a deny ends the round.
 *
 * @throws {ToolError} INVALID_INPUT for a value that is not a function.
 */
export function allWatchdogs(...watchdogs: readonly Watchdog[]): Watchdog {
  for (const watchdog of watchdogs) checked('allWatchdogs', () => callable()(watchdog, 'A watchdog'))
  return async (call) => {
    let strictest: Verdict = { action: 'allow' }
    for (const watchdog of watchdogs) {
      const verdict = checkVerdict(await watchdog(call))
      if (verdict.action === 'deny') return verdict
      if (verdict.action === 'ask' && strictest.action === 'allow') strictest = verdict
    }
    return strictest
  }
}

/** Questions of commands about hosts, which the native addon puts and the host program answers. */
import { unlessAborted } from './abort.js'
import { nativeAddon } from './native.js'
import type { AskHost, HostDecision, SandboxHosts } from './sandbox-hosts.js'

/** Whether a command may reach a host. A rejection is a no, and `undefined` says that nobody has answered. */
export type AgreeToHost = (host: string, port: number, signal: AbortSignal) => Promise<boolean | undefined>

/** Answers each question of the addon, and gives up those that nobody waits for any more. */
export function answeringHosts(agree: AgreeToHost): AskHost {
  const open = new Map<number, AbortController>()
  return ({ question, host, port }) => {
    if (host === undefined) {
      open.get(question)?.abort()
      open.delete(question)
      return
    }
    const controller = new AbortController()
    open.set(question, controller)
    void agree(host, port, controller.signal)
      .catch(() => false)
      // Nobody waits for the answer to a question that was given up.
      .then((agrees) => (open.delete(question) ? answer(question, agrees) : undefined))
  }
}

async function answer(question: number, agrees: boolean | undefined): Promise<void> {
  const addon = await nativeAddon()
  addon.answerHostQuestion(question, agrees)
}

/** What is known of the hosts of one set. */
interface Decisions {
  /** What `always` was said to. */
  readonly always: Map<string, boolean>
  /** The last question about each host that has no answer yet. */
  readonly turns: Map<string, Promise<boolean>>
}

const decisions = new WeakMap<SandboxHosts, Decisions>()

const decisionsOf = (hosts: SandboxHosts): Decisions => {
  const known = decisions.get(hosts) ?? { always: new Map<string, boolean>(), turns: new Map<string, Promise<boolean>>() }
  decisions.set(hosts, known)
  return known
}

/** What is decided about hosts of one set holds for the other. */
export function shareDecisions(hosts: SandboxHosts, copy: SandboxHosts): void {
  decisions.set(copy, decisionsOf(hosts))
}

/** Asks `onAsk`. `undefined` without one. */
export function askingOnAsk(hosts: SandboxHosts): AskHost | undefined {
  const { onAsk } = hosts
  if (onAsk === undefined) return undefined
  const { always, turns } = decisionsOf(hosts)
  return answeringHosts(async (host, port, signal) => {
    const key = `${host}:${port}`
    const ask = async (): Promise<boolean> => {
      signal.throwIfAborted()
      const known = always.get(key)
      if (known !== undefined) return known
      const decision = await unlessAborted<HostDecision>(Promise.resolve(onAsk({ host, port, signal })), signal)
      const agrees = decision === 'allow_once' || decision === 'allow_always'
      if (decision === 'allow_always' || decision === 'reject_always') always.set(key, agrees)
      return agrees
    }
    // Another command asks about the same host, and its answer may hold for this one.
    const turn = (turns.get(key) ?? Promise.resolve()).then(ask, ask)
    turns.set(key, turn)
    try {
      return await turn
    } finally {
      if (turns.get(key) === turn) turns.delete(key)
    }
  })
}

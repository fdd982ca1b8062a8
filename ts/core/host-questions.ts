/** Questions of commands about hosts, which the native addon puts and the host program answers. */
import { nativeAddon } from './native.js'
import type { AskHost, HostDecision, SandboxHosts } from './sandbox-hosts.js'

/** Whether a command may reach a host. A rejection is a no. */
export type AgreeToHost = (host: string, port: number, signal: AbortSignal) => Promise<boolean>

/** Answers each question of the addon, and gives up those that nobody waits for any more. */
export function answeringHosts(agree: AgreeToHost): AskHost {
  const open = new Map<number, AbortController>()
  return ({ question, host, port }) => {
    if (host === undefined) return open.get(question)?.abort()
    const controller = new AbortController()
    open.set(question, controller)
    void answered(agree(host, port, controller.signal)).then((agrees) => {
      open.delete(question)
      return answer(question, agrees)
    })
  }
}

const answered = (agrees: Promise<boolean>): Promise<boolean> => agrees.catch(() => false)

async function answer(question: number, agrees: boolean): Promise<void> {
  const addon = await nativeAddon()
  addon.answerHostQuestion(question, agrees)
}

/** What `always` was said to, by the options of a set. */
const decided = new WeakMap<SandboxHosts, Map<string, boolean>>()

/** Asks `onAsk`. `undefined` without one. */
export function askingOnAsk(hosts: SandboxHosts): AskHost | undefined {
  const { onAsk } = hosts
  if (onAsk === undefined) return undefined
  const always = decided.get(hosts) ?? new Map<string, boolean>()
  decided.set(hosts, always)
  return answeringHosts(async (host, port, signal) => {
    const key = `${host}:${port}`
    const known = always.get(key)
    if (known !== undefined) return known
    const decision: HostDecision = await onAsk({ host, port, signal })
    const agrees = decision === 'allow_once' || decision === 'allow_always'
    if (decision === 'allow_always' || decision === 'reject_always') always.set(key, agrees)
    return agrees
  })
}

import type { OpenedTarget } from '../../../index.js'
import { ownCopyOf } from '../../core/argument-copy.js'
import { withinTime } from '../../core/abort.js'
import { checkAnswer, type Prompt, type PromptAnswer, suggestedRules } from '../permissions/prompt.js'
import { rejectedByUser, unanswered } from '../permissions/refusals.js'
import type { PermissionRules, PermissionVerdict, Subject } from '../permissions/rule-store.js'
import type { ContractAddon } from '../permissions/session-policy.js'
import { ContractFailure, thrownText } from '../registry/envelope.js'
import { attachOverwritten, textBefore } from './overwritten-text.js'
import type { Host } from './scope.js'

/** What the user is asked about. */
export interface PromptedCall {
  host: Host
  roots: readonly string[]
  rules: PermissionRules
  addon: ContractAddon
  call: { id: string; tool: string; args: unknown }
  /** The subjects that an `always` covers. */
  touched: readonly Subject[]
  verdict: PermissionVerdict
  /** The watchdog's reason to ask. */
  reason: string | undefined
  /** A file that the call overwrites. The user sees the change as a diff. */
  overwritten: OpenedTarget | undefined
  signal: AbortSignal
}

/**
 * Asks the user about a call. An `always` is recorded as rules.
 *
 * @throws {ContractFailure} unless the user agrees.
 */
export async function promptUser(prompt: Prompt, asked: PromptedCall): Promise<void> {
  const { host, call, rules: known, signal } = asked
  const rules = suggestedRules(asked.addon, call.tool, asked.touched, asked.roots)
  const subjects = asked.verdict.subjects.map(({ capability, resource, restricted: why }) => ({ capability, resource, why }))
  const args: unknown = ownCopyOf(call.args)
  const request = { session_id: host.sessionId, call_id: call.id, tool: call.tool, args, subjects, reason: asked.reason, rules }
  const late = (): Error => unanswered(call.tool, host.limits.promptMs)
  const before = await textBefore(asked.overwritten, signal)
  let answer: ReturnType<typeof checkAnswer>
  try {
    const show = (either: () => AbortSignal): ReturnType<Prompt> => prompt(attachOverwritten({ ...request, signal: either() }, before))
    answer = checkAnswer(await withinTime(show, host.limits.promptMs, signal, late))
    recordAlways(answer, rules, known, host.onRule)
  } catch (error) {
    signal.throwIfAborted()
    if (ContractFailure.isInstance(error)) throw error
    throw new ContractFailure('permission_rejected', 'The permission prompt failed, which refuses the call.', { cause: error })
  }
  if (answer.decision.startsWith('reject')) throw rejectedByUser(call.tool)
}

function recordAlways(
  answer: PromptAnswer & { scope: 'session' | 'project' },
  suggested: PromptAnswer['rules'],
  rules: PermissionRules,
  onRule: Host['onRule'],
): void {
  if (!answer.decision.endsWith('_always')) return
  const action = answer.decision === 'allow_always' ? 'allow' : 'deny'
  for (const { permission, pattern } of answer.rules ?? suggested ?? []) {
    const stored = rules.record({ permission, pattern, action }, answer.scope)
    try {
      onRule?.(stored)
    } catch (error) {
      // The rule holds in this session, although the host failed to store it.
      process.emitWarning(`toolwright: onRule failed: ${thrownText(error)}`)
    }
  }
}

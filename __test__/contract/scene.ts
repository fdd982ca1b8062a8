import type { ToolSet } from 'ai'
import {
  type CallOptions,
  createSession,
  defineContractTool,
  type ContractTool,
  type Envelope,
  type Rule,
  type Session,
  type SessionOptions,
} from 'toolwright/contract'
import { onTestFinished } from 'vitest'
import { expectOutput } from '../support/output-schema.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

/** A session over a sandbox of its own. */
export interface Scene extends Sandbox {
  session: Session
  call: Session['call']
}

/** Allows everything that is within the capabilities. */
export const allowAll: Rule[] = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' }))

/** Opens a session whose rules allow everything, unless `options` say otherwise; it is closed with the test. */
export async function openScene(options: Partial<SessionOptions> = {}, how: { checksOutputs?: boolean } = {}): Promise<Scene> {
  const fixture = makeSandbox()
  const session = await openSession(fixture, options, how)
  return { ...fixture, session, call: (id, args, call) => session.call(id, args, call) }
}

/** Opens a session over a sandbox. A test that measures time or memory leaves the check of outputs out. */
export async function openSession(
  fixture: Sandbox,
  options: Partial<SessionOptions> = {},
  { checksOutputs = true }: { checksOutputs?: boolean } = {},
): Promise<Session> {
  const session = await createSession({
    workspace: fixture.root,
    manifest: { name: 'test', permissions: allowAll },
    ...options,
  })
  onTestFinished(() => session.close())
  return checksOutputs ? checkingOutputs(session) : session
}

/** The same session, whose envelopes all have to fit the `outputSchema` of their tools. */
function checkingOutputs(session: Session): Session {
  const call = session.call.bind(session)
  session.call = (async (id: string, args: unknown, options?: CallOptions) => {
    const { [id]: tool } = session.tools as ToolSet
    const envelope = await call(id, args, options)
    if (tool !== undefined) await expectOutput(tool, envelope)
    return envelope
  }) as Session['call']
  return session
}

/** A session without any rule. */
export const noRules = { manifest: { name: 'test' } }

/** A manifest with these rules, and what it requires. */
export const manifest = (permissions: Rule[], requires: SessionOptions['manifest']['requires'] = {}) => ({
  manifest: { name: 'test', permissions, requires },
})

/** `fs.write src/** deny` as a rule. */
export function rule(text: string, more: Partial<Rule> = {}): Rule {
  const words = text.split(' ')
  const [permission = '', ...rest] = words
  const action = rest.pop() as Rule['action']
  return { permission, pattern: rest.join(' '), action, ...more }
}

/** A tool of a test's own. */
export function testTool(id: string, execute: ContractTool['execute'], more: Partial<ContractTool> = {}): ContractTool {
  return defineContractTool({
    id,
    description: 'A tool of a test.',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false },
    requires: {},
    execute,
    ...more,
  })
}

/** The data of a success. */
export function dataOf<T = any>(envelope: Envelope): T {
  if (envelope.type !== 'output') throw new Error(`no output: ${envelope.error_text}`)
  return envelope.data as T
}

/** The code of a failure with its text. */
export function failureOf(envelope: Envelope): { code: string; text: string } {
  if (envelope.type !== 'error') throw new Error(`no error: ${JSON.stringify(envelope.data)}`)
  return { code: envelope.metadata.code, text: envelope.error_text }
}

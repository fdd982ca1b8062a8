/** Grants for one call of `bash`: one path or host more than the options give, if the user agrees. */
import { dirname } from 'node:path'
import { z } from 'zod'
import type * as Addon from '../../../index.js'
import { unlessAborted } from '../../core/abort.js'
import { hostVariables } from '../../core/environment.js'
import { ToolError, withHint } from '../../core/errors.js'
import { commandGrants, extendGrants, grantedRoot } from '../../core/grants.js'
import { shareDecisions } from '../../core/host-questions.js'
import { call as callAddon } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import { type SandboxOptions, sandboxRequest } from '../../core/sandbox.js'
import type { BashGrant, GrantDecision, GrantQuestion, OnGrant } from '../grants.js'
import { checkContextSettings, type Settings } from '../settings.js'
import { type BashInput, type CallSettings, checkCommand } from './call-plan.js'

const KINDS = ['writable', 'readable', 'network'] as const satisfies readonly (keyof BashGrant)[]

/** The argument for a model. */
export const grantSchema = z
  .object({
    writable: z.string().optional().describe('A directory to write to'),
    readable: z.string().optional().describe('A closed path to read'),
    network: z.string().optional().describe('A host to reach, such as example.com:443'),
  })
  .optional()
  .describe('Asks the user for one thing that the sandbox refused, for this command only: one of writable, readable, network')

/** The longest path of the system. A longer text would come back in the error. */
const MAX_LENGTH = 4_096
/** How long the checks of a grant may take, in milliseconds. The user's answer may take any time. */
const CHECK_TIMEOUT_MS = 60_000

/**
 * The settings of a call with its grant. The user is asked about the real path, which must be the same after the answer.
 *
 * @throws {ToolError} INVALID_INPUT for anything but one grant, TOOL_GRANT_REFUSED
 */
export async function withGrant(input: BashInput, { settings, signal }: CallSettings, onGrant: OnGrant | undefined): Promise<Settings> {
  const { kind, wanted } = oneOf(input.grant)
  if (onGrant === undefined) throw invalid('grant cannot be used: nobody is asked about grants here.')
  checkContextSettings(settings)
  // The user is asked about a command that can run.
  const { cmd, args, cwd } = checkCommand(input)
  const check = (): Promise<Addon.GrantForCall> => checkGrant(settings, kind, wanted, signal)
  const found = await check()
  const { subject, opens } = found
  const question: GrantQuestion = { grant: kind, subject, opens, cmd, args: [...args], cwd, signal }
  if (!(await agrees(onGrant, question))) throw refused(kind, found.subject, 'the user has not agreed to it', 'Go on without it.')
  const now = await check()
  if (now.subject !== found.subject || now.identity !== found.identity) {
    throw refused(kind, found.subject, 'is another one since the user was asked', 'Repeat the call.')
  }
  return { ...settings, sandbox: widened(settings.sandbox, kind, found) }
}

function checkGrant(
  settings: Settings,
  kind: keyof BashGrant,
  wanted: string,
  signal: AbortSignal | undefined,
): Promise<Addon.GrantForCall> {
  const { sandbox, allowNetwork } = settings
  return callAddon({ signal, timeoutMs: CHECK_TIMEOUT_MS, what: `grant ${kind}` }, (addon, cancel) =>
    addon.checkGrant(
      commandGrants(addon, grantedRoot(addon, settings), sandbox),
      sandboxRequest(sandbox, allowNetwork),
      kind,
      wanted,
      hostVariables(),
      cancel,
    ),
  )
}

function oneOf(grant: unknown): { kind: keyof BashGrant; wanted: string } {
  const given = typeof grant === 'object' && grant !== null ? (grant as Record<string, unknown>) : {}
  const kinds = KINDS.filter((kind) => given[kind] !== undefined)
  const [kind, ...others] = kinds
  const wanted = kind === undefined ? undefined : given[kind]
  if (kind === undefined || others.length > 0 || typeof wanted !== 'string' || wanted.trim() === '') {
    throw invalid('grant must have exactly one of writable, readable and network, as a text.')
  }
  if (wanted.length > MAX_LENGTH) throw invalid(`grant.${kind} exceeds ${MAX_LENGTH} characters.`)
  return { kind, wanted }
}

/** No valid answer is a no. An abort ends the call. */
async function agrees(onGrant: OnGrant, question: GrantQuestion): Promise<boolean> {
  const { signal } = question
  try {
    const decision = await unlessAborted<GrantDecision>(Promise.resolve(onGrant(question)), signal)
    return decision === 'allow_once'
  } catch {
    signal?.throwIfAborted()
    return false
  }
}

function refused(grant: keyof BashGrant, subject: string, why: string, hint: string): ToolError {
  const summary = 'The grant was refused'
  const message = `${summary}: ${grant} \`${subject}\`: ${why} [TOOL_GRANT_REFUSED] ${hint}`
  return new ToolError({ code: 'TOOL_GRANT_REFUSED', summary, message, hint, details: { grant, subject } })
}

/** A copy of the options with the grant. */
function widened(sandbox: SandboxOptions, kind: keyof BashGrant, { subject, identity }: Addon.GrantForCall): SandboxOptions {
  if (kind === 'network') {
    const { network } = sandbox
    const hosts = { ...network, allow: [...(network?.allow ?? []), subject] }
    if (network !== undefined) shareDecisions(network, hosts)
    return extendGrants(sandbox, { ...sandbox, network: hosts })
  }
  const option = kind === 'writable' ? 'writableRoots' : 'readable'
  return extendGrants(sandbox, { ...sandbox, [option]: [...(sandbox[option] ?? []), subject] }, subject, identity)
}

/** The grant that would open what a command was refused. */
function grantFor({ subject, option }: Addon.SandboxDenial): BashGrant | undefined {
  if (option === 'sandbox.writableRoots') return { writable: dirname(subject) }
  if (option === 'sandbox.readable') return { readable: subject }
  if (option === 'sandbox.network.allow') return { network: subject }
  return undefined
}

/** Throws the error of a command again, and names the grant that the user can be asked for. */
export const withGrantMove =
  ({ grant }: BashInput, onGrant: OnGrant | undefined) =>
  (error: unknown): never => {
    if (onGrant === undefined || grant !== undefined || !ToolError.isInstance(error)) throw error
    const move = moveAfter(error)
    throw move === undefined ? error : withHint(error, error.hint === '' ? move : `${error.hint} ${move}`)
  }

function moveAfter({ code, details }: ToolError): string | undefined {
  if (code === 'TOOL_NETWORK_DISABLED' || code === 'TOOL_GIT_REMOTE_DISABLED') {
    return 'To ask the user for one host, repeat the call with grant: {"network":"HOST:PORT"}.'
  }
  const denials = Array.isArray(details['denials']) ? (details['denials'] as Addon.SandboxDenial[]) : []
  const wanted = denials.map(grantFor).find((one) => one !== undefined)
  return wanted && `To ask the user for it, repeat the call with grant: ${JSON.stringify(wanted)}.`
}

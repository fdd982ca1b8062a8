import { type Check, type Checks, invalid, must, optional, parseOptions, text, wholeNumber } from '../../core/options.js'
import type { AcpClient, AcpClientCapabilities } from './client.js'
import { protocolVersion, type ProtocolVersion } from './version.js'

/** A session of a client of the Agent Client Protocol. */
export interface AcpSessionOptions {
  /** The client: `connection.client` of `@agentclientprotocol/sdk`. */
  client: AcpClient
  /** The client's id of the session. */
  sessionId: string
  /** The version of the protocol. @default 1 */
  version?: ProtocolVersion | undefined
  /** The client's capabilities at `initialize`: whether it shows forms, and terminals of `_meta`. @default {} */
  clientCapabilities?: AcpClientCapabilities | null | undefined
  /** The base of relative paths. @default the first root of the session's workspace */
  workspace?: string | undefined
  /** The most bytes of one command's output that are sent while it runs. @default 1_000_000 */
  outputBytes?: number | undefined
}

const client: Check<AcpClient> = (value, name) => {
  const { notify, request } = (value ?? {}) as Partial<AcpClient>
  if (typeof notify !== 'function' || typeof request !== 'function') throw invalid(`${name} must have notify and request.`)
  return value as AcpClient
}

const checks = {
  client,
  sessionId: text,
  version: protocolVersion,
  clientCapabilities: must<AcpClientCapabilities | null | undefined>(
    (value) => value === undefined || typeof value === 'object',
    'what the client said at initialize',
  ),
  workspace: optional(text),
  outputBytes: optional(wholeNumber(0), 1_000_000),
} satisfies Checks<AcpSessionOptions>

/** @throws {ToolError} INVALID_INPUT */
export function parseAcpOptions(caller: string, options: AcpSessionOptions) {
  const parsed = parseOptions(caller, options, checks)
  const { _meta: meta, elicitation } = parsed.clientCapabilities ?? {}
  const showsTerminals = meta?.['terminal_output'] === true
  return {
    ...parsed,
    meta: showsTerminals ? ('zed' as const) : undefined,
    hasForms: typeof elicitation?.form === 'object' && elicitation.form !== null,
  }
}

/** Texts for the host about servers that cannot be connected, and about how servers run. */
import type { McpConnection } from './mcp-connection.js'
import type { McpServerConfig } from './server-config.js'
import { describeSandbox, sandboxHint } from './server-sandbox.js'
import { withoutSecrets } from './tool-output.js'

/** The most characters of a server's message that are quoted. */
const MAX_QUOTE = 600

/** The server of the error. */
export interface ConnectFacts {
  name: string
  server: McpServerConfig
  /** Values that no text may contain. */
  secrets: readonly string[]
}

/** How a server runs, in a few words. Only the host of an address is named, because the address may hold a token. */
export function runsIn(server: McpServerConfig): string {
  if (!('url' in server)) return describeSandbox(server.sandbox ?? {})
  return `elsewhere: ${URL.canParse(server.url) ? new URL(server.url).host : 'at its url'}`
}

/**
 * Describes in one line why a server could not be connected, with the next move. Of the error it takes only parts that
 * neither the server nor the configuration wrote, since the message may hold an address with a token. What a process in the
 * sandbox wrote to stderr is quoted without the values of the configuration.
 */
export function describeConnectError(facts: ConnectFacts, error: unknown, process: McpConnection['process'] = processOf(error)): string {
  const { name, server } = facts
  const { code, statusCode } = factsOf(error)
  if (code === 'ERR_MODULE_NOT_FOUND') {
    return `mcp server ${name} cannot be connected: the package @ai-sdk/mcp is not installed. Install it with npm install @ai-sdk/mcp.`
  }
  const why = process?.ended ?? (statusCode === undefined ? code : `HTTP ${statusCode}`) ?? (process && 'it did not answer in time')
  const check = 'url' in server ? 'url and its headers' : 'command, args, env and cwd'
  const what = `mcp server ${name} cannot be connected${why === undefined ? '' : ` (${why})`}, and is tried again. Check its ${check}.`
  if (code === 'TOOL_SANDBOX_UNAVAILABLE') {
    return `${what} It cannot be confined on this system: mcpServers.${name}.sandbox: 'none' runs it outside of the sandbox, with the rights of this process.`
  }
  // If the server said nothing, the missing network is the most likely cause.
  const hasNetwork = 'url' in server || server.sandbox === 'none' || server.sandbox?.network === true
  return `${what}${describe(facts, process, hasNetwork ? '' : ` It has no network unless mcpServers.${name}.sandbox.network is true.`)}`
}

/** Describes how a connected server went down. */
export function describeEnd(facts: ConnectFacts, process: McpConnection['process']): string | undefined {
  if (process?.ended === undefined) return undefined
  return `mcp server ${facts.name} went down (${process.ended}), and is tried again.${describe(facts, process, '')}`
}

/** How the server ran, and what it said. */
function describe({ name, server, secrets }: ConnectFacts, process: McpConnection['process'], otherwise: string): string {
  if ('url' in server || server.sandbox === 'none' || process === undefined) return ''
  const stderr = withoutSecrets(process.stderr, secrets)
  const hint = sandboxHint(name, server.sandbox ?? {}, stderr)
  const quote = oneLine(stderr).slice(-MAX_QUOTE)
  return `${hint === undefined ? otherwise : ` ${hint}`}${quote === '' ? '' : ` It said: ${quote}`}`
}

/** Drops characters that move a cursor or change the direction of text. */
const oneLine = (text: string): string => text.replace(/[\p{C}\s]+/gu, ' ').trim()

function processOf(error: unknown): McpConnection['process'] {
  return typeof error === 'object' && error !== null && 'process' in error ? (error.process as McpConnection['process']) : undefined
}

/** The code of a system error, or the status of an HTTP answer, of an error or its causes. */
function factsOf(error: unknown): { code?: string | undefined; statusCode?: number | undefined } {
  for (let one: unknown = error, depth = 0; depth < 5 && typeof one === 'object' && one !== null; depth += 1) {
    const { code, statusCode, cause } = one as Record<string, unknown>
    if (typeof statusCode === 'number') return { statusCode }
    if (typeof code === 'string' && /^[A-Z][A-Za-z_]{1,40}$/u.test(code)) return { code }
    one = cause
  }
  return {}
}

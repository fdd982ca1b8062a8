import { invalid } from '../../core/options.js'

/** A server of the Model Context Protocol. Configuring a server does not connect it: the host enables it. */
export type McpServerConfig = McpStdioServer | McpHttpServer

interface McpServerCommon {
  /** The time limit for connecting, listing and every call. @default 30000 */
  timeout_ms?: number | undefined
}

/** A server that runs as a process beside this one. It is not in the sandbox: its calls are asked for. */
export interface McpStdioServer extends McpServerCommon {
  command: string
  /** @default [] */
  args?: string[] | undefined
  /** Added to a few harmless variables of this process (`HOME`, `PATH`, …). Values are never shown. */
  env?: Record<string, string> | undefined
  /** @default the directory of this process */
  cwd?: string | undefined
}

/** A server that is reached by streamable HTTP. */
export interface McpHttpServer extends McpServerCommon {
  url: string
  /** Credentials, for one. Values are never shown. */
  headers?: Record<string, string> | undefined
}

/** The maximum size of an answer or message of a server, since the client reads all of it into memory. */
export const MAX_MESSAGE_BYTES = 10_000_000
/** The default time limit of a server. */
export const MCP_TIMEOUT_MS = 30_000

const keys = new Set(['command', 'args', 'env', 'cwd', 'url', 'headers', 'timeout_ms'])

/** @throws {ToolError} INVALID_INPUT, without the values that may be secret. */
export function checkMcpServers(servers: unknown): asserts servers is Record<string, McpServerConfig> {
  if (!isRecord(servers)) throw invalid('manifest.mcpServers must be an object of servers by their names.')
  for (const [name, server] of Object.entries(servers)) {
    const problem = /^[A-Za-z0-9_-]{1,40}$/u.test(name) ? serverProblem(server) : 'the name must be 1 to 40 letters, digits, "_" and "-"'
    if (problem !== undefined) throw invalid(`manifest.mcpServers.${name.slice(0, 60)}: ${problem}.`)
  }
}

function serverProblem(server: unknown): string | undefined {
  if (!isRecord(server)) return 'it must be an object'
  const unknown = Object.keys(server).find((key) => !keys.has(key))
  if (unknown !== undefined) return `${unknown} is not known`
  const { command, args = [], env = {}, cwd, url, headers = {}, timeout_ms: timeoutMs = MCP_TIMEOUT_MS } = server
  if ((command === undefined) === (url === undefined)) return 'it needs either command or url'
  if (!Number.isSafeInteger(timeoutMs) || Number(timeoutMs) < 1 || Number(timeoutMs) > 3_600_000) return 'timeout_ms must be 1 to 3600000'
  if (url !== undefined) return httpProblem(url, headers)
  const isText = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0')
  if (!isText(command) || command === '') return 'command must be a program'
  if (!Array.isArray(args) || !args.every(isText)) return 'args must be strings'
  if (!isRecord(env) || !Object.values(env).every(isText)) return 'env must be strings by their names'
  return cwd === undefined || (isText(cwd) && cwd !== '') ? undefined : 'cwd must be a path'
}

function httpProblem(url: unknown, headers: unknown): string | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return 'url must be an address'
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return 'url must hold no credentials; put them into headers'
  if (!isRecord(headers) || !Object.values(headers).every((value) => typeof value === 'string'))
    return 'headers must be strings by their names'
  if (protocol === 'https:') return undefined
  if (protocol !== 'http:') return 'url must begin with https:// or http://'
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
  return isLocal || Object.keys(headers).length === 0 ? undefined : 'headers go over https only, but to this machine'
}

/** The values of headers and variables, which must not come back in a text. */
export function secretsOf(server: McpServerConfig): string[] {
  const values = Object.values(('url' in server ? server.headers : server.env) ?? {})
  const words = values.flatMap((value) => [value, ...value.split(/\s+/u)])
  return [...new Set(words)].filter((word) => word.length >= 8).sort((a, b) => b.length - a.length)
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

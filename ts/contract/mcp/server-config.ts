import { type Check, type Checks, group, invalid, listOf, must, optional, path, string, wholeNumber } from '../../core/options.js'
import { type McpSandbox, mcpSandbox } from './server-sandbox.js'

/** A server of the Model Context Protocol. A configured server is connected only if the host enables it. */
export type McpServerConfig = McpStdioServer | McpHttpServer

interface McpServerCommon {
  /** The time limit for connecting, listing and every call. @default 30000 */
  timeout_ms?: number | undefined
}

/** A server that runs as a process of the session, in the sandbox unless its configuration has `sandbox: 'none'`. */
export interface McpStdioServer extends McpServerCommon {
  /** A name looked up in PATH, or a path: absolute, or relative to `cwd`. */
  command: string
  /** @default [] */
  args?: string[] | undefined
  /** Variables in addition to a few harmless ones of this process (`HOME`, `PATH`, …). Values are never shown. */
  env?: Record<string, string> | undefined
  /** The working directory; `{workspace}` is the first root of the session. @default that of this process */
  cwd?: string | undefined
  /**
   * The access of the server. `'none'` runs it outside the sandbox, with the rights of this process.
   * @default {}: it reads everything but credential stores, writes its own home, and has no network
   */
  sandbox?: McpSandbox | 'none' | undefined
}

/** A server that is reached by streamable HTTP. */
export interface McpHttpServer extends McpServerCommon {
  url: string
  /** Headers, such as credentials. Values are never shown. */
  headers?: Record<string, string> | undefined
}

/** The maximum size of an answer or message of a server, which the client reads into memory. */
export const MAX_MESSAGE_BYTES = 10_000_000
export const MCP_TIMEOUT_MS = 30_000

const noNul = must<string>((value) => typeof value === 'string' && !value.includes('\0'), 'a text without NUL')
const texts = (text: Check<string>): Check<Record<string, string>> => {
  const all = must<Record<string, string>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'strings by their names',
  )
  return (value, name) => Object.fromEntries(Object.entries(all(value, name)).map(([key, one]) => [key, text(one, `${name}.${key}`)]))
}
const timeout_ms = optional(wholeNumber(1, 3_600_000))

const stdioServer = group({
  command: path,
  args: optional(listOf(noNul)),
  env: optional(texts(noNul)),
  cwd: optional(path),
  sandbox: optional(mcpSandbox),
  timeout_ms,
} satisfies Checks<McpStdioServer>)
const httpServer = group({ url: string, headers: optional(texts(string)), timeout_ms } satisfies Checks<McpHttpServer>)

const serverConfig: Check<McpServerConfig> = (config, name) => {
  const { command, url } = (config ?? {}) as Partial<McpStdioServer & McpHttpServer>
  if ((command === undefined) === (url === undefined)) throw invalid(`${name} needs either command or url.`)
  if (url === undefined) return stdioServer(config, name)
  const http = httpServer(config, name)
  const problem = addressProblem(http)
  if (problem !== undefined) throw invalid(`${name}: ${problem}.`)
  return http
}

/** Servers by name. Errors do not show values, which may be secret. */
export const mcpServers: Check<Record<string, McpServerConfig>> = (servers, where) => {
  if (typeof servers !== 'object' || servers === null || Array.isArray(servers)) {
    throw invalid(`${where} must be an object of servers by their names.`)
  }
  const entries = Object.entries(servers).map(([name, config]: [string, unknown]): [string, McpServerConfig] => {
    const at = `${where}.${name.slice(0, 60)}`
    if (!/^[A-Za-z0-9_-]{1,40}$/u.test(name)) throw invalid(`${at}: the name must be 1 to 40 letters, digits, "_" and "-".`)
    return [name, serverConfig(config, at)]
  })
  return Object.fromEntries(entries)
}

function addressProblem({ url, headers = {} }: McpHttpServer): string | undefined {
  if (!URL.canParse(url)) return 'url must be an address'
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return 'url must hold no credentials; put them into headers'
  if (protocol === 'https:') return undefined
  if (protocol !== 'http:') return 'url must begin with https:// or http://'
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
  return isLocal || Object.keys(headers).length === 0 ? undefined : 'headers go over https only, but to this machine'
}

/** The values of headers and variables, which no text may contain. */
export function secretsOf(server: McpServerConfig): string[] {
  const values = Object.values(('url' in server ? server.headers : server.env) ?? {})
  const words = [...values.flatMap((value) => [value, ...value.split(/\s+/u)]), ...('url' in server ? [] : secretArguments(server.args))]
  return [...new Set(words)].filter((word) => word.length >= 8).sort((a, b) => b.length - a.length)
}

const SECRET_NAME = /token|secret|password|passwd|credential|auth|key|dsn/iu

/** Arguments that may hold a credential: what follows such a name, addresses, and words like those of a generator. */
function secretArguments(args: readonly string[] = []): string[] {
  return args.flatMap((arg, index) => {
    const [name = '', ...rest] = arg.split('=')
    const value = rest.join('=')
    const words = [arg, ...(value === '' ? [] : [value])]
    const before = args[index - 1] ?? ''
    const isNamed = SECRET_NAME.test(value === '' ? '' : name) || (before.startsWith('-') && SECRET_NAME.test(before))
    if (isNamed) return words
    return words.filter((word) => word.includes('://') || /^(?=.*\d)(?=.*[a-z])[A-Za-z0-9_+=-]{20,}$/iu.test(word))
  })
}

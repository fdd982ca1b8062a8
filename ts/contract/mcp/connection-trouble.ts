import type { McpServerConfig } from './server-config.js'

/**
 * One line on why a server could not be connected, and the next move. Of the error only what no server and no
 * configuration has written: its message may hold an address with a token, or what a server says of one.
 */
export function connectionTrouble(name: string, server: McpServerConfig, error: unknown): string {
  const { code, statusCode } = factsOf(error)
  if (code === 'ERR_MODULE_NOT_FOUND') {
    return `mcp server ${name} cannot be connected: the package @ai-sdk/mcp is not installed. Install it with npm install @ai-sdk/mcp.`
  }
  const why = statusCode === undefined ? code : `HTTP ${statusCode}`
  const check = 'url' in server ? 'url and its headers' : 'command, args, env and cwd'
  return `mcp server ${name} cannot be connected${why === undefined ? '' : ` (${why})`}, and is tried again. Check its ${check}.`
}

/** The name of a failure of the system, and the status of an answer, of an error or of those behind it. */
function factsOf(error: unknown): { code?: string | undefined; statusCode?: number | undefined } {
  for (let one: unknown = error, depth = 0; depth < 5 && typeof one === 'object' && one !== null; depth += 1) {
    const { code, statusCode, cause } = one as Record<string, unknown>
    if (typeof statusCode === 'number') return { statusCode }
    if (typeof code === 'string' && /^[A-Z][A-Za-z_]{1,40}$/u.test(code)) return { code }
    one = cause
  }
  return {}
}

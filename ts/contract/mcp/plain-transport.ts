import type * as McpStdio from '@ai-sdk/mcp/mcp-stdio'
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import { loadLate } from '../../core/late-code.js'
import { MAX_MESSAGE_BYTES, type McpStdioServer } from './server-config.js'

/** How long a server's process may take to end before it is killed, in milliseconds. */
const END_MS = 1_000

/** Imported by a variable, so that bundlers ignore it: the package is optional, and a bundler would fail if it is not installed. */
const STDIO = '@ai-sdk/mcp/mcp-stdio'
const loadStdioTransport = loadLate(
  async () => (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ STDIO)) as typeof McpStdio,
)

/** The transport of a server outside the sandbox. */
export async function plainTransport(server: McpStdioServer, cwd: string | undefined, onTooLong: () => void) {
  const { StdioMCPTransport } = await loadStdioTransport()
  const { command, args = [], env = {} } = server
  const transport = new StdioMCPTransport({ command, args, env, stderr: 'ignore', ...(cwd === undefined ? {} : { cwd }) })
  let child: ChildProcess | undefined
  const start = transport.start.bind(transport)
  transport.start = async () => {
    const started = start()
    // The transport asks its process to end, and does not check whether it does.
    child = (transport as unknown as { process?: ChildProcess }).process
    // After an abort the error event may come when no other listener is left.
    child?.on('error', () => undefined)
    const { stdout } = child ?? {}
    if (stdout) {
      whenLineTooLong(stdout, () => {
        onTooLong()
        child?.kill('SIGKILL')
      })
    }
    await started
  }
  return { transport, end: () => endProcess(child) }
}

function endProcess(child: ChildProcess | undefined): void {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS)
  timer.unref()
  child.once('exit', () => clearTimeout(timer))
  child.kill('SIGTERM')
}

/** Calls a listener when a line of an output exceeds the limit, before other listeners get the end of it. */
function whenLineTooLong(output: Readable, listener: () => void): void {
  let bytes = 0
  output.prependListener('data', (chunk: Buffer) => {
    const first = chunk.indexOf(0x0a)
    const longest = bytes + (first === -1 ? chunk.length : first)
    bytes = first === -1 ? longest : chunk.length - chunk.lastIndexOf(0x0a) - 1
    if (Math.max(longest, bytes) > MAX_MESSAGE_BYTES) listener()
  })
}

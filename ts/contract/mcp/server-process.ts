import { mkdirSync } from 'node:fs'
import type { KeptProcessEnd } from '../../../index.js'
import { environmentOptions, hostVariables } from '../../core/environment.js'
import { commandGrants, grantedRoot, noteGrants, noteRoot } from '../../core/grants.js'
import { type KeptProcess, startProcess } from '../../core/kept-process.js'
import { sandboxRequest } from '../../core/sandbox.js'
import { MCP_TIMEOUT_MS, type McpStdioServer } from './server-config.js'
import { directoryOf, type McpSandbox, placed, sandboxOptions, type ServerPlace } from './server-sandbox.js'

/** The variables of this process that a server gets. */
const HARMLESS = new Set(['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'TZ', 'LC_ALL', 'LC_CTYPE'])

/** Variables for proxies and certificates, for a server with a network. */
const WAYS = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
const waysOut = new Set([...WAYS, ...WAYS.map((name) => name.toLowerCase()), 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'])

/** The bytes of stderr that are kept, from its end, because the last messages say why a program ended. */
const STDERR_BYTES = 4_096

/** How long a server may take to end after its input was closed, and after SIGTERM, in milliseconds. */
const OWN_END_MS = 50
const CLOSE_MS = 300
const TERM_MS = 500

/**
 * Enters the server's directory, drops variables, and executes the server. The sandbox starts programs in a directory that
 * they may write, and the server's directory need not be writable.
 */
const START = 'cd -- "$0" || exit 126; while [ "$1" != -- ]; do command unset -v "$1" 2>/dev/null; shift; done; shift; exec "$@"'

/** The process of a server, in the sandbox. */
export class ServerProcess {
  readonly process: KeptProcess
  #stderr: Uint8Array = new Uint8Array()
  #ending: Promise<KeptProcessEnd> | undefined
  #wasEnded = false

  private constructor(process: KeptProcess) {
    this.process = process
    void this.#listen().catch(() => undefined)
  }

  /**
   * @throws {ToolError} TOOL_SANDBOX_UNAVAILABLE if it cannot be confined, PROCESS_FAILED, and other reasons for which a
   * command does not start.
   */
  static async start(name: string, server: McpStdioServer, place: ServerPlace, signal: AbortSignal): Promise<ServerProcess> {
    const { command, args = [], env = {}, timeout_ms = MCP_TIMEOUT_MS } = server
    const sandbox: McpSandbox = server.sandbox === 'none' || server.sandbox === undefined ? {} : server.sandbox
    const cwd = directoryOf(server, place)
    const home = homeOf(name, sandbox, place, cwd)
    const options = sandboxOptions(sandbox, place, cwd)
    noteRoot(options, home)
    noteGrants(options, home)
    const network = sandbox.network === true
    const { environment, dropped } = variables(sandbox, { HOME: home, ...(network ? {} : QUICK), ...env }, network)
    const hostEnv = hostVariables()
    const line = { cmd: '/bin/sh', args: ['-c', START, cwd, ...dropped, '--', command, ...args], cwd: '.' }
    const process = await startProcess(
      { signal, timeoutMs: timeout_ms, what: `mcp server ${name}` },
      (addon, keep, cancel) => {
        const root = grantedRoot(addon, { rootHolder: options, rootDir: home })
        const settings = new addon.CommandSettings(
          { environment, sandbox: sandboxRequest(options, network), limitBytes: 0, timeoutMs: timeout_ms },
          commandGrants(addon, root, options, place.fork),
        )
        return addon.startProcess(settings, { ...line, ...(hostEnv === undefined ? {} : { hostEnv }) }, keep, cancel)
      },
      // The server's output waits in its pipe until it is read here.
      { input: 'pipe', stderrApart: true, holds: true, headBytes: 0 },
    )
    return new ServerProcess(process)
  }

  /** The end of its stderr. */
  get stderr(): string {
    const text = Buffer.from(this.#stderr).toString('utf8')
    return this.#stderr.length < STDERR_BYTES ? text : text.slice(text.indexOf('\n') + 1)
  }

  /** How the server ended by itself, in a few words. */
  get ended(): string | undefined {
    const { end } = this.process
    if (end === undefined || this.#wasEnded) return undefined
    if (end.exitCode === 127) return 'its command was not found'
    return typeof end.exitCode === 'number' ? `it ended with exit code ${end.exitCode}` : `it was ended by ${end.signal ?? 'the system'}`
  }

  async #listen(): Promise<void> {
    for await (const piece of this.process.output('stderr')) {
      const all = Buffer.concat([this.#stderr, piece])
      this.#stderr = Uint8Array.prototype.slice.call(all, -STDERR_BYTES)
    }
  }

  /** Ends the server as the protocol says: closes its input, sends SIGTERM, and then kills it and everything that it has started. */
  end(atOnce = false): Promise<KeptProcessEnd> {
    if (atOnce) {
      this.#wasEnded ||= this.process.end === undefined
      return this.process.kill()
    }
    return (this.#ending ??= this.#end())
  }

  async #end(): Promise<KeptProcessEnd> {
    // The output ends a moment before the process does.
    const own = await this.process.wait(OWN_END_MS)
    if (own !== undefined) return own
    this.#wasEnded = true
    this.process.closeInput()
    const ended = await this.process.wait(CLOSE_MS)
    if (ended !== undefined) return ended
    this.process.signal('SIGTERM')
    return (await this.process.wait(TERM_MS)) ?? this.process.kill()
  }
}

function homeOf(name: string, { home }: McpSandbox, place: ServerPlace, cwd: string): string {
  const own = home === undefined ? undefined : placed(home, place.roots, cwd)[0]
  if (own === undefined) return place.home(name)
  mkdirSync(own, { recursive: true, mode: 0o700 })
  return own
}

/** Without a network, npm would retry silently for longer than the time limit of a server's start. */
const QUICK = { npm_config_fetch_retries: '0' }

/** The environment of a server, and the names in it that its start drops. */
function variables({ env }: McpSandbox, set: Record<string, string>, network: boolean) {
  if (env === 'inherit') {
    // Values of the configuration still take precedence over those of this process.
    return { environment: environmentOptions({ allow: ['*'], set }, network), dropped: [] }
  }
  const environment = environmentOptions({ allow: env?.allow, set: { ...set, ...env?.set } }, network)
  const isKept = (name: string): boolean =>
    env !== undefined || HARMLESS.has(name) || (network && waysOut.has(name)) || Object.hasOwn(set, name)
  // A shell has no variables of other names.
  const dropped = Object.keys(process.env).filter((name) => !isKept(name) && /^[A-Za-z_][A-Za-z0-9_]*$/u.test(name))
  return { environment, dropped }
}

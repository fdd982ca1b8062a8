import { randomUUID } from 'node:crypto'
import { ToolError } from '../core/errors.js'
import type { KeptProcess } from '../core/kept-process.js'
import { checked, type Checks, invalid, listOf, oneOf, optional, parseOptions, text, wholeNumber } from '../core/options.js'
import { sessionOf } from './create-session.js'
import { rootOf } from './describe.js'
import { reachOf } from './network-policy.js'
import type { NetworkPolicy, NetworkSandboxSession, PortOptions, RequestTransformation } from './network-types.js'
import { parseSessionOptions, sessionChecks, type SandboxSessionOptions } from './options.js'
import { readTransformations } from './request-transformations.js'
import { Space } from './space.js'

/** Options of {@link createNetworkSandboxSession}. */
export interface NetworkSandboxSessionOptions extends SandboxSessionOptions {
  /** The id of the session. @default a new UUID */
  id?: string | undefined
  /** The ports that this machine may reach. @default [] */
  ports?: readonly number[] | undefined
}

/** How long `getPortEndpoint` waits for a process to listen, in milliseconds. */
const MAX_READY_MS = 10_000
/** How long the current processes are watched before new ones are included, in milliseconds. */
const LOOK_MS = 200

const port = wholeNumber(1, 65_535)
const portChecks = { port, protocol: optional(oneOf('http', 'https', 'ws'), 'http') } satisfies Checks<PortOptions>
const ports = listOf(port)
const ownChecks = { id: optional(text), ports: optional(ports, []) }

/**
 * Makes a sandbox session for a harness of the AI SDK: {@link createSandboxSession} with ports, a network policy, `stop` and
 * `destroy`.
 *
 * @example
 * ```ts
 * const sandbox = createNetworkSandboxSession({ rootDir: './project', home: 'private', ports: [4000] })
 * await sandbox.spawn({ command: 'node server.mjs' })
 * const { url } = await sandbox.getPortEndpoint({ port: 4000 })
 * await sandbox.destroy()
 * ```
 * @throws {ToolError} INVALID_INPUT for an invalid option.
 */
export function createNetworkSandboxSession(options: NetworkSandboxSessionOptions): NetworkSandboxSession {
  const { id, ports: first, session } = parseNetworkOptions('createNetworkSandboxSession', options)
  const space = new Space(session)
  const endpoints = new Endpoints(space, first)
  const restricted = Object.freeze(Object.defineProperties({}, Object.getOwnPropertyDescriptors(sessionOf(space))))
  const destroy = (): Promise<void> => space.close()
  const own = {
    id,
    defaultWorkingDirectory: rootOf(space.settings.rootDir),
    get ports() {
      return endpoints.ports
    },
    getPortEndpoint: async (asked: PortOptions) => ({ url: await endpoints.url(asked) }),
    getPortUrl: async (asked: PortOptions) => endpoints.url(asked),
    async setPorts(next: readonly number[]) {
      endpoints.ports = Object.freeze(checked('sandbox.setPorts', () => ports(next, 'ports')))
    },
    async setNetworkPolicy(policy: NetworkPolicy) {
      space.checkOpen()
      space.setReach(reachOf(policy))
    },
    ...(process.platform === 'linux' && {
      async setRequestTransformations(next: readonly RequestTransformation[]) {
        space.checkOpen()
        space.setTransforms(readTransformations('sandbox.setRequestTransformations', next))
      },
      async addRequestTransformations(more: readonly RequestTransformation[]) {
        space.checkOpen()
        space.setTransforms([...space.transforms, ...readTransformations('sandbox.addRequestTransformations', more)])
      },
    }),
    restricted: () => restricted,
    stop: () => space.stop(),
    destroy,
    [Symbol.asyncDispose]: destroy,
  }
  // Copies the getters, because description and ports change.
  const all = { ...Object.getOwnPropertyDescriptors(restricted), ...Object.getOwnPropertyDescriptors(own) }
  return Object.freeze(Object.defineProperties({}, all) as NetworkSandboxSession)
}

/** @throws {ToolError} INVALID_INPUT */
export function parseNetworkOptions(caller: string, options: NetworkSandboxSessionOptions) {
  const { id = randomUUID(), ports: first, ...rest } = parseOptions(caller, options, { ...sessionChecks, ...ownChecks })
  return { id, ports: first, session: parseSessionOptions(caller, rest) }
}

/** Addresses of this machine for ports of the session's processes. */
class Endpoints {
  ports: readonly number[]
  readonly #space: Space
  readonly #opened = new WeakMap<KeptProcess, Map<number, number>>()

  constructor(space: Space, first: readonly number[]) {
    this.#space = space
    this.ports = Object.freeze([...first])
  }

  async url(options: PortOptions): Promise<string> {
    const asked = parseOptions('sandbox.getPortEndpoint', options, portChecks)
    this.#space.checkOpen()
    if (!this.ports.includes(asked.port)) {
      throw invalid(`port ${asked.port} is not exposed; ${this.ports.length === 0 ? 'none is' : `there are ${this.ports.join(', ')}`}.`)
    }
    const end = performance.now() + MAX_READY_MS
    for (;;) {
      // eslint-disable-next-line no-await-in-loop -- waits until a process listens
      const process = await this.#listening(asked.port)
      this.#space.checkOpen()
      const address = process && this.#address(process, asked.port)
      if (address !== undefined) return `${asked.protocol}://127.0.0.1:${address}`
      if (performance.now() > end) throw nobodyListens(asked.port)
    }
  }

  /** Finds a running process that listens at a port. */
  async #listening(requested: number): Promise<KeptProcess | undefined> {
    const running = this.#space.processes.list().filter(({ process }) => process.end === undefined)
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), LOOK_MS)
    const looks = running.map(async ({ process }) => {
      if ((await process.ready({ port: requested, signal: late.signal })) === undefined) throw new Error('it has ended')
      return process
    })
    try {
      if (looks.length === 0) await new Promise((resolve) => late.signal.addEventListener('abort', resolve, { once: true }))
      return await Promise.any(looks)
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
      late.abort()
    }
  }

  /** The port of this machine. It stays the same as long as the process runs. */
  #address(process: KeptProcess, requested: number): number | undefined {
    let opened = this.#opened.get(process)
    if (opened === undefined) this.#opened.set(process, (opened = new Map()))
    const known = opened.get(requested) ?? process.preview(requested)?.port
    if (known !== undefined) opened.set(requested, known)
    return known
  }
}

function nobodyListens(requested: number): ToolError {
  const summary = `No process of the sandbox listens at port ${requested}`
  return new ToolError({
    code: 'PROCESS_NOT_FOUND',
    summary,
    hint: 'Start the server with spawn, wait until it says that it is ready, and ask again. A process that run starts ends with the call.',
    details: { port: requested },
  })
}

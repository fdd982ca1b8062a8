/** What the calls of one session share: directory, settings, processes and end. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type * as Addon from '../../index.js'
import { eitherSignal } from '../core/abort.js'
import { type EnvironmentOption, environmentOptions } from '../core/environment.js'
import { masked } from '../core/mask.js'
import { ToolError } from '../core/errors.js'
import { findBash } from '../core/find-bash.js'
import { commandGrants, grantedRoot, noteGrants } from '../core/grants.js'
import { nativeAddon } from '../core/native.js'
import { closedSession } from '../core/options.js'
import { PrivateDirectory } from '../core/private-directory.js'
import { ProcessOwner } from '../core/process-owner.js'
import { reachesAll, sandboxRequest } from '../core/sandbox.js'
import type { RequestTransform } from '../core/sandbox-credentials.js'
import type { TransformedHosts } from '../core/sandbox-hosts.js'
import { noteGranted, resolveSettings, type Settings } from '../toolkit/settings.js'
import { hostsOf, type Reach } from './network-policy.js'
import type { ParsedOptions } from './options.js'

/** Variables of one command, by name. */
export type Variables = Readonly<Record<string, string>>

/** State that the first call creates. */
export interface Place {
  addon: typeof Addon
  /** The conditions of commands, with the variables of one command. */
  conditions(variables?: Variables): Addon.CommandSettings
  /** The same for commands that pass on files, of which nothing is masked. */
  fileConditions(variables: Variables): Addon.CommandSettings
  /** The program that runs command lines. */
  shell: string
  /** A directory of the host that no command can reach. */
  staging: string
  /** The writable home directory, if there is one. */
  home: string | undefined
}

/**
 * The space of a session. Only the session's commands may write its private directory, so their plan is unique: no other
 * session shares their `/tmp` and their loopback interface.
 */
export class Space {
  readonly options: ParsedOptions
  /** The settings at the creation of the session. A tool context around a call does not change them. */
  readonly settings: Settings
  readonly processes = new ProcessOwner()
  /** Records that have to be written before the session closes. */
  readonly pending = new Set<Promise<unknown>>()
  readonly #ended = new AbortController()
  #reach: Reach
  #transforms: readonly RequestTransform[] = []
  #directory: Promise<PrivateDirectory> | undefined
  #place: Promise<Place> | undefined
  #closed: Promise<void> | undefined
  #isStopped = false
  /** The running calls, and whether they may reach the network. */
  readonly #calls = new Set<{ isOnline: boolean }>()

  constructor(options: ParsedOptions) {
    noteGranted(options.bound)
    this.options = options
    this.settings = resolveSettings(undefined, options.bound, 'bash')
    this.#reach = this.settings.allowNetwork || this.settings.sandbox.network !== undefined ? 'all' : 'nothing'
  }

  /** Whether commands reach something beyond the loopback interface. */
  get network(): boolean {
    return this.#reach !== 'nothing'
  }

  /** Headers that requests of later commands get. */
  get transforms(): readonly RequestTransform[] {
    return this.#transforms
  }

  /** Sets them. A command that runs keeps what it began with. */
  setTransforms(transforms: readonly RequestTransform[]): void {
    this.#transforms = transforms
    this.#place = undefined
  }

  /** Begins a call. @returns a function that ends it. */
  enter(): () => void {
    const call = { isOnline: this.network }
    this.#calls.add(call)
    return () => void this.#calls.delete(call)
  }

  /**
   * Sets what later commands reach.
   *
   * @throws {ToolError} PROCESS_BUSY while a call runs that reaches what it may not any more, because it cannot lose it.
   */
  setReach(reach: Reach): void {
    if (reach === this.#reach) return
    const online = [...this.#calls].filter(({ isOnline }) => isOnline)
    if (reach !== 'all' && online.length > 0) throw stillOnline(online.length)
    // A call that has begun may not have started its command yet.
    if (reach !== 'nothing') for (const call of this.#calls) call.isOnline = true
    this.#reach = reach
    this.#place = undefined
  }

  /** The hosts that commands reach by name; `undefined` where that is all or nothing. */
  get hosts(): TransformedHosts | undefined {
    const base = this.settings.sandbox.network
    const hosts = hostsOf(this.#reach, base)
    if (this.#transforms.length === 0) return hosts
    // Every public host, by its name: who ends TLS has to know it.
    return { ...(hosts ?? { allow: this.network ? ['*'] : [] }), credentials: [...(base?.credentials ?? [])], transforms: this.#transforms }
  }

  /** The signal of one call: the caller's, or the end of the session. */
  signal(own: AbortSignal | undefined): AbortSignal {
    return eitherSignal(own, this.#ended.signal) ?? this.#ended.signal
  }

  /** @throws {ToolError} INVALID_INPUT in a closed session. */
  checkOpen(): void {
    if (this.#isStopped) throw closedSession()
  }

  /** @throws {ToolError} PROCESS_FAILED without a shell; INVALID_INPUT in a closed session. */
  async place(): Promise<Place> {
    this.checkOpen()
    const place = (this.#place ??= this.#make())
    // A later call may find a shell that has been installed in the meantime.
    place.catch(() => {
      if (this.#place === place) this.#place = undefined
    })
    const made = await place
    this.checkOpen()
    return made
  }

  async #make(): Promise<Place> {
    const addon = await nativeAddon()
    this.checkOpen()
    const directory = await (this.#directory ??= makeDirectory(addon))
    const own = join(directory.path, 'own')
    const { settings, options } = this
    const writableRoots = [...(settings.sandbox.writableRoots ?? []), own]
    const { network: _, ...rest } = settings.sandbox
    const { hosts } = this
    const sandbox = Object.freeze({ ...rest, ...(hosts && { network: hosts }), writableRoots })
    noteGrants(sandbox, settings.rootDir)
    const root = grantedRoot(addon, settings)
    const grants = commandGrants(addon, root, sandbox)
    const home = options.home === 'private' ? own : undefined
    const base = withVariables(settings.env, home === undefined ? {} : { HOME: home })
    const network = this.network
    const request = sandboxRequest(sandbox, network)
    const make = (env: EnvironmentOption, mask = settings.mask): Addon.CommandSettings => {
      const { maxOutputBytes: limitBytes } = settings
      return new addon.CommandSettings(
        {
          environment: environmentOptions(env, reachesAll(sandbox, network)),
          ...masked(mask),
          sandbox: request,
          limitBytes,
          timeoutMs: Infinity,
        },
        grants,
      )
    }
    const shared = make(base)
    return {
      addon,
      conditions: (variables) => (variables === undefined ? shared : make(withVariables(base, variables))),
      fileConditions: (variables) => make(withVariables(base, variables), false),
      shell: options.shell === 'sh' ? '/bin/sh' : bash([settings.rootDir, ...writableRoots]),
      staging: join(directory.path, 'staging'),
      home,
    }
  }

  /** Ends all calls and processes. Their files stay until the session is closed. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#ended.abort(closedSession())
    await this.processes.close()
    await Promise.allSettled(this.pending)
  }

  /** Does the same as {@link stop}, and removes the session's files. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.stop()
    // A directory that could not be made need not be removed.
    const directory = await this.#directory?.catch(() => undefined)
    await directory?.remove()
  }
}

async function makeDirectory(addon: typeof Addon): Promise<PrivateDirectory> {
  const directory = new PrivateDirectory(addon)
  for (const name of ['own', 'staging']) mkdirSync(join(directory.path, name), { mode: 0o700 })
  return directory
}

/** The environment with these variables added. */
function withVariables(env: EnvironmentOption, variables: Variables): EnvironmentOption {
  // `inherit` cannot carry variables; allowing every name is equivalent.
  const { allow = [], set = {} } = env === 'inherit' ? { allow: ['*'] } : env
  return { allow, set: { ...set, ...variables } }
}

function bash(writable: readonly string[]): string {
  const program = findBash(writable)
  if (program !== undefined) return program
  throw new ToolError({
    code: 'PROCESS_FAILED',
    summary: 'There is no bash',
    place: 'There is no bash: no directory of PATH has one that commands cannot replace',
    hint: "The host installs bash, or makes the session with shell: 'sh'.",
  })
}

function stillOnline(calls: number): ToolError {
  const summary = `${calls} calls that reach the network go on`
  return new ToolError({
    code: 'PROCESS_BUSY',
    summary,
    hint: 'Kill or await them, and set the policy again. It stays as it was.',
    details: { calls },
  })
}

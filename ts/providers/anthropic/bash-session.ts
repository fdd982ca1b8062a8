import { existsSync, mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandOutput } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { findBash } from '../../core/find-bash.js'
import { noteGrants } from '../../core/grants.js'
import { nativeAddon } from '../../core/native.js'
import { PrivateDirectory } from '../../core/private-directory.js'
import type { SandboxOptions } from '../../core/sandbox.js'
import type { BuiltInContext } from '../../toolkit/define-tool.js'
import type { BoundToolOptions } from '../../toolkit/settings.js'
import type { CallSettings } from '../../toolkit/tools/call-plan.js'
import { captureCommand } from '../command/capture-command.js'
import { sessionArguments } from './session-script.js'

/** The shell of a session: one bash for each command. A private directory keeps the state between commands. */
export class BashSession {
  /** The key of the cached command conditions. They differ from those of other executors by the private directory. */
  readonly #bound: BoundToolOptions
  #directory: Promise<{ own: PrivateDirectory; states: string }> | undefined
  /** The number of the current state; 0 for none. */
  #state = 0
  /** The number of the next state. */
  #next = 1
  /** Settles when every earlier call has ended, because a session runs one command at a time. */
  #last: Promise<unknown> = Promise.resolve()
  readonly #sandboxes = new WeakMap<SandboxOptions, SandboxOptions>()

  constructor(bound: BoundToolOptions) {
    this.#bound = { ...bound }
  }

  /** Runs a command after all earlier calls. */
  run(line: string, call: BuiltInContext): Promise<CommandOutput> {
    return this.#inTurn(() => this.#run(line, call), call.signal)
  }

  /** Resets the state. */
  restart(call: BuiltInContext): Promise<void> {
    return this.#inTurn(async () => {
      this.#state = 0
    }, call.signal)
  }

  async close(): Promise<void> {
    const directory = this.#directory
    this.#directory = undefined
    this.#state = 0
    await (await directory)?.own.remove()
  }

  #inTurn<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const mine = this.#last.then(() => {
      signal?.throwIfAborted()
      return work()
    })
    this.#last = mine.catch(() => undefined)
    return mine
  }

  async #run(line: string, call: BuiltInContext): Promise<CommandOutput> {
    const { states } = await this.#states()
    const { settings } = call
    const writable = [settings.rootDir, ...(settings.sandbox.writableRoots ?? [])]
    const cmd = findBash(writable)
    if (cmd === undefined) throw noBash()
    const state = this.#state === 0 ? '' : join(states, `${this.#state}`)
    const number = this.#next
    this.#next += 1
    const next = join(states, `${number}`)
    const input = { cmd, args: sessionArguments(line, state, next), judged: ['-c', line], line, cwd: '.', timeoutMs: settings.timeoutMs }
    const sandbox = this.#sandbox(settings.sandbox, settings.rootDir, states)
    const within: CallSettings = { settings: { ...settings, sandbox }, signal: call.signal }
    try {
      return await captureCommand(input, within, this.#bound)
    } finally {
      call.patches = within.patches
      // Only checks existence: no code but bash reads what commands have written.
      if (existsSync(`${next}.done`)) {
        await removeState(state)
        this.#state = number
      } else {
        await removeState(next)
      }
    }
  }

  /** The directory of the states. If it could not be made, the next command tries again. */
  #states(): Promise<{ states: string }> {
    this.#directory ??= makeDirectory().catch((error: unknown) => {
      this.#directory = undefined
      throw error
    })
    return this.#directory
  }

  /** The options of the settings, with the directory of the states. The same object for the same options. */
  #sandbox(options: SandboxOptions, rootDir: string, states: string): SandboxOptions {
    let sandbox = this.#sandboxes.get(options)
    if (sandbox === undefined || sandbox.writableRoots?.at(-1) !== states) {
      sandbox = Object.freeze({ ...options, writableRoots: [...(options.writableRoots ?? []), states] })
      noteGrants(sandbox, rootDir)
      this.#sandboxes.set(options, sandbox)
    }
    return sandbox
  }
}

async function makeDirectory(): Promise<{ own: PrivateDirectory; states: string }> {
  const own = new PrivateDirectory(await nativeAddon())
  const states = join(own.path, 'bash')
  mkdirSync(states, { mode: 0o700 })
  return { own, states }
}

async function removeState(state: string): Promise<void> {
  if (state === '') return
  // If a command has put a directory in place of a state, it stays until the session's directory is removed.
  await Promise.allSettled([rm(state, { force: true }), rm(`${state}.done`, { force: true })])
}

function noBash(): ToolError {
  return new ToolError({
    code: 'PROCESS_FAILED',
    summary: 'There is no bash',
    place: 'There is no bash: no directory of PATH has one that commands cannot replace',
    hint: 'No call can fix this: the host installs bash.',
  })
}

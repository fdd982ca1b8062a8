import type { EnvironmentOption } from '../core/environment.js'
import { boolean, checked, type Checks, invalid, oneOf, optional, parseOptions, positive, text } from '../core/options.js'
import type { MaskOption } from '../core/mask.js'
import { forkedPath, noteForkAsRoot } from '../core/grants.js'
import type { SandboxOptions } from '../core/sandbox.js'
import type { Fork } from '../fork/fork.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { BASH_TOOL_MAX_OUTPUT_BYTES, type BoundToolOptions, toolChecks } from '../toolkit/settings.js'

/** Options of {@link createSandboxSession}. */
export interface SandboxSessionOptions {
  /** The directory that commands start in, and the base of relative paths; or a fork of one, from `openFork`. */
  rootDir: string | Fork
  /**
   * How commands are confined, as for `createTools`. `isolation: 'call'` is refused, because the commands of a session share
   * its sandbox.
   */
  sandbox?: SandboxOptions | undefined
  /** Whether commands may reach the network. @default false */
  allowNetwork?: boolean | undefined
  /** The environment of commands, as for `createTools`. @default the host's, without variables that look like secrets */
  env?: EnvironmentOption | undefined
  /** Which secrets are masked in what commands print, as for `createTools`. Files are read as they are. @default 'known' */
  mask?: MaskOption | undefined
  /** The program that runs command lines. @default 'bash' */
  shell?: 'bash' | 'sh' | undefined
  /**
   * The home directory of commands: `private` is an empty directory that ends with the session; `none` is the user's, which
   * commands cannot write.
   * @default 'none'
   */
  home?: 'private' | 'none' | undefined
  /** The journal, from `openJournal`, that records calls, without variables, input and contents of files. @default none */
  journal?: Journal | undefined
  /** The run that calls are recorded as. @default a new UUID */
  runId?: string | undefined
  /** The node of that run. @default 'agent' */
  nodeId?: string | undefined
  /**
   * The most bytes of each stream that `run` returns, at most 10,485,760. A longer stream keeps its beginning and its end.
   * @default 10485760
   */
  maxOutputBytes?: number | undefined
}

/** Checked options with their defaults. */
export interface ParsedOptions {
  bound: BoundToolOptions & { rootDir: string }
  shell: 'bash' | 'sh'
  home: 'private' | 'none'
}

export const sessionChecks = {
  rootDir: (value, name) => (forkedPath(value) === undefined ? (toolChecks.rootDir(text(value, name), name) as string) : (value as Fork)),
  sandbox: toolChecks.sandbox,
  allowNetwork: optional(boolean),
  env: toolChecks.env,
  mask: toolChecks.mask,
  shell: optional(oneOf('bash', 'sh'), 'bash'),
  home: optional(oneOf('private', 'none'), 'none'),
  journal: optional(checkJournal),
  runId: optional(text),
  nodeId: optional(text),
  maxOutputBytes: optional(positive(BASH_TOOL_MAX_OUTPUT_BYTES), BASH_TOOL_MAX_OUTPUT_BYTES),
} satisfies Checks<SandboxSessionOptions>

/** @throws {ToolError} INVALID_INPUT */
export function parseSessionOptions(caller: string, options: SandboxSessionOptions): ParsedOptions {
  const { shell, home, rootDir, ...others } = parseOptions(caller, options, sessionChecks)
  const bound = { ...others, rootDir: typeof rootDir === 'string' ? rootDir : rootDir.base }
  if (typeof rootDir !== 'string') noteForkAsRoot(bound, rootDir)
  return checked(caller, () => {
    for (const name of ['runId', 'nodeId'] as const) {
      if (bound[name] !== undefined && bound.journal === undefined) {
        throw invalid(`${name} needs a journal: give one too.`)
      }
    }
    if (bound.sandbox?.isolation === 'call')
      throw invalid("sandbox.isolation cannot be 'call': the commands of a session share its sandbox.")
    return { bound, shell, home }
  })
}

import type { EnvironmentOption } from '../core/environment.js'
import { boolean, checked, type Checks, invalid, oneOf, optional, parseOptions, positive, text } from '../core/options.js'
import type { SandboxOptions } from '../core/sandbox.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { BASH_TOOL_MAX_OUTPUT_BYTES, type BoundToolOptions, toolChecks } from '../toolkit/settings.js'

/** What a sandbox session is made of. */
export interface SandboxSessionOptions {
  /** The directory that commands start in, and the base of relative paths. */
  rootDir: string
  /** How commands are confined, as for `createTools`. `isolation: 'call'` is refused: a session is what commands share. */
  sandbox?: SandboxOptions | undefined
  /** Whether commands may reach the network. @default false */
  allowNetwork?: boolean | undefined
  /** The environment of commands, as for `createTools`. By default without what looks like a secret. */
  env?: EnvironmentOption | undefined
  /** What runs command lines. @default 'bash' */
  shell?: 'bash' | 'sh' | undefined
  /**
   * The home directory of commands: `private` is an empty one that lives as long as the session, `none` is the user's,
   * which commands cannot write. @default 'none'
   */
  home?: 'private' | 'none' | undefined
  /** Where calls are recorded: what `openJournal` gave. Variables, input and contents of files are not. */
  journal?: Journal | undefined
  /** The run that calls are recorded as. @default a new UUID */
  runId?: string | undefined
  /** The node of that run. @default 'agent' */
  nodeId?: string | undefined
  /**
   * The most bytes of each stream that `run` gives back, at most 10,485,760. Of a longer one the beginning and the end are
   * kept. @default 10485760
   */
  maxOutputBytes?: number | undefined
}

/** The options, checked and with their defaults. */
export interface ParsedOptions {
  bound: BoundToolOptions & { rootDir: string }
  shell: 'bash' | 'sh'
  home: 'private' | 'none'
}

export const sessionChecks = {
  rootDir: (value, name) => toolChecks.rootDir(text(value, name), name) as string,
  sandbox: toolChecks.sandbox,
  allowNetwork: optional(boolean),
  env: toolChecks.env,
  shell: optional(oneOf('bash', 'sh'), 'bash'),
  home: optional(oneOf('private', 'none'), 'none'),
  journal: optional(checkJournal),
  runId: optional(text),
  nodeId: optional(text),
  maxOutputBytes: optional(positive(BASH_TOOL_MAX_OUTPUT_BYTES), BASH_TOOL_MAX_OUTPUT_BYTES),
} satisfies Checks<SandboxSessionOptions>

/** @throws {ToolError} INVALID_INPUT */
export function parseSessionOptions(caller: string, options: SandboxSessionOptions): ParsedOptions {
  const { shell, home, ...bound } = parseOptions(caller, options, sessionChecks)
  return checked(caller, () => {
    for (const name of ['runId', 'nodeId'] as const) {
      if (bound[name] !== undefined && bound.journal === undefined) {
        throw invalid(`${name} names what a journal records: give a journal too.`)
      }
    }
    if (bound.sandbox?.isolation === 'call') throw invalid("sandbox.isolation cannot be 'call': a session is what its commands share.")
    return { bound, shell, home }
  })
}

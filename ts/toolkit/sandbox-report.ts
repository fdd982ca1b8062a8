import { commandGrants, grantedRoot } from '../core/grants.js'
import { call } from '../core/native.js'
import { parseOptions } from '../core/options.js'
import { sandboxRequest } from '../core/sandbox.js'
import { resolveSettings, toolChecks, type ToolOptions } from './settings.js'

/** How well a protection holds: by the kernel, as well as possible without it, or not at all. */
export type SandboxLevel = 'kernel' | 'best-effort' | 'none'

/** One protection around commands. */
export interface SandboxHold {
  level: SandboxLevel
  /** The mechanism that enforces it, or why none does. */
  mechanism: string
  /** How to improve it; empty if there is no way. */
  advice: string
}

/** The protections around commands on this system, found by a test. */
export interface SandboxReport {
  /** Contents and names of files that the options do not open. */
  files: SandboxHold
  /** Modes, owners, times and attributes of those files. */
  fileMetadata: SandboxHold
  /** Git directories: commands write none of a person's, and leave none on the host. */
  git: SandboxHold
  /** Hosts other than this machine. */
  network: SandboxHold
  /** Services on this machine's loopback interface. */
  loopback: SandboxHold
  /** Services behind unix sockets. */
  unixSockets: SandboxHold
  /** Shared memory, semaphores and message queues of others: System V's, POSIX's, and `/dev/shm`. */
  ipc: SandboxHold
  /** The end of all processes of a command when its call has ended. */
  processKill: SandboxHold
  /** Limits on processes, memory, processor time and file size. */
  limits: SandboxHold
  /** Secrets in the environment of the host. */
  env: SandboxHold
  /** A summary on one line. */
  summary: string
}

const MAX_REPORT_MS = 30_000

/** The protections, with their names for a reader. */
export const sandboxKinds = {
  files: 'files',
  fileMetadata: 'file metadata',
  git: 'git',
  network: 'network',
  loopback: 'loopback',
  unixSockets: 'unix sockets',
  ipc: 'shared memory',
  processKill: 'process kill',
  limits: 'limits',
  env: 'environment',
} as const

/**
 * Reports which protections hold around `bash` commands with these options, by confining one.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid option; NATIVE_UNAVAILABLE.
 */
export async function sandboxReport(options: ToolOptions = {}): Promise<SandboxReport> {
  const settings = resolveSettings(undefined, parseOptions('sandboxReport', options, toolChecks))
  const request = sandboxRequest(settings.sandbox, settings.allowNetwork)
  const rows = (await call({ what: 'sandbox report', timeoutMs: MAX_REPORT_MS }, (addon, cancel) =>
    addon.sandboxReport(commandGrants(addon, grantedRoot(addon, settings), settings.sandbox), request, settings.env === 'inherit', cancel),
  )) as Omit<SandboxReport, 'summary'>
  // The addon's rows have no order; readers get this one.
  const kinds = Object.keys(sandboxKinds) as (keyof typeof sandboxKinds)[]
  const holds = Object.fromEntries(kinds.map((kind) => [kind, rows[kind]])) as typeof rows
  return { ...holds, summary: summarise(holds) }
}

function summarise(holds: Omit<SandboxReport, 'summary'>): string {
  const kinds = Object.entries(sandboxKinds) as [keyof typeof sandboxKinds, string][]
  const parts = (['kernel', 'best-effort', 'none'] as const).flatMap((level) => {
    const names = kinds.filter(([kind]) => holds[kind].level === level).map(([, name]) => name)
    return names.length === 0 ? [] : [`${level}: ${names.join(', ')}`]
  })
  return `sandbox: ${parts.join('; ')}`
}

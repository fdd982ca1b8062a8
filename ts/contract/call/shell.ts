import type { ShellName } from '../registry/tool-runtime.js'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { invalid } from '../../core/options.js'
import { ContractFailure } from '../registry/envelope.js'
import type { ContractAddon } from '../permissions/session-policy.js'

/** The shell of a session. It does not change. */
export interface SessionShell {
  readonly name: ShellName
  /** The path of bash. `sh` is looked up for each command. */
  readonly path?: string | undefined
}

/** Whether something is a {@link ShellName}. */
export const isShellName = (name: unknown): name is ShellName => name === 'bash' || name === 'sh'

/**
 * Finds the requested shell, or the default: bash if the PATH of this process has one.
 *
 * @param writable directories that commands may write to. A command could replace a bash in one of them.
 * @throws {ToolError} INVALID_INPUT if bash was requested and is missing.
 */
export function findShell(requested: ShellName | undefined, writable: readonly string[]): SessionShell {
  if (requested === 'sh') return { name: 'sh' }
  const path = findBash(writable)
  if (path !== undefined) return { name: 'bash', path }
  if (requested === undefined) return { name: 'sh' }
  throw invalid(
    "shell: 'bash', and no directory of PATH has a bash (those that commands may write are passed over). Install bash, or leave the option out to run commands with sh.",
  )
}

/** The default of `exec` without a PATH. */
const DEFAULT_PATH = '/bin:/usr/bin'
/** Directories of the system. A bash there was not made by a command, even if all of `/` is writable. */
const ofSystem: ReadonlySet<string> = new Set(['/bin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'])

function findBash(writable: readonly string[]): string | undefined {
  const isWritable = (place: string): boolean => writable.some((root) => root === '/' || place === root || place.startsWith(`${root}/`))
  for (const directory of (process.env['PATH'] ?? DEFAULT_PATH).split(':')) {
    if (!isAbsolute(directory)) continue
    const path = join(directory, 'bash')
    const real = realBash(path)
    if (real === undefined) continue
    if (ofSystem.has(directory) || !(isWritable(path) || isWritable(real))) return path
  }
  return undefined
}

/** The real path of a bash. `undefined` for other programs, such as the applet of busybox, which reads lines as `sh` does. */
function realBash(path: string): string | undefined {
  try {
    const real = realpathSync(path)
    accessSync(real, constants.X_OK)
    return statSync(real).isFile() && /^bash(?:$|[-.\d])/u.test(basename(real)) ? real : undefined
  } catch {
    return undefined
  }
}

/**
 * Refuses syntax that `sh` reads differently from bash. Models write bash, and a failed command could count as a success.
 *
 * @throws {ContractFailure} invalid_arguments
 */
export function checkShellSyntax(addon: ContractAddon, shell: SessionShell, line: string): void {
  if (shell.name === 'bash') return
  const found = addon.bashOnlySyntax(line)
  if (found === null || found === undefined) return
  throw new ContractFailure(
    'invalid_arguments',
    `\`${found.found}\` is syntax of bash, and commands run with sh here, which lacks it or reads it otherwise. Nothing was run. Instead, write ${found.instead}.`,
  )
}

/** The grammar for the addon. It applies the grammar of bash alone only if bash is known to read the line. */
export const grammarOf = ({ name }: SessionShell): 'bash' | undefined => (name === 'bash' ? name : undefined)

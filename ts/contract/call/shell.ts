import type { ShellName } from '../registry/tool-runtime.js'
import { findBash } from '../../core/find-bash.js'
import { invalid } from '../../core/options.js'
import { ContractFailure } from '../registry/envelope.js'
import type { ContractAddon } from '../permissions/session-capabilities.js'

/** The shell of a session. It does not change. */
export interface SessionShell {
  readonly name: ShellName
  /** The path of bash. `sh` is looked up for each command. */
  readonly path?: string | undefined
}

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

/**
 * Refuses syntax that `sh` reads differently from bash. Models write bash, and a failed command could count as a success.
 *
 * @throws {ContractFailure} invalid_arguments
 */
export function checkShellSyntax(addon: ContractAddon, shell: SessionShell, line: string): void {
  if (shell.name === 'bash') return
  const syntax = addon.bashOnlySyntax(line)
  if (syntax === null || syntax === undefined) return
  throw new ContractFailure(
    'invalid_arguments',
    `\`${syntax.found}\` is syntax of bash, and commands run with sh here, which lacks it or reads it otherwise. Nothing was run. Instead, write ${syntax.instead}.`,
  )
}

/** The grammar for the addon. It applies the grammar of bash alone only if bash is known to read the line. */
export const grammarOf = ({ name }: SessionShell): 'bash' | undefined => (name === 'bash' ? name : undefined)

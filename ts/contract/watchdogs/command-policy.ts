import { isAbsolute, resolve } from 'node:path'
import { givenOptions, invalid, isNames } from '../../option-checks.js'
import { fetchPrograms, gitRemoteOperations, packagePrograms, programName } from '../../tools/network-guard/names.js'
import type { Verdict, Watchdog, WatchedCommand } from '../watchdog.js'

/** Programs that look and change nothing, whatever their arguments are. */
const inspectors = new Set(
  `basename cat cmp column comm cut df diff dirname du echo expr false file fmt fold grep egrep fgrep head hexdump id join
   ls md5sum nl nproc od paste printf pwd readlink realpath rev rg seq sha1sum sha256sum sleep stat strings tac tail test
   tr true uname uniq wc which whoami [`.split(/\s+/u),
)
/** Subcommands of git that look, as long as no option makes them write. */
const gitInspectors = new Set(['blame', 'cat-file', 'describe', 'diff', 'log', 'ls-files', 'ls-tree', 'rev-parse', 'shortlog', 'show', 'status'])
/** Programs that take other rights. */
const privilege = new Set(['sudo', 'su', 'doas', 'pkexec', 'runuser', 'setpriv', 'chroot', 'nsenter', 'unshare'])
/** Programs that unmake what cannot be made again. */
const destructive = new Set(['mkfs', 'fdisk', 'parted', 'wipefs', 'shutdown', 'reboot', 'poweroff', 'halt'])
/** Programs that write to the paths they are given. */
const writers = new Set(['chgrp', 'chmod', 'chown', 'cp', 'dd', 'install', 'ln', 'mkdir', 'mv', 'rm', 'rmdir', 'rsync', 'shred', 'tee', 'touch', 'truncate'])
/** Directories of the system. */
const systemPath = /^\/(?:$|\*|(?:bin|boot|dev|etc|lib\d*|proc|root|sbin|sys|usr|var)(?:\/|$|\*))/u
/** Devices that are written to without harm. */
const harmless = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty'])

/** Options of {@link commandWatchdog}. */
export interface CommandWatchdogOptions {
  /** The roots of the workspace: writes elsewhere are asked for. @default [] */
  workspace?: string[] | undefined
}

/**
 * A reference policy for `bash`: inspectors are allowed; writes outside of the workspace, downloads and other
 * rights are asked for; what destroys the system is refused, always. What it does not know it leaves to the
 * permission rules.
 *
 * @throws {ToolError} INVALID_INPUT for an option that makes no sense.
 */
export function commandWatchdog(options: CommandWatchdogOptions = {}): Watchdog {
  const { workspace = [] } = givenOptions('commandWatchdog', options, ['workspace'])
  if (!isNames(workspace)) throw invalid('commandWatchdog: workspace must be an array of paths.')
  return ({ tool, commands = [] }) => {
    if (tool !== 'bash') return { action: 'allow' }
    const verdicts = commands.map((command) => judge(command, workspace))
    return (
      verdicts.find(({ action }) => action === 'deny') ??
      verdicts.find(({ action }) => action === 'ask') ?? { action: 'allow' }
    )
  }
}

function judge({ argv, text }: WatchedCommand, workspace: readonly string[]): Verdict {
  const [program = '', ...args] = argv ?? text.split(/\s+/u)
  const name = programName(program)
  const paths = args.flatMap(pathsIn)
  if (destructive.has(name) || name.startsWith('mkfs.')) return { action: 'deny', reason: `${name} destroys what cannot be made again.` }
  const system = writers.has(name) ? paths.find((path) => systemPath.test(path) && !harmless.has(path)) : undefined
  if (system !== undefined) return { action: 'deny', reason: `${name} would change \`${system}\`, which belongs to the system.` }
  if (privilege.has(name)) return { action: 'ask', reason: `${name} takes other rights.` }
  if (fetchPrograms.has(name) || packagePrograms.has(name)) return { action: 'ask', reason: `${name} downloads.` }
  if (name === 'git' && args.some((arg) => gitRemoteOperations.has(arg))) return { action: 'ask', reason: 'git would talk to a remote.' }
  if (inspectors.has(name) || (name === 'git' && gitInspectors.has(args[0] ?? ''))) return { action: 'allow' }
  const outside = writers.has(name) ? paths.find((path) => isOutside(path, workspace)) : undefined
  if (outside !== undefined) return { action: 'ask', reason: `${name} would write to \`${outside}\`, outside of the workspace.` }
  return { action: 'allow' }
}

/** The paths that an argument is, or gives to an option: `of=/dev/sda`, `--target-directory=/etc`. */
function pathsIn(arg: string): string[] {
  const value = arg.includes('=') ? arg.slice(arg.indexOf('=') + 1) : arg
  if (value.startsWith('-')) return []
  return [isAbsolute(value) ? value.replace(/\/{2,}/gu, '/') : value]
}

function isOutside(path: string, workspace: readonly string[]): boolean {
  if (!isAbsolute(path)) return path.startsWith('~') || path.split('/').includes('..')
  if (harmless.has(path)) return false
  const full = resolve(path)
  return !workspace.some((root) => full === root || full.startsWith(`${root}/`))
}

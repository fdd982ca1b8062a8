import { isAbsolute, resolve } from 'node:path'
import { type Checks, optional, parseOptions, paths } from '../../core/options.js'
import { fetchPrograms, gitRemoteOperations, packagePrograms, programName } from '../../core/network-guard/programs.js'
import { beginningOf } from '../../core/text.js'
import { inspectionOf } from './inspecting-programs.js'
import type { Verdict, Watchdog, WatchedCommand, WatchedRedirect } from './watchdog.js'

const words = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/u))

/** Programs that change privileges. */
const privilege = words('sudo su doas pkexec runuser setpriv chroot nsenter unshare')
/** Programs that destroy what cannot be restored. */
const destructive = words('mkfs fdisk parted wipefs shutdown reboot poweroff halt')
/** Programs that write to the paths they are given. */
const writers = words('chgrp chmod chown cp dd install ln mkdir mv rm rmdir rsync shred tee touch truncate')
/** Programs that may write to the paths they are given, or read from them. */
const mayWrite = words('bunzip2 bzip2 cpio csplit gunzip gzip patch split tar unxz unzip xz zip zstd')
/** Options that make find write or run something. */
const findWrites = /^-(?:delete|exec|execdir|ok|okdir|fls|fprint0?|fprintf)$/u
/** Programs that write to the files they are given with `-i`. */
const inPlace = new Set(['sed', 'gsed', 'perl', 'ruby'])
/** Operators of redirections that only read. */
const reads = new Set<string>(['<', '<&'])
const systemPath = /^\/(?:$|\*|(?:bin|boot|dev|etc|lib\d*|proc|root|sbin|sys|usr|var)(?:\/|$|\*))/u
/** Devices that are written to without harm. */
const harmless = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty'])

/** Builtins such as `export` and `alias`: what follows them may be another program, or one with other settings. */
const CHANGES = 'changes what later commands mean'
const CHANGED = 'sets the variable of a builtin before it'

/** The most characters of an argument in a question. */
const MAX_SHOWN = 100

/** Options of {@link commandWatchdog}. */
export interface CommandWatchdogOptions {
  /** The roots of the workspace. The user is asked about writes elsewhere. @default [] */
  workspace?: string[] | undefined
}

const checks = { workspace: optional(paths, []) } satisfies Checks<CommandWatchdogOptions>

/**
 * A reference policy for `bash`, and for the command lines and the input of processes. It allows programs that only inspect,
 * with options that leave them so, and asks where one of them may run a program or write a file by another argument (`rg --pre`,
 * `git -c`). It asks about writes outside the workspace (including redirections), downloads and changes of privileges, and always
 * refuses commands that destroy the system. It leaves everything
 * else to the permission rules.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid option.
 */
export function commandWatchdog(options: CommandWatchdogOptions = {}): Watchdog {
  const { workspace } = parseOptions('commandWatchdog', options, checks)
  return ({ tool, args, commands = [] }) => {
    if (!lineTools.has(tool)) return { action: 'allow' }
    const { workdir } = args as { workdir?: unknown }
    const isOut = (path: string): boolean => isOutside(path, workspace)
    // After `cd ..` any relative path is outside.
    const hasLeft = (typeof workdir === 'string' && isOut(workdir)) || commands.some((command) => leaves(command, isOut))
    const isChanged = commands.some(({ restricted }) => restricted === CHANGES)
    const verdicts = commands.map((command) => judge(command, isChanged, (path) => isOut(path) || (hasLeft && !isAbsolute(path))))
    return verdicts.find(({ action }) => action === 'deny') ?? verdicts.find(({ action }) => action === 'ask') ?? { action: 'allow' }
  }
}

/** The tools that run command lines, or type into what may be a shell. */
const lineTools: ReadonlySet<string> = new Set(['bash', 'process_start', 'process_write'])

function judge(command: WatchedCommand, isChanged: boolean, isOut: (path: string) => boolean): Verdict {
  const { name, args } = wordsOf(command)
  const operands = args.flatMap(pathsIn)
  if (destructive.has(name) || name.startsWith('mkfs.')) return { action: 'deny', reason: `${name} destroys what cannot be made again.` }
  const system = writers.has(name) ? operands.find((path) => systemPath.test(path) && !harmless.has(path)) : undefined
  if (system !== undefined) return { action: 'deny', reason: `${name} would change \`${system}\`, which belongs to the system.` }
  if (privilege.has(name)) return { action: 'ask', reason: `${name} takes other rights.` }
  if (fetchPrograms.has(name) || packagePrograms.has(name)) return { action: 'ask', reason: `${name} downloads.` }
  if (name === 'git' && args.some((arg) => gitRemoteOperations.has(arg))) return { action: 'ask', reason: 'git would talk to a remote.' }
  const { redirects = [] } = command
  const target = redirects.find(({ operator, path }) => !reads.has(operator) && (path === null || isOut(normal(path))))
  if (target !== undefined) return { action: 'ask', reason: redirectReason(target) }
  const option = writtenByOption(name, args).flatMap(pathsIn).find(isOut)
  if (option !== undefined) return { action: 'ask', reason: `${name} would write to \`${option}\`, outside of the workspace.` }
  const inspection = inspectionOf(name, args, isChanged ? { ...command, restricted: CHANGED } : command)
  if (inspection?.isInspection === false) {
    return { action: 'ask', reason: `${name} may run a program or write a file, by \`${beginningOf(inspection.argument, MAX_SHOWN)}\`.` }
  }
  const outside = writers.has(name) || mayWrite.has(name) ? operands.find(isOut) : undefined
  if (outside !== undefined) return { action: 'ask', reason: `${name} would write to \`${outside}\`, outside of the workspace.` }
  return { action: 'allow' }
}

function wordsOf({ argv, text }: WatchedCommand): { name: string; args: string[] } {
  const [program = '', ...args] = argv ?? text.split(/\s+/u)
  return { name: programName(program), args }
}

/** Whether a command leaves the workspace. `cd` alone leads home, and the target of `cd -` is unknown. */
function leaves(command: WatchedCommand, isOut: (path: string) => boolean): boolean {
  const { name, args } = wordsOf(command)
  if (name !== 'cd' && name !== 'pushd') return false
  const [target] = args.filter((arg) => !/^-[^-]*[LPe@]+$/u.test(arg) && arg !== '--')
  return command.argv === undefined || target === undefined || target === '-' || isOut(normal(target))
}

function redirectReason({ operator, path }: WatchedRedirect): string {
  if (path === null) return `\`${operator}\` would write to a place that is not known before.`
  return `\`${operator}\` would write to \`${path}\`, outside of the workspace.`
}

/** Arguments to which programs write that otherwise only read. */
function writtenByOption(name: string, args: string[]): string[] {
  const operands = args.filter((arg) => !arg.startsWith('-'))
  if (name === 'uniq') return operands.slice(1)
  if (name === 'sort') return args.flatMap((arg, at) => sortOutput(arg, args[at + 1] ?? ''))
  // Where it begins, and what it writes to.
  if (name === 'find') return args.some((arg) => findWrites.test(arg)) ? args : []
  if ((name === 'awk' || name === 'gawk') && args.includes('inplace')) return operands
  const isInPlace = (arg: string): boolean => /^(?:-[A-Za-z0-9]*i|--in-place)/u.test(arg)
  if (!inPlace.has(name) || !args.some(isInPlace)) return []
  const scripts = args.some((arg) => /^(?:-[A-Za-z0-9]*[eEf]$|--expression|--file)/u.test(arg))
  // Without an option for it, the first operand is the script.
  const hasScript = scripts ? args.filter((_, at) => !/^-[A-Za-z0-9]*[eEf]$/u.test(args[at - 1] ?? '')) : operands.slice(1)
  return hasScript.filter((arg) => !arg.startsWith('-'))
}

/** `-o FILE`, `-oFILE`, `-ro FILE`, `--output=FILE`. */
function sortOutput(arg: string, next: string): string[] {
  const [, joined] = /^(?:-[A-Za-z]*o|--output=)(.+)$/u.exec(arg) ?? []
  if (joined !== undefined) return [joined]
  return /^(?:-[A-Za-z]*o|--output)$/u.test(arg) ? [next] : []
}

/** The paths that an argument is, or gives to an option: `of=/dev/sda`, `--target-directory=/etc`. */
function pathsIn(arg: string): string[] {
  const value = arg.includes('=') ? arg.slice(arg.indexOf('=') + 1) : arg
  if (value.startsWith('-')) return []
  return [normal(value)]
}

const normal = (path: string): string => (isAbsolute(path) ? path.replace(/\/{2,}/gu, '/') : path)

function isOutside(path: string, workspace: readonly string[]): boolean {
  if (!isAbsolute(path)) return path.startsWith('~') || path.split('/').includes('..')
  if (harmless.has(path)) return false
  const full = resolve(path)
  return !workspace.some((root) => full === root || full.startsWith(`${root}/`))
}

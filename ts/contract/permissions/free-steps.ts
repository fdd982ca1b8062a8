import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ParsedCommand } from '../../../index.js'

/** Where a command line begins, and where it may go without a rule. */
export interface Ground {
  /** The directory that it runs in, absolute and without links. */
  workdir: string
  /** The roots of the workspace, absolute and without links. */
  roots: readonly string[]
  /** Whether the commands have a CDPATH, by which `cd src` may lead anywhere. */
  hasSearchPath: boolean
}

/** Lines that can reach more directories are judged as any other command. */
const MAX_DIRECTORIES = 32

/**
 * The commands of a line that only go to another directory of the workspace, as rules compare them. They change nothing,
 * and the commands that run there are judged by themselves. A step counts only if its target is known beforehand: a
 * missing directory, a link, `cd` alone and `cd -` do not.
 */
export function freeSteps(line: string, commands: readonly ParsedCommand[], ground: Ground): string[] {
  if (commands.some(({ text }) => /CDPATH|^(?:alias|function|pushd|popd)\b/u.test(text))) return []
  const steps = commands.filter(({ argv, restricted }) => argv?.[0] === 'cd' && restricted === undefined)
  const targets = steps.map(({ argv = [] }) => targetOf(argv, ground.hasSearchPath))
  // A step that leads out, or to an unknown place, changes the meaning of the others.
  if (targets.length === 0 || targets.includes(undefined) || commands.some((one) => !steps.includes(one) && /^'?cd\b/u.test(one.text)))
    return []
  return leadOut(targets as string[], orderOf(line, steps.length), ground) ? [] : steps.map(({ text }) => text)
}

/**
 * How the steps of a line follow each other. `chain`: each runs only after all before it. `order`: each runs at most once,
 * in order. `any`: everything else, such as loops, functions and computed words.
 */
type Order = 'chain' | 'order' | 'any'

function orderOf(line: string, steps: number): Order {
  const isPlain = /^[\w\s./&;|=:@%+,<>-]*$/u.test(line) && !/\b(?:while|until|for|select|function|eval|source|trap)\b/u.test(line)
  if (!isPlain || line.match(/\bcd\b/gu)?.length !== steps) return 'any'
  return /[;|\n]|(?<![&>])&(?!&)/u.test(line) ? 'order' : 'chain'
}

/** The target of a step, if its words name one. */
function targetOf([, ...args]: readonly string[], hasSearchPath: boolean): string | undefined {
  const [target, ...rest] = args[0] === '--' || args[0] === '-L' || args[0] === '-P' ? args.slice(1) : args
  if (target === undefined || target === '' || rest.length > 0 || /^[-~]/u.test(target)) return undefined
  // After a name that is a link, `..` leads elsewhere.
  if (/(?:^|\/)(?!\.{1,2}(?:\/|$))[^/]+\/(?:.*\/)?\.\.(?:\/|$)/u.test(target)) return undefined
  return hasSearchPath && !/^(?:\/|\.{1,2}(?:\/|$))/u.test(target) ? undefined : target
}

/** Whether these steps can lead out of the workspace. A step to a missing directory counts as one that does. */
function leadOut(targets: readonly string[], order: Order, { workdir, roots }: Ground): boolean {
  const directories = new Set([workdir])
  const reached = new Set<string>()
  let before = 0
  while (directories.size > before) {
    before = order === 'any' ? directories.size : Infinity
    for (const target of targets) {
      const next = [...directories].map((directory) => resolve(directory, target)).filter((path) => kindOf(path, roots) !== 'missing')
      if (directories.size > MAX_DIRECTORIES || next.some((path) => kindOf(path, roots) === 'outside')) return true
      if (next.length > 0) reached.add(target)
      if (order === 'chain') directories.clear()
      for (const path of next) directories.add(path)
    }
  }
  return targets.some((target) => !reached.has(target))
}

function kindOf(path: string, roots: readonly string[]): 'inside' | 'outside' | 'missing' {
  if (!roots.some((root) => path === root || path.startsWith(`${root}/`))) return 'outside'
  try {
    if (realpathSync(path) !== path) return 'outside'
    return statSync(path).isDirectory() ? 'inside' : 'missing'
  } catch {
    return 'missing'
  }
}

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

/** So many places are followed: what leads to more is judged like any other command. */
const MOST_PLACES = 32

/**
 * The commands of a line that go to another directory of the workspace, as rules compare them: they change nothing, and
 * what runs there is judged by itself. Only what is known beforehand counts. A directory that is not there yet, one behind
 * a link, `cd` alone and `cd -` lead who knows where.
 */
export function freeSteps(commands: readonly ParsedCommand[], ground: Ground): string[] {
  if (commands.some(({ text }) => /CDPATH|^(?:alias|function|pushd|popd)\b/u.test(text))) return []
  const steps = commands.filter(({ argv, restricted }) => argv?.[0] === 'cd' && restricted === undefined)
  const targets = steps.map(({ argv = [] }) => targetOf(argv, ground.hasSearchPath))
  // One that leads out, or nobody knows where, changes what the others mean.
  if (targets.length === 0 || targets.includes(undefined) || commands.some((one) => !steps.includes(one) && /^'?cd\b/u.test(one.text))) return []
  return leadOut(targets as string[], ground) ? [] : steps.map(({ text }) => text)
}

/** Where it goes, if its words say so. */
function targetOf([, ...args]: readonly string[], hasSearchPath: boolean): string | undefined {
  const [target, ...rest] = args[0] === '--' || args[0] === '-L' || args[0] === '-P' ? args.slice(1) : args
  if (target === undefined || target === '' || rest.length > 0 || /^[-~]/u.test(target)) return undefined
  // Behind a name `..` leads elsewhere when that is a link.
  if (/(?:^|\/)(?!\.{1,2}(?:\/|$))[^/]+\/(?:.*\/)?\.\.(?:\/|$)/u.test(target)) return undefined
  return hasSearchPath && !/^(?:\/|\.{1,2}(?:\/|$))/u.test(target) ? undefined : target
}

/** Whether any order and number of these steps leads out of the workspace; a step that leads nowhere is taken for one that does. */
function leadOut(targets: readonly string[], { workdir, roots }: Ground): boolean {
  const places = [workdir]
  const reached = new Set<string>()
  for (const place of places) {
    for (const target of targets) {
      const next = resolve(place, target)
      const kind = kindOf(next, roots)
      if (kind === 'outside' || places.length > MOST_PLACES) return true
      if (kind === 'missing') continue
      reached.add(target)
      if (!places.includes(next)) places.push(next)
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

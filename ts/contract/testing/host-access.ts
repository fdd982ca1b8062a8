import { AsyncLocalStorage } from 'node:async_hooks'
import childProcess from 'node:child_process'
import dns from 'node:dns'
import fs, { existsSync as importedExistsSync } from 'node:fs'
import fsPromises from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { callable, checked } from '../../core/options.js'

/** Modules through which a tool could bypass its runtime. */
const doors: readonly (readonly [name: string, module: object])[] = [
  ['node:fs', fs],
  ['node:fs/promises', fsPromises],
  ['node:child_process', childProcess],
  ['node:net', net],
  ['node:dns', dns],
  ['node:http', http],
  ['node:https', https],
]

/** Functions that have no access by themselves. */
const harmless = new Set(['isIP', 'isIPv4', 'isIPv6', 'promises', 'constants', 'validateHeaderName', 'validateHeaderValue'])

/** Marks the calls of `work`, as opposed to other work of the process. */
const within = new AsyncLocalStorage<Set<string>>()

/**
 * Whether this runtime shows what a module imports from Node's own modules: Node does, and Bun does not.
 * Asked of the runtime, since a later one may.
 */
export function hostAccessIsSeen(): boolean {
  const { existsSync } = fs
  const other = (): boolean => false
  fs.existsSync = other
  syncBuiltinESMExports()
  try {
    return importedExistsSync === other
  } finally {
    fs.existsSync = existsSync
    syncBuiltinESMExports()
  }
}

/**
 * Runs `work` and tells which functions of Node's own modules for files, processes and the network it called,
 * also by imports of them. One at a time. Where {@link hostAccessIsSeen} is false,
 * as in Bun, the list says nothing.
 */
export async function hostAccessDuring(work: () => Promise<unknown>): Promise<string[]> {
  checked('hostAccessDuring', () => callable()(work, 'work'))
  const used = new Set<string>()
  const restore: (() => void)[] = []
  for (const [door, module] of doors) {
    const functions = module as Record<string, unknown>
    for (const [name, value] of Object.entries(module)) {
      if (typeof value !== 'function' || harmless.has(name) || /^[A-Z]/u.test(name)) continue
      const original = value as (...args: unknown[]) => unknown
      functions[name] = function (this: unknown, ...args: unknown[]): unknown {
        within.getStore()?.add(`${door} ${name}`)
        return Reflect.apply(original, this, args)
      }
      restore.push(() => {
        functions[name] = original
      })
    }
  }
  const { fetch } = globalThis
  globalThis.fetch = (...args: Parameters<typeof fetch>) => {
    within.getStore()?.add('fetch')
    return fetch(...args)
  }
  syncBuiltinESMExports()
  try {
    await within.run(used, work)
  } finally {
    globalThis.fetch = fetch
    for (const back of restore) back()
    syncBuiltinESMExports()
  }
  return [...used].sort()
}

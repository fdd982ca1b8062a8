/** The program of this process and this package, where commands may write them: said once, and shown by `toolwright doctor`. */
import { statSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { ownFile } from './addon.js'
import type { SandboxOptions } from './sandbox.js'
import { shown, tell } from './terminal.js'
import { isWithin, realPath } from './writable-places.js'

/** The main program, and the folder of the package or of the bundle that this module is in. */
function hostPaths(): string[] {
  const own = realPath(ownFile())
  const packages = own.lastIndexOf(`${sep}node_modules${sep}`)
  const [, first] = process.argv
  // Behind `--eval` it is an argument.
  const program = first !== undefined && statSync(first, { throwIfNoEntry: false })?.isFile() === true ? first : undefined
  // In an installation the package, in a checkout its root, beside which nothing tells a bundle.
  const folder = packages === -1 ? dirname(own) : own.slice(0, own.indexOf(sep, packages + `${sep}node_modules${sep}`.length))
  return [...(program === undefined ? [] : [realPath(resolve(program))]), folder]
}

/** The first of them that commands of these options may write; undefined for none. */
export function writableHostPath(rootDir: string, { writableRoots = [], denyWrite = [] }: SandboxOptions): string | undefined {
  const root = realPath(resolve(rootDir))
  const absolute = (path: string): string => realPath(resolve(root, path))
  const places = [root, ...writableRoots.map(absolute)]
  const held = denyWrite.filter((path) => !path.startsWith('@')).map(absolute)
  return hostPaths().find((path) => places.some((place) => isWithin(place, path)) && !held.some((one) => isWithin(one, path)))
}

let isTold = false

/** Says that the person reads of it elsewhere. */
export function skipHostNotice(): void {
  isTold = true
}

/** Tells the person who runs this process, once in its life. */
export function tellOfWritableHost(rootDir: string, sandbox: SandboxOptions): void {
  if (isTold) return
  const path = writableHostPath(rootDir, sandbox)
  if (path === undefined) return
  isTold = true
  tell(
    shown`[toolwright] commands may write ${path}, which belongs to the program of this process and runs outside of the sandbox. denyWrite with '@host' holds it; a program outside of the root is safer.\n`,
  )
}

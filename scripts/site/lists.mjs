// Lists of the site that are made from the package itself: exports, codes, commands and the options of each.
import { readFileSync, readdirSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../setup/paths.mjs'

/** The values that each entry point exports, by its import. Types are in the reference. */
export async function exportsOfPackage() {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const lists = new Map()
  for (const [path, entry] of Object.entries(exports)) {
    if (typeof entry === 'string') continue
    const module = await import(pathToFileURL(join(root, entry.default)).href)
    lists.set(`toolwright${path.slice(1)}`, Object.keys(module).toSorted())
  }
  return lists
}

/** The codes of errors, of the tools and of the contract. */
export async function codesOfPackage() {
  const { toolErrorCodes } = await import(pathToFileURL(join(root, 'dist', 'index.js')).href)
  const { contractCodes } = await import(pathToFileURL(join(root, 'dist', 'contract.js')).href)
  const names = (codes) => (Array.isArray(codes) ? codes : Object.keys(codes)).toSorted()
  return { tools: names(toolErrorCodes), contract: names(contractCodes) }
}

const help = (...args) => spawnSync('node', [join(root, 'dist', 'cli.js'), ...args, '--help'], { encoding: 'utf8' }).stdout

/** The help of each command, by its name. */
export function commandsOfPackage() {
  const names = [...help().matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name]) => name)
  return new Map(names.map((name) => [name, help(name)]))
}

/** The options of functions: the names that the package compares what it is given with. */
export function optionsOfPackage() {
  const files = readdirSync(join(root, 'ts'), { recursive: true }).filter((file) => file.endsWith('.ts'))
  const names = new Set()
  for (const file of files) {
    for (const [, name] of readFileSync(join(root, 'ts', file), 'utf8').matchAll(/^\s+([a-z]+[A-Za-z]*): optional\(/gm)) names.add(name)
  }
  return [...names].toSorted()
}

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
  const { contractCodes: contract } = await import(pathToFileURL(join(root, 'dist', 'contract.js')).href)
  const names = (codes) => (Array.isArray(codes) ? codes : Object.keys(codes)).toSorted()
  return { tools: names(toolErrorCodes), contract: names(contract) }
}

const help = (...args) => spawnSync('node', [join(root, 'dist', 'cli.js'), ...args, '--help'], { encoding: 'utf8' }).stdout

/** The help of each command, by its name. */
export function commandsOfPackage() {
  const names = [...help().matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name]) => name)
  return new Map(names.map((name) => [name, help(name)]))
}

/** A comment as one line of a table. */
const line = (comment) =>
  comment
    .replaceAll(/\s*\n\s*\*\s?/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll(/\{@link (\w+)\}/g, '$1')
    .trim()

/** The codes of the contract with what they mean, from the comments of the generated list. */
export function contractCodes() {
  const text = readFileSync(join(root, 'dist', 'core', 'codes.d.ts'), 'utf8')
  const list = /contractCodes: \{([^]*?)\n\}/.exec(text)?.[1] ?? ''
  return [...list.matchAll(/\/\*\*([^]*?)\*\/\s*readonly (\w+):/g)].map(([, comment, code]) => ({ code, meaning: line(comment) }))
}

/**
 * The options of each function, by the name of the interface that an entry point exports: what the declarations say of them, with their defaults. An option's comment
 * stands before it.
 */
export function optionsOfPackage() {
  const files = readdirSync(join(root, 'dist'), { recursive: true }).filter((file) => file.endsWith('.d.ts'))
  const lists = new Map()
  const entries = files.filter((file) => !file.includes('/')).map((file) => readFileSync(join(root, 'dist', file), 'utf8'))
  const isPublic = (name) => entries.some((text) => new RegExp(`\\b${name}\\b`, 'u').test(text))
  for (const file of files.toSorted()) {
    const text = readFileSync(join(root, 'dist', file), 'utf8')
    for (const [, name, body] of text.matchAll(/export interface (\w*Options)(?:<[^>]*>)?(?: extends [^{]+)? \{\n([^]*?)\n\}/g)) {
      const options = [...body.matchAll(/(?:^ {4}\/\*\*((?:(?!\*\/)[^])*)\*\/\n)?^ {4}(?:readonly )?(\w+)(\??)(?:\(|:)/gm)].map(
        ([, comment = '', option, isOptional]) => {
          const [meaning, ...tags] = line(comment).split(/ ?(?=@default)/)
          return {
            option,
            isOptional: isOptional === '?',
            meaning,
            byDefault: tags
              .join(' ')
              .replace(/^@default /, '')
              .replace(/ @.*$/, ''),
          }
        },
      )
      if (options.length > 0 && !lists.has(name) && isPublic(name)) lists.set(name, options)
    }
  }
  return new Map([...lists].toSorted(([a], [b]) => a.localeCompare(b)))
}

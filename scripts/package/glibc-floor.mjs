// The oldest glibc with which an addon loads: `glibc-floor.mjs FILE…` fails if that is later than what is promised.
//
// A function that a later glibc brought, or moved into another library, binds an addon to it without a word. The release
// links against an old glibc, and this looks at what came of it.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** Debian 10, Ubuntu 20.04, RHEL 8. Node 22 and later need it as well. */
export const FLOOR = [2, 28]

/**
 * The latest version of glibc that a library names, as its table of needed versions has it.
 *
 * The names of versions stand in the table of strings, and nothing else there looks like one: a compiler writes them from
 * the libraries that it links.
 */
export function neededGlibc(library) {
  const versions = [...library.toString('latin1').matchAll(/GLIBC_(\d+)\.(\d+)(?:\.\d+)?\0/gu)]
  const numbers = versions.map(([, major, minor]) => [Number(major), Number(minor)])
  return numbers.toSorted(compare).at(-1)
}

const compare = ([major, minor], [otherMajor, otherMinor]) => major - otherMajor || minor - otherMinor

/** What is wrong with a library, in a sentence. */
export function glibcProblem(library) {
  const needed = neededGlibc(library)
  if (needed === undefined) return 'names no version of glibc: it is no library for glibc'
  return compare(needed, FLOOR) > 0 ? `needs glibc ${needed.join('.')}, and ${FLOOR.join('.')} is promised` : undefined
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const files = process.argv.slice(2)
  if (files.length === 0) throw new Error('name the addons')
  for (const file of files) {
    const library = readFileSync(file)
    const problem = glibcProblem(library)
    console.log(`${file}: ${problem ?? `needs glibc ${neededGlibc(library).join('.')}`}`)
    if (problem !== undefined) process.exitCode = 1
  }
}

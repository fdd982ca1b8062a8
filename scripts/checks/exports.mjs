// Exports that no other file uses. The word `export` promises a reader that somebody else depends on the name.
import { dirname } from 'node:path'

const EXPORT = /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:const|let|function\*?|class|type|interface|enum)\s+(\w+)/gm
/** Where a name of `ts/` may be used. */
const USERS = /^(?:ts|__test__|examples|bench|scripts|site)\/.*\.(?:[cm]?ts|tsx|[cm]?js)$/

/** Every name that a file of `ts/` exports for itself alone. Entry points export for users. */
export function* unusedExports(files, read) {
  const owners = new Map()
  const texts = files.filter((file) => USERS.test(file)).map((file) => [file, read(file)])
  for (const [file, text] of texts) {
    if (!/^ts\/.*\.tsx?$/.test(file) || dirname(file) === 'ts') continue
    for (const [, name] of text.matchAll(EXPORT)) owners.set(`${file}\0${name}`, { file, name })
  }
  const words = new Map()
  for (const [file, text] of texts) {
    for (const [word] of text.matchAll(/\w+/g)) {
      const known = words.get(word)
      if (known === undefined) words.set(word, file)
      else if (known !== file) words.set(word, '')
    }
  }
  for (const { file, name } of owners.values())
    if (words.get(name) === file) yield `${file}: ${name} is exported, and no other file uses it`
}

// What the head of a library says: which system and processor it is for, and which functions nothing will give it.
import { glibcProblem, neededGlibc } from '../package/glibc-floor.mjs'

const ELF = { x86_64: 62, aarch64: 183 }
const MACH = { x86_64: 0x01000007, aarch64: 0x0100000c }
const ENTRY = 'napi_register_module_v1'

/** What is wrong with an addon, in sentences. */
export function problemsOf(library, { os, libc, target }) {
  const [processor] = target.split('-')
  return os === 'darwin' ? machProblems(library, processor) : elfProblems(library, processor, libc)
}

function elfProblems(library, processor, libc) {
  if (library.readUInt32BE(0) !== 0x7f454c46) return ['it is no library of Linux']
  const problems = []
  if (library.readUInt16LE(18) !== ELF[processor]) problems.push(`it is not for ${processor}`)
  if (!library.includes(`${ENTRY}\0`)) problems.push(`it has no ${ENTRY}`)
  const glibc = libc === 'gnu' ? glibcProblem(library) : neededGlibc(library) && 'it needs glibc'
  return glibc ? [...problems, glibc] : problems
}

/**
 * A linker for macOS takes every name that no library has for one that the program will bring. Node brings those of its
 * interface; any other would end the process when it is called.
 */
function machProblems(library, processor) {
  if (library.readUInt32LE(0) !== 0xfeedfacf) return ['it is no library of macOS']
  const problems = []
  if (library.readUInt32LE(4) !== MACH[processor]) problems.push(`it is not for ${processor}`)
  const symbols = machSymbols(library)
  if (!symbols.some(({ name, isDefined }) => isDefined && name === `_${ENTRY}`)) problems.push(`it has no ${ENTRY}`)
  const missing = symbols.filter(({ name, isDefined, isLookedUp }) => !isDefined && isLookedUp && !name.startsWith('_napi_'))
  if (missing.length > 0) problems.push(`nothing has ${missing.map(({ name }) => name).join(', ')}`)
  return problems
}

const [LC_SYMTAB, N_STAB, N_TYPE] = [2, 0xe0, 0x0e]
const DYNAMIC_LOOKUP = 0xfe

function machSymbols(library) {
  let at = 32
  for (let count = library.readUInt32LE(16); count > 0; count -= 1, at += library.readUInt32LE(at + 4)) {
    if (library.readUInt32LE(at) !== LC_SYMTAB) continue
    const [table, length, strings] = [8, 12, 16].map((offset) => library.readUInt32LE(at + offset))
    return Array.from({ length }, (_, index) => symbolAt(library, table + index * 16, strings)).filter(({ isStab }) => !isStab)
  }
  return []
}

function symbolAt(library, at, strings) {
  const start = strings + library.readUInt32LE(at)
  const type = library[at + 4]
  return {
    name: library.toString('latin1', start, library.indexOf(0, start)),
    isStab: (type & N_STAB) !== 0,
    isDefined: (type & N_TYPE) !== 0,
    isLookedUp: library.readUInt16LE(at + 6) >> 8 === DYNAMIC_LOOKUP,
  }
}

/** Why the system's loader refused the addon, from its message, and what it would not survive. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** What the file is called, what is wrong with it, and what helps. */
export interface LoadFailure {
  /** Follows the name of the file: `needs glibc 2.28 or later`. */
  problem: string
  hint: string
}

const REINSTALL = 'Install toolwright again, on the machine that will run it, without copying `node_modules` from another one.'

/** The messages of glibc, musl and macOS, the more exact ones first. */
const messages: readonly [RegExp, (found: RegExpExecArray) => LoadFailure][] = [
  [
    /version [`'"]GLIBC_([\d.]+)'? not found/u,
    ([, version]) => ({
      problem: `needs glibc ${version} or later, and ${glibcOfThisSystem()}`,
      hint: 'Run the program on a newer distribution: Debian 10, Ubuntu 20.04, RHEL 8, or later.',
    }),
  ],
  [
    /\bELF (?:header|class|file)|file too short|cannot read file data|\.node: cannot open shared object|Exec format error|not a mach-o file|incompatible architecture|missing compatible arch/iu,
    () => ({ problem: 'is damaged, or is a file for another system or processor', hint: REINSTALL }),
  ],
  [
    /failed to map segment|Operation not permitted|noexec/iu,
    () => ({
      problem: 'lies where no program may run, such as a directory that is mounted noexec',
      hint: 'Install toolwright in another directory, or mount this one without noexec.',
    }),
  ],
  [
    /([\w.+-]+\.so[\w.]*|[\w.+-]+\.dylib): cannot open shared object file|Error loading shared library ([\w.+-]+)/u,
    (found) => ({
      problem: `needs the library ${found[1] ?? found[2]}, which is missing here`,
      hint: 'Install the library, or run the program on a distribution with glibc, or on Alpine Linux.',
    }),
  ],
  [
    /symbol not found|undefined symbol|Error relocating/iu,
    () => ({ problem: 'does not fit the C library or the runtime of this machine', hint: REINSTALL }),
  ],
  [
    /permission denied|EACCES/iu,
    () => ({ problem: 'cannot be read by this user', hint: 'Give this user the right to read the files of the package.' }),
  ],
]

/** Finds the reason among the causes of a failed load. `undefined`: no file was found. */
export function loadFailure(error: unknown): LoadFailure | undefined {
  for (const { code, message } of causes(error)) {
    // A shared library that is missing is a different matter than a missing module.
    if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') continue
    for (const [pattern, describe] of messages) {
      const found = pattern.exec(message)
      if (found !== null) return describe(found)
    }
    if (code === 'ERR_DLOPEN_FAILED') return { problem: `cannot be loaded: ${message.split('\n')[0]}`, hint: REINSTALL }
  }
  return undefined
}

const HEADER_BYTES = 64

/**
 * Whether a library for Linux is shorter than its header says. The system's loader does not look, and the process would end
 * with SIGBUS at the first part that is missing.
 */
export function isCutOff(path: string): boolean {
  let file
  try {
    file = openSync(path, 'r')
    const header = new DataView(new ArrayBuffer(HEADER_BYTES))
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false
    // A 64-bit little-endian ELF file; its table of sections is the last part.
    if (header.getUint32(0) !== 0x7f_45_4c_46 || header.getUint16(4) !== 0x02_01) return false
    const end = Number(header.getBigUint64(0x28, true)) + header.getUint16(0x3a, true) * header.getUint16(0x3c, true)
    return fstatSync(file).size < end
  } catch {
    // The loader knows why.
    return false
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

const MAX_CAUSES = 32

/** An error, its cause, and so on. The generated loader tries several files, and chains their errors. */
function causes(error: unknown): { code: string | undefined; message: string }[] {
  const found: { code: string | undefined; message: string }[] = []
  for (let next = error; next instanceof Error && found.length < MAX_CAUSES; next = next.cause) {
    found.push({ code: (next as NodeJS.ErrnoException).code, message: next.message })
    if (next instanceof AggregateError) found.push(...next.errors.flatMap((one) => causes(one)))
  }
  return found
}

function glibcOfThisSystem(): string {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined
  const version = report?.header?.glibcVersionRuntime
  return version === undefined ? 'this system has an older one, or none' : `this system has ${version}`
}

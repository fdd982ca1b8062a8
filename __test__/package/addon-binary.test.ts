import { expect, test } from 'vitest'
import { problemsOf } from '../../scripts/platforms/binary.mjs'

const gnu = { os: 'linux', libc: 'gnu', target: 'aarch64-unknown-linux-gnu' } as const
const musl = { os: 'linux', libc: 'musl', target: 'aarch64-unknown-linux-musl' } as const
const darwin = { os: 'darwin', target: 'aarch64-apple-darwin' } as const

const elf = (machine: number, ...names: string[]): Buffer => {
  const head = Buffer.alloc(64)
  head.write('\u007FELF', 'latin1')
  head.writeUInt16LE(machine, 18)
  return Buffer.concat([head, Buffer.from(`\0${names.join('\0')}\0`)])
}

test('an addon for Linux is for the processor and the C library that its package names', () => {
  const entry = 'napi_register_module_v1'
  expect(problemsOf(elf(183, entry, 'GLIBC_2.28'), gnu)).toEqual([])
  expect(problemsOf(elf(62, entry, 'GLIBC_2.28'), gnu)).toEqual(['it is not for aarch64'])
  expect(problemsOf(elf(183, entry, 'GLIBC_2.34'), gnu)).toEqual(['needs glibc 2.34, and 2.28 is promised'])
  expect(problemsOf(elf(183, 'GLIBC_2.28'), gnu)).toEqual(['it has no napi_register_module_v1'])
  expect(problemsOf(elf(183, entry), musl)).toEqual([])
  expect(problemsOf(elf(183, entry, 'GLIBC_2.17'), musl)).toEqual(['it needs glibc'])
  expect(problemsOf(Buffer.from('text, which is no library at all'), gnu)).toEqual(['it is no library of Linux'])
})

const [DEFINED, UNDEFINED] = [0x0f, 0x01]
const [LOOKED_UP, FROM_SYSTEM] = [0xfe, 1]
type Symbol = readonly [name: string, type: number, library?: number]

/** A library of macOS with one load command, its table of symbols. */
const mach = (processor: number, symbols: readonly Symbol[]): Buffer => {
  const table = 32 + 24
  const strings = table + symbols.length * 16
  const head = Buffer.alloc(strings + 1)
  for (const [at, value] of [0xfeedfacf, processor, 0, 6, 1, 24].entries()) head.writeUInt32LE(value, at * 4)
  for (const [at, value] of [2, 24, table, symbols.length, strings].entries()) head.writeUInt32LE(value, 32 + at * 4)
  let offset = 1
  for (const [index, [name, type, library = 0]] of symbols.entries()) {
    head.writeUInt32LE(offset, table + index * 16)
    head[table + index * 16 + 4] = type
    head.writeUInt16LE(library << 8, table + index * 16 + 6)
    offset += name.length + 1
  }
  return Buffer.concat([head, Buffer.from(symbols.map(([name]) => `${name}\0`).join(''))])
}

test('of the names that an addon for macOS looks up, all are those of the interface of Node', () => {
  const entry = ['_napi_register_module_v1', DEFINED] as const
  const known = [entry, ['_napi_create_error', UNDEFINED, LOOKED_UP], ['_open', UNDEFINED, FROM_SYSTEM]] as const
  expect(problemsOf(mach(0x0100000c, known), darwin)).toEqual([])
  expect(problemsOf(mach(0x01000007, known), darwin)).toEqual(['it is not for aarch64'])
  expect(problemsOf(mach(0x0100000c, [...known, ['_openat2', UNDEFINED, LOOKED_UP]]), darwin)).toEqual(['nothing has _openat2'])
  expect(problemsOf(mach(0x0100000c, known.slice(1)), darwin)).toEqual(['it has no napi_register_module_v1'])
  expect(problemsOf(elf(183, 'napi_register_module_v1'), darwin)).toEqual(['it is no library of macOS'])
})

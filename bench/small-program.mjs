import { writeFileSync } from 'node:fs'

/** `exit(0)` as machine code, by architecture: its ELF number and its instructions. */
const exits = {
  x64: { machine: 62, code: [0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05] },
  arm64: { machine: 183, code: [0xa8, 0x0b, 0x80, 0xd2, 0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4] },
}

const HEADER = 64
const PROGRAM_HEADER = 56
const ADDRESS = 0x400000n

/**
 * Writes a program that ends at once and has no C library. The loader and the library of `true` take
 * most of its time on virtual machines, whoever starts it: they ask the processor for its caches, which
 * the machine's host has to answer. What a tool adds can be seen beside this one.
 * @param {string} path
 */
export function writeSmallProgram(path) {
  const exit = exits[process.arch]
  if (exit === undefined || process.platform !== 'linux') throw new Error(`no such program for ${process.platform} ${process.arch}`)
  const start = HEADER + PROGRAM_HEADER
  const size = start + exit.code.length
  const file = Buffer.alloc(size)
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
  file.writeUInt16LE(2, 16) // an executable
  file.writeUInt16LE(exit.machine, 18)
  file.writeUInt32LE(1, 20)
  file.writeBigUInt64LE(ADDRESS + BigInt(start), 24)
  file.writeBigUInt64LE(BigInt(HEADER), 32)
  file.writeUInt16LE(HEADER, 52)
  file.writeUInt16LE(PROGRAM_HEADER, 54)
  file.writeUInt16LE(1, 56)
  file.writeUInt32LE(1, HEADER) // to be loaded
  file.writeUInt32LE(5, HEADER + 4) // to be read and executed
  file.writeBigUInt64LE(ADDRESS, HEADER + 16)
  file.writeBigUInt64LE(ADDRESS, HEADER + 24)
  file.writeBigUInt64LE(BigInt(size), HEADER + 32)
  file.writeBigUInt64LE(BigInt(size), HEADER + 40)
  file.writeBigUInt64LE(0x1000n, HEADER + 48)
  file.set(exit.code, start)
  writeFileSync(path, file, { mode: 0o755 })
}

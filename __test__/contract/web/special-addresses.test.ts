// crates/policy/tests/special_addresses.txt: the table of hosts by name has the same blocks.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadAddressClasses } from '../../../ts/contract/web/resolve-host.js'

const file = join(import.meta.dirname, '../../../crates/policy/tests/special_addresses.txt')

interface Block {
  isV4: boolean
  first: bigint
  last: bigint
}

const blocks = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line): Block => {
    const [address = '', length = ''] = line.split('/')
    const isV4 = !address.includes(':')
    const rest = (1n << BigInt((isV4 ? 32 : 128) - Number(length))) - 1n
    const first = isV4 ? fromParts(address.split('.').map(Number), 8n) : fromParts(wholeV6(address), 16n)
    return { isV4, first, last: first | rest }
  })

function wholeV6(address: string): number[] {
  const [head = '', tail = ''] = address.split('::')
  const parts = (text: string): number[] =>
    text
      .split(':')
      .filter(Boolean)
      .map((part) => Number.parseInt(part, 16))
  const [before, after] = [parts(head), parts(tail)]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function fromParts(parts: readonly number[], bits: bigint): bigint {
  return parts.reduce((number, part) => (number << bits) | BigInt(part), 0n)
}

function written({ isV4 }: Pick<Block, 'isV4'>, number: bigint): string {
  const [count, bits, base] = isV4 ? [4, 8n, 10] : [8, 16n, 16]
  const parts = Array.from({ length: count }, (_, at) => Number((number >> (BigInt(count - 1 - at) * bits)) & ((1n << bits) - 1n)))
  return parts.map((part) => part.toString(base)).join(isV4 ? '.' : ':')
}

test('every special block is special for web_fetch, and what is beside it is not', async () => {
  const { special } = await loadAddressClasses()
  let lookedAt = 0
  for (const block of blocks) {
    const { isV4, first, last } = block
    const end = (1n << (isV4 ? 32n : 128n)) - 1n
    for (const number of [first, last, first + (last - first) / 2n, first - 1n, last + 1n]) {
      if (number < 0n || number > end) continue
      const isSpecial = blocks.some((one) => one.isV4 === isV4 && one.first <= number && number <= one.last)
      const address = written(block, number)
      expect(special(address) !== undefined, address).toBe(isSpecial)
      lookedAt += 1
    }
  }
  expect(lookedAt).toBeGreaterThan(120)
})

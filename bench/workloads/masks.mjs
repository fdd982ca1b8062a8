import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools } from 'toolwright'
import { sourceText } from '../source-text.mjs'

const maxOutputBytes = 10_485_760
const CALL = { toolCallId: 'call', messages: [] }

/** Secrets as a host has them, each with its forms. */
const values = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`TOKEN_${index}`, `x7Gk29QmZp41-${index}-a8Kd93jfKq02`]))

/** Output of 10 MB without a secret, masked and as it is. */
function printing(mask) {
  return ({ folder }) => {
    const text = sourceText(37, 10_000_000)
    const file = 'masked.txt'
    writeFileSync(join(folder, file), text)
    const contender = (option) => {
      const { bash } = createTools({ rootDir: folder, maxOutputBytes, mask: option })
      const run = () => bash.execute({ cmd: 'cat', args: [file] }, CALL)
      return { run, verify: (answer) => assert.ok(answer === text, 'another text was captured') }
    }
    return { ours: contender(mask), unmasked: contender(false) }
  }
}

const effort = { quick: { rounds: 6, batch: 1, budgetMs: 2_000 }, full: { rounds: 40, batch: 1, budgetMs: 12_000 } }

export const workloads = [
  { id: 'mask', effort, contenders: printing({ values }) },
  { id: 'mask-tokens', effort, contenders: printing({ tokens: true, values }) },
]

import { appendFileSync, writeFileSync } from 'node:fs'
import { createTools } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

// The first read of a process loads the addon and goes by another thread; later ones need not, as
// long as the file is in memory and others have not held the event loop up just before.
function scene() {
  const fixture = makeSandbox()
  return { fixture, read: createTools({ rootDir: fixture.root }).read }
}

describe('read gives the same text by either way', () => {
  const contents: [string, string | Buffer, string][] = [
    ['nothing', '', ''],
    ['ASCII', 'text\n', 'text\n'],
    ['UTF-8', 'Größe → 10 µs\n', 'Größe → 10 µs\n'],
    ['a byte order mark', '\ufeffmark', '\ufeffmark'],
    ['what is not UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
    ['190,000 bytes', 'x'.repeat(190_000), 'x'.repeat(190_000)],
  ]
  test.each(contents)('%s', async (_, content, text) => {
    const { fixture, read } = scene()
    writeFileSync(fixture.at('file'), content)
    for (let count = 0; count < 3; count += 1) expect(await read.execute({ path: 'file' })).toBe(text)
  })
})

test('a file that changes between two reads is seen as it is', async () => {
  const { fixture, read } = scene()
  let text = ''
  for (let count = 0; count < 50; count += 1) {
    appendFileSync(fixture.at('log'), `line ${count}\n`)
    text += `line ${count}\n`
    expect(await read.execute({ path: 'log' })).toBe(text)
  }
})

test('an aborted read throws the reason', async () => {
  const { fixture, read } = scene()
  writeFileSync(fixture.at('file'), 'text')
  await read.execute({ path: 'file' })
  const reason = new Error('enough')
  await expect(read.execute({ path: 'file' }, { abortSignal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})

test('500 reads at once are all right, and the event loop gets its turns meanwhile', async () => {
  const { fixture, read } = scene()
  const texts = Array.from({ length: 50 }, (_, index) => `${index}`.repeat(50_000))
  texts.forEach((text, index) => writeFileSync(fixture.at(`${index}`), text))
  await read.execute({ path: '0' })
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  const all = await Promise.all(Array.from({ length: 500 }, (_, index) => read.execute({ path: `${index % 50}` })))
  clearInterval(timer)
  all.forEach((text, index) => expect(text).toBe(texts[index % 50]))
  // Bun takes all results that have come before it looks at its timers, whoever made them.
  if (process.versions['bun'] === undefined) expect(turns).toBeGreaterThan(0)
})

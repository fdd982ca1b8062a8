import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareWriter } from '../bare-write.mjs'
import { sourceText } from '../source-text.mjs'

const sizes = { '1k': 1_000, '200k': 200_000 }

const often = { quick: { rounds: 12, batch: 10, budgetMs: 1_500 }, full: { rounds: 100, batch: 20, budgetMs: 10_000 } }

function reading(size, textOf = sourceText, name = `read-${size}.txt`) {
  return ({ folder, toolsets }) => {
    const text = textOf(7, sizes[size])
    const path = join(folder, name)
    writeFileSync(path, text)
    const verify = (answer) => assert.ok(answer === text, 'another text was read')
    const contenders = {
      fs: { run: () => readFile(path, 'utf8'), verify },
      // The least there is: it holds the thread, whatever the disk does.
      sync: { run: () => readFileSync(path, 'utf8'), verify },
    }
    for (const [tool, call] of Object.entries(toolsets({ rootDir: folder }))) {
      contenders[tool] = { run: () => call('read', { path: name }), verify }
    }
    return contenders
  }
}

/** Now and then a word that is not ASCII, as in a program whose comments are not English. */
function wideText(seed, bytes) {
  let text = sourceText(seed, bytes).replaceAll('account', 'счёт').replaceAll('buffer', 'буфер')
  // Characters are longer now, and the text is to be no longer than it was.
  while (Buffer.byteLength(text) > bytes) text = text.slice(0, -100)
  return text
}

function writing(size) {
  return ({ folder, toolsets }) => {
    // Two texts in turn, so that nobody can find the file as it should be.
    const texts = [sourceText(11, sizes[size]), sourceText(12, sizes[size])]
    const contender = (name, write) => {
      const file = `write-${size}-${name}.txt`
      writeFileSync(join(folder, file), texts[1])
      let calls = 0
      return {
        run: () => write(file, texts[calls++ % 2]),
        verify: () => assert.ok(readFileSync(join(folder, file), 'utf8') === texts[0], 'another text was written'),
      }
    }
    const contenders = { fs: contender('fs', (file, text) => writeFile(join(folder, file), text)) }
    for (const [name, call] of Object.entries(toolsets({ rootDir: folder }))) {
      contenders[name] = contender(name, (path, content) => call('write', { path, content }))
    }
    return contenders
  }
}

/** The same beside the least that it can take, whoever does it. */
async function writingBare({ folder, toolsets }) {
  const texts = [11, 12].map((seed) => sourceText(seed, sizes['1k']))
  const verify = (ms) => assert.ok(ms > 0, 'nothing was measured')
  const bare = await bareWriter(folder, join(folder, 'bare.txt'), sizes['1k'])
  // A call that does not hold the program's own thread goes to another one and comes back.
  const bareOnThread = async () => {
    const ms = await bare()
    const start = performance.now()
    await stat(folder)
    return ms + performance.now() - start
  }
  const contenders = { bare: { run: bare, verify }, thread: { run: bareOnThread, verify } }
  for (const [name, call] of Object.entries(toolsets({ rootDir: folder }))) {
    let calls = 0
    const run = async () => {
      const start = performance.now()
      await call('write', { path: `${name}.txt`, content: texts[calls++ % 2] })
      return performance.now() - start
    }
    contenders[name] = { run, verify }
  }
  return contenders
}

const selfTimed = (effort) => Object.fromEntries(Object.entries(effort).map(([extent, each]) => [extent, { ...each, selfTimed: true }]))

export const workloads = [
  { id: 'read-1k', effort: often, contenders: reading('1k') },
  { id: 'read-200k', effort: often, contenders: reading('200k') },
  { id: 'read-200k-wide', effort: often, contenders: reading('200k', wideText, 'read-wide.txt') },
  { id: 'write-1k', effort: often, contenders: writing('1k') },
  { id: 'write-200k', effort: often, contenders: writing('200k') },
  { id: 'write-1k-bare', effort: selfTimed(often), contenders: writingBare },
  { id: 'read-1k-bun', runtime: 'bun', effort: often, contenders: reading('1k') },
  { id: 'read-200k-bun', runtime: 'bun', effort: often, contenders: reading('200k') },
]

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { applyPatch, editFileTool, runWithToolContext } from 'toolwright'
import { changeLines } from '../patches.mjs'
import { sourceLines } from '../source-text.mjs'

const BYTES = 190_000
const FILES = 64
/** A patch of 500 hunks is about as large as the file. */
const maxOutputBytes = 1_000_000

const text = (lines) => `${lines.join('\n')}\n`

/** A file of 190 KB, what it becomes, and the patches there and back. */
function material(hunks) {
  const lines = sourceLines(23, 6_000)
  while (text(lines).length > BYTES) lines.pop()
  const { changed, there, back } = changeLines(lines, hunks)
  return { before: text(lines), after: text(changed), there, back }
}

function editing(hunks) {
  return ({ folder, toolsets, diff }) => {
    const { before, after, there, back } = material(hunks)
    const contenders = {}
    for (const [name, call] of Object.entries(toolsets({ rootDir: folder, maxOutputBytes }))) {
      const path = `edit-${hunks}-${name}.txt`
      writeFileSync(join(folder, path), before)
      let calls = 0
      contenders[name] = {
        run: () => call('edit', { path, patch: calls++ % 2 === 0 ? there : back }),
        verify: () => assert.ok(readFileSync(join(folder, path), 'utf8') === after, 'the file is another one'),
      }
    }
    if (diff) {
      contenders.jsdiff = {
        run: () => diff.applyPatch(before, there),
        verify: (answer) => assert.ok(answer === after, 'the text is another one'),
      }
    }
    return contenders
  }
}

function editingMany({ folder, toolsets }) {
  const { before, after, there, back } = material(500)
  const contenders = {}
  for (const [name, call] of Object.entries(toolsets({ rootDir: folder, maxOutputBytes }))) {
    const paths = Array.from({ length: FILES }, (_, index) => `many-${name}-${index}.txt`)
    for (const path of paths) writeFileSync(join(folder, path), before)
    let calls = 0
    contenders[name] = {
      run: () => {
        const patch = calls++ % 2 === 0 ? there : back
        return Promise.all(paths.map((path) => call('edit', { path, patch })))
      },
      verify: () => {
        for (const path of paths) assert.ok(readFileSync(join(folder, path), 'utf8') === after, `${path} is another one`)
      },
    }
  }
  return contenders
}

const PATCHED_FILES = 50
const HUNKS_PER_FILE = 10

/** Each changes the same files there and back: one call for all of them, or one for each, in turn or at once. */
function patching({ folder }) {
  const lines = sourceLines(29, 200)
  const { changed, there, back } = changeLines(lines, HUNKS_PER_FILE)
  const sides = (name) => {
    const paths = Array.from({ length: PATCHED_FILES }, (_, index) => `patched-${name}/${index % 5}/${index}.txt`)
    for (const path of paths) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text(lines))
    }
    const verify = () => {
      for (const path of paths) assert.ok(readFileSync(join(folder, path), 'utf8') === text(changed), `${path} is another one`)
    }
    return { paths, verify }
  }
  const context = { rootDir: folder, maxOutputBytes, runId: 'bench', nodeId: 'bench' }
  const one = sides('ours')
  const all = (diff) => one.paths.map((path) => diff.replace('a/file', `a/${path}`).replace('b/file', `b/${path}`)).join('')
  const patches = [all(there), all(back)]
  const inTurn = sides('edits')
  const together = sides('at-once')
  const edit = (path, patch) => runWithToolContext(context, () => editFileTool(path, patch))
  let [calls, turns, rounds] = [0, 0, 0]
  return {
    ours: { run: () => runWithToolContext(context, () => applyPatch(patches[calls++ % 2])), verify: one.verify },
    edits: {
      run: async () => {
        const patch = turns++ % 2 === 0 ? there : back
        for (const path of inTurn.paths) await edit(path, patch)
      },
      verify: inTurn.verify,
    },
    'at once': {
      run: () => {
        const patch = rounds++ % 2 === 0 ? there : back
        return Promise.all(together.paths.map((path) => edit(path, patch)))
      },
      verify: together.verify,
    },
  }
}

const often = { quick: { rounds: 10, batch: 4, budgetMs: 1_500 }, full: { rounds: 60, batch: 10, budgetMs: 10_000 } }
const seldom = {
  quick: { rounds: 4, batch: 1, budgetMs: 3_000, delay: true },
  full: { rounds: 20, batch: 1, budgetMs: 20_000, delay: true },
}

export const workloads = [
  { id: 'edit-1', effort: often, contenders: editing(1) },
  { id: 'edit-500', effort: often, contenders: editing(500) },
  { id: 'apply-patch', effort: often, contenders: patching },
  { id: 'parallel-edit', residentMb: 330, effort: seldom, contenders: editingMany },
]

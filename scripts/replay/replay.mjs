// Commits of real projects, made once more through the tools: each result has to be what git has, or a refusal.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { commitsOf, randomOf } from './history.mjs'
import { hasOneReading, isMeant } from './judge.mjs'
import { envelopeOf, fitsEnvelope, forms, replacementsOf } from './patches.mjs'

const options = { toolCallId: 'c', messages: [] }
const LIMIT = 10_000_000

/** @typedef {{ right: number, refused: number, wrong: string[], reasons: Record<string, number> }} Tally */

/**
 * Replays commits of a repository.
 *
 * @param {{ createTools: Function, createSession: Function }} library @param {string} repository
 * @param {{ commits: number, seed: number }} how
 * @returns {Promise<Map<string, Tally>>} for each way, what became of it
 */
export async function replay({ createTools, createSession }, repository, { commits, seed }) {
  const random = randomOf(seed)
  const root = mkdtempSync(join(tmpdir(), 'replay-'))
  /** @type {Map<string, Tally>} */
  const tallies = new Map()
  const count = (way, outcome, what) => {
    const tally = tallies.get(way) ?? { right: 0, refused: 0, wrong: [], reasons: {} }
    tallies.set(way, tally)
    if (outcome === 'wrong') tally.wrong.push(what)
    else tally[outcome] += 1
    if (outcome === 'refused') tally.reasons[what] = (tally.reasons[what] ?? 0) + 1
  }
  const tools = createTools({ rootDir: root, extraTools: ['apply_patch'], maxOutputBytes: LIMIT })
  const session = await createSession({
    workspace: root,
    headless: true,
    manifest: { name: 'replay', permissions: [{ permission: '*', pattern: '**', action: 'allow' }] },
  })
  const put = (path, bytes) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), bytes)
    chmodSync(join(root, path), 0o644)
  }
  const bytesOf = (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path)) : undefined)
  const isSame = (one, other) => (one === undefined || other === undefined ? one === other : one.equals(other))

  /** A whole commit as one patch. */
  const whole = async (way, { id, files }, patch) => {
    for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true, force: true })
    for (const { path, before } of files) if (before !== undefined) put(path, before)
    const error = await tools.apply_patch.execute({ patch }, options).then(
      () => undefined,
      (reason) => reason,
    )
    const expected = (file) => (error === undefined ? file.after : file.before)
    const wrong = files.find((file) => !isSame(bytesOf(file.path), expected(file)))
    if (wrong !== undefined) count(way, 'wrong', `${id} ${wrong.path}${error === undefined ? '' : ' after a refusal'}`)
    else count(way, error === undefined ? 'right' : 'refused', String(error?.details?.problem ?? error?.code))
  }

  try {
    for (const commit of commitsOf(repository, commits, random)) {
      await whole('apply_patch, diff', commit, commit.diff)
      if (fitsEnvelope(commit)) {
        await whole('apply_patch, envelope', commit, envelopeOf(commit, false))
        await whole('apply_patch, envelope with anchors', commit, envelopeOf(commit, true))
      }
      for (const file of commit.files) {
        const { path, before, after } = file
        if (before === undefined || after === undefined) continue
        for (const [form, write] of Object.entries(forms)) {
          put(path, before)
          const patch = write(file, random)
          const error = await tools.edit.execute({ path, patch }, options).then(
            () => undefined,
            (reason) => reason,
          )
          const result = bytesOf(path)
          const is = error === undefined ? isMeant(file, { form, patch, result }) : result.equals(before)
          const way = `edit, ${form}`
          if (!is) count(way, 'wrong', `${commit.id} ${path}`)
          else if (error === undefined) count(way, 'right', '')
          else if (hasOneReading(file, { form, patch }))
            count(way, 'wrong', `${commit.id} ${path}: refused, with one reading: ${error.message}`)
          else count(way, 'refused', String(error.details?.problem ?? error.code))
        }
        put(path, before)
        let refused
        for (const { old, by } of replacementsOf(file)) {
          const answer = await session.call('edit', { path, old_string: old, new_string: by })
          if (answer.type !== 'output') refused = answer.error_code ?? answer.code ?? 'refused'
          if (refused !== undefined) break
        }
        if (refused !== undefined) count('edit of a session', 'refused', String(refused))
        else count('edit of a session', isSame(bytesOf(path), after) ? 'right' : 'wrong', `${commit.id} ${path}`)
      }
    }
  } finally {
    await session.close()
    rmSync(root, { recursive: true, force: true })
  }
  return tallies
}

/** A table of what became of each way. */
export const table = (tallies) =>
  [...tallies]
    .map(([way, { right, refused, wrong, reasons }]) => {
      const why = Object.entries(reasons)
        .map(([reason, count]) => `${reason} ${count}`)
        .join(', ')
      return `${way.padEnd(46)} right ${String(right).padStart(5)}  refused ${String(refused).padStart(4)}  wrong ${wrong.length}${why === '' ? '' : `  (${why})`}`
    })
    .join('\n')

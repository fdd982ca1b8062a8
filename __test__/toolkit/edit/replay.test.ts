/** A made history of files in many forms, replayed as those of real projects are in the systems tests. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { expect, onTestFinished, test } from 'vitest'
import { randomOf } from '../../../scripts/replay/history.mjs'
import { replay } from '../../../scripts/replay/replay.mjs'

const seed = Number(process.env['TOOLWRIGHT_SEED'] ?? 1)
const COMMITS = 4

/** Lines of code with blank ones, repeated ones, and one that ends in blanks. */
function lineOf(random: () => number): string {
  const words = ['', '}', 'return x', 'if (a < b && c) {', `call(${Math.floor(random() * 900)})`, 'trailing  ', '- item', '+ item', '@@ at']
  const word = words[Math.floor(random() * words.length)] ?? ''
  return word === '' ? '' : ['', '  ', '    ', '\t', '        '][Math.floor(random() * 5)] + word
}

const forms = [
  { name: 'lf.js', end: '\n', mark: '', encoding: 'utf8' },
  { name: 'crlf.cs', end: '\r\n', mark: '\uFEFF', encoding: 'utf8' },
  { name: 'latin.aff', end: '\n', mark: 'caf\u00E9 ', encoding: 'latin1' },
  { name: 'dir/no-end.py', end: '\n', mark: '', encoding: 'utf8' },
] as const

function madeHistory(): string {
  const random = randomOf(seed)
  const root = mkdtempSync(join(tmpdir(), 'history-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'core.autocrlf=false', '-C', root, ...args], {
      stdio: 'ignore',
    })
  git('init', '--quiet')
  mkdirSync(join(root, 'dir'))
  const texts = forms.map(() => Array.from({ length: 30 }, () => lineOf(random)))
  for (let commit = 0; commit <= COMMITS; commit += 1) {
    for (const [at, { name, end, mark, encoding }] of forms.entries()) {
      const lines = texts[at] ?? []
      for (let change = 0; change < 3; change += 1) {
        const place = Math.floor(random() * lines.length)
        lines.splice(place, Math.floor(random() * 3), ...Array.from({ length: Math.floor(random() * 3) }, () => lineOf(random)))
      }
      const text = mark + lines.join(end) + (name.includes('no-end') ? 'x' : end)
      writeFileSync(join(root, name), Buffer.from(text, encoding))
    }
    git('add', '--all')
    git('commit', '--quiet', '--allow-empty', '--message', 'x')
  }
  return root
}

test('a change is made as git makes it, or refused, whatever a model writes it as', { timeout: 60_000 }, async () => {
  const tallies = await replay({ createTools, createSession }, madeHistory(), { commits: COMMITS, seed })
  expect([...tallies].flatMap(([way, { wrong }]) => wrong.map((what) => `${way}: ${what}`))).toEqual([])
  expect(tallies.get('edit, as git writes it')?.right).toBeGreaterThan(COMMITS)
  expect(tallies.get('edit of a session')?.right).toBeGreaterThan(COMMITS)
})

// Compares docs/requirements.md with the tests: each requirement has a test, each tag in a test has a requirement.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listTree, report } from './checks/tree.mjs'
import { root } from './setup/paths.mjs'

const PAGE = 'docs/requirements.md'
/** Requirements that others or the type system stand for, with the reason in place of a test. */
const WITHOUT_TEST = new Map([['contract R66', 'multi-file patches are not part of this version']])
const folders = new Map([
  ['# The tool contract', 'contract'],
  ['# Standard Agents', 'standard-agents'],
  ['# Tools that providers define', 'providers'],
])

const { files } = listTree()
const read = (file) => readFileSync(join(root, file), 'utf8')

/** The files that name a tag, by room and tag. */
function testsByTag() {
  const tests = new Map()
  for (const file of files) {
    const room = /^__test__\/(contract|standard-agents|providers|systems)\/.*\.ts$/.exec(file)?.[1]
    if (room === undefined) continue
    for (const [tag] of read(file).matchAll(/\bR\d{1,2}(?=[a-z]?\b)/g)) {
      const key = `${room === 'systems' ? 'standard-agents' : room} ${tag}`
      tests.set(key, (tests.get(key) ?? new Set()).add(file))
    }
  }
  return tests
}

/** The page with its last column filled, and what is wrong. */
function fill(page, tests) {
  const problems = []
  const known = new Set()
  let room
  const lines = page.split('\n').map((line) => {
    room = folders.get(line) ?? room
    const row = /^\| (R\d+) \| (.*) \| ([a-z, ]+) \|[^|]*\|$/.exec(line)
    if (row === null) return line
    const [, tag, text, source] = row
    const key = `${room} ${tag}`
    known.add(key)
    const named = [...(tests.get(key) ?? [])].sort()
    if (named.length === 0 && !WITHOUT_TEST.has(key)) problems.push(`${PAGE}: no test names ${tag} of ${room}`)
    const cells = named.map((file) => `\`${file.replace(/^__test__\//, '').replace(/\.(?:test(?:-d)?\.)?ts$/, '')}\``)
    return `| ${tag} | ${text} | ${source} | ${cells.join(', ') || WITHOUT_TEST.get(key) || ''} |`
  })
  for (const [key, named] of tests) {
    if (!known.has(key)) problems.push(`${[...named][0]}: ${key.split(' ')[1]} is not in ${PAGE}`)
  }
  return { filled: lines.join('\n'), problems }
}

const page = read(PAGE)
const { filled, problems } = fill(page, testsByTag())
if (process.argv.includes('--write')) writeFileSync(join(root, PAGE), filled)
else if (filled !== page) problems.push(`${PAGE}: the tests have changed; run node scripts/check-requirements.mjs --write`)
report('requirements', problems)

// The sections of CHANGELOG.md: `changelog.mjs` makes "Unreleased" the section of the version of package.json, with today's date;
// `changelog.mjs --released` fails unless that has been done, and `--notes` prints the section.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { root } from '../setup/paths.mjs'

const UNRELEASED = 'Unreleased'
const HEADING = /^## (?<title>\S+)(?: - (?<date>\S+))?$/gmu
const DATE = /^\d{4}-\d{2}-\d{2}$/u
const HAS_ENTRIES = /^### [^]*^- /mu

/** The sections, latest first, each with the place where it begins and its text below the heading. */
export function sections(text) {
  const heads = [...text.matchAll(HEADING)]
  return heads.map(({ 0: heading, index, groups: { title, date } }, position) => {
    const body = text.slice(index + heading.length, heads[position + 1]?.index).trim()
    return { title, date, index, body }
  })
}

/** The changelog in which what was unreleased is that version's. A sentence before its first heading says that it is unreleased, and goes. */
export function released(text, version, date) {
  const problem = [...problemsOf(text)][0] ?? [...unreleasable(text, version)][0]
  if (problem !== undefined) throw new Error(problem)
  const { index, body } = sections(text)[0]
  const after = sections(text)[1]?.index ?? text.length
  const entries = body.slice(body.search(/^### /mu))
  return `${text.slice(0, index)}## ${UNRELEASED}\n\n## ${version} - ${date}\n\n${entries}\n${after < text.length ? `\n${text.slice(after)}` : ''}`
}

function* unreleasable(text, version) {
  const [first, ...others] = sections(text)
  if (!HAS_ENTRIES.test(first.body)) yield `CHANGELOG.md: ${UNRELEASED} has no entries`
  if (others.some(({ title }) => title === version)) yield `CHANGELOG.md: there is a section of ${version} already`
}

/** What is wrong with the sections in any checkout. */
export function* problemsOf(text) {
  const [first, ...others] = sections(text)
  if (first?.title !== UNRELEASED || first.date !== undefined) return yield `CHANGELOG.md: the first section is not "${UNRELEASED}"`
  for (const { title, date, body } of others) {
    if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/u.test(title)) yield `CHANGELOG.md: "${title}" is no version`
    else if (date === undefined || !DATE.test(date)) yield `CHANGELOG.md: ${title} has no date`
    else if (!HAS_ENTRIES.test(body)) yield `CHANGELOG.md: ${title} has no entries`
  }
  if (new Set(others.map(({ title }) => title)).size < others.length) yield 'CHANGELOG.md: two sections have the same version'
}

/** What keeps a version from being published. */
export function* unreleasedProblems(text, version) {
  yield* problemsOf(text)
  const [first, latest] = sections(text)
  if (latest?.title !== version) yield `CHANGELOG.md: the latest version is ${latest?.title ?? 'none'}, not ${version}`
  if (first !== undefined && first.body !== '') yield `CHANGELOG.md: ${UNRELEASED} is not empty: its changes belong to ${version}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({ options: { released: { type: 'boolean' }, notes: { type: 'boolean' } } })
  const file = join(root, 'CHANGELOG.md')
  const text = readFileSync(file, 'utf8')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const problems = values.released || values.notes ? [...unreleasedProblems(text, version)] : []
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) process.exitCode = 1
  else if (values.notes) process.stdout.write(`${sections(text)[1].body}\n`)
  else if (!values.released) writeFileSync(file, released(text, version, new Date().toISOString().slice(0, 10)))
}

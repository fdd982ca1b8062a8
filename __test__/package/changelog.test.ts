import { expect, test } from 'vitest'
import { problemsOf, released, sections, unreleasedProblems } from '../../scripts/package/changelog.mjs'

const INTRODUCTION = '# Changelog\n\nWhat versions are.\n\n'
const FIRST = `${INTRODUCTION}## Unreleased\n\nNothing has been published yet.\n\n### Added\n\n#### Files\n\n- One thing.\n`
const SECOND = `${INTRODUCTION}## Unreleased\n\n### Fixed\n\n- Another thing.\n\n## 0.1.0 - 2026-01-02\n\n### Added\n\n- One thing.\n`

test('what was unreleased becomes the section of the version, with its date', () => {
  const text = released(FIRST, '0.1.0', '2026-01-02')
  expect(text).toBe(`${INTRODUCTION}## Unreleased\n\n## 0.1.0 - 2026-01-02\n\n### Added\n\n#### Files\n\n- One thing.\n`)
  expect([...unreleasedProblems(text, '0.1.0')]).toEqual([])
})

test('earlier versions stay as they are', () => {
  const text = released(SECOND, '0.1.1', '2026-02-03')
  expect(sections(text).map(({ title, date, body }) => [title, date, body])).toEqual([
    ['Unreleased', undefined, ''],
    ['0.1.1', '2026-02-03', '### Fixed\n\n- Another thing.'],
    ['0.1.0', '2026-01-02', '### Added\n\n- One thing.'],
  ])
  expect(text.endsWith('## 0.1.0 - 2026-01-02\n\n### Added\n\n- One thing.\n')).toBe(true)
  expect([...problemsOf(text)]).toEqual([])
})

test('nothing cannot be released, and no version twice', () => {
  expect(() => released(released(FIRST, '0.1.0', '2026-01-02'), '0.1.1', '2026-01-03')).toThrow('Unreleased has no entries')
  expect(() => released(SECOND, '0.1.0', '2026-01-03')).toThrow('there is a section of 0.1.0 already')
})

test('a version is not published before the changelog has it', () => {
  expect([...unreleasedProblems(FIRST, '0.1.0')]).toEqual([
    'CHANGELOG.md: the latest version is none, not 0.1.0',
    'CHANGELOG.md: Unreleased is not empty: its changes belong to 0.1.0',
  ])
  expect([...unreleasedProblems(released(SECOND, '0.1.1', '2026-02-03'), '0.1.2')]).toEqual([
    'CHANGELOG.md: the latest version is 0.1.1, not 0.1.2',
  ])
})

test.each([
  ['## 0.1.0 - 2026-01-02\n\n### Added\n\n- One.\n', 'the first section is not "Unreleased"'],
  ['## Unreleased\n\n## next - 2026-01-02\n\n### Added\n\n- One.\n', '"next" is no version'],
  ['## Unreleased\n\n## 0.1.0\n\n### Added\n\n- One.\n', '0.1.0 has no date'],
  ['## Unreleased\n\n## 0.1.0 - soon\n\n### Added\n\n- One.\n', '0.1.0 has no date'],
  ['## Unreleased\n\n## 0.1.0 - 2026-01-02\n', '0.1.0 has no entries'],
])('sections that are wrong: %j', (text, problem) => {
  expect([...problemsOf(INTRODUCTION + text)]).toEqual([`CHANGELOG.md: ${problem}`])
})

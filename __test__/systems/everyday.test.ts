import { expect, test } from 'vitest'
import { PROJECTS } from './everyday/projects.ts'
import { forEachProject } from './everyday/suite.ts'

// A day's work: what ends with 0 outside ends with 0 in the sandbox of `createTools`, and leaves the same files.

test('there are enough projects, each with a name of its own', () => {
  expect(PROJECTS.length).toBeGreaterThanOrEqual(45)
  expect(new Set(PROJECTS.map(({ name }) => name)).size).toBe(PROJECTS.length)
})

forEachProject('as', ({ everyday, project, folder, user, outside }) => {
  const inside = everyday.run(project, folder, user, 'inside')
  expect(inside.code, inside.output).toBe(0)
  expect(inside.files).toEqual(outside.files)
  expect(inside.after).toBe(outside.after)
  everyday.time(project, user, outside.ms, inside.ms)
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROJECTS } from './everyday/projects.ts'
import { Everyday, missingProgram, users } from './everyday/run-project.ts'

// A day's work: what ends with 0 outside ends with 0 in the sandbox of `createTools`, and leaves the same files.

let everyday: Everyday
beforeAll(async () => {
  everyday = await Everyday.make()
}, 300_000)
afterAll(() => everyday.remove())

test('there are enough projects, each with a name of its own', () => {
  expect(PROJECTS.length).toBeGreaterThanOrEqual(45)
  expect(new Set(PROJECTS.map(({ name }) => name)).size).toBe(PROJECTS.length)
})

describe.for(users())('as %s', (user) => {
  for (const project of PROJECTS) {
    const missing = project.notAsRoot === true && user === 'root' ? 'other user' : missingProgram(project, user)
    test.skipIf(missing !== undefined)(`${project.name}${missing === undefined ? '' : ` (no ${missing})`}`, { timeout: 600_000 }, () => {
      const folder = everyday.prepare(project)
      const outside = everyday.run(project, folder, user, 'outside')
      expect(outside, outside.output).toMatchObject({ code: 0 })
      const inside = everyday.run(project, folder, user, 'inside')
      expect(inside.code, inside.output).toBe(0)
      expect(inside.files).toEqual(outside.files)
      expect(inside.after).toBe(outside.after)
      everyday.time(project, user, outside.ms, inside.ms)
    })
  }
})

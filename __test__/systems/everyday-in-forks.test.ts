import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Everyday, missingProgram, users } from './everyday/run-project.ts'
import { PROJECTS } from './everyday/projects.ts'

// docs/guides/forks.md: a day's work ends in a fork as it ends in the directory, nothing is changed there meanwhile, and `apply`
// brings what was made.
const isHere = process.platform === 'linux'

/** Not applied, and listed in "Limits": the permissions of directories, and what is no file or link. */
const appliedOf = (files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(files)
      .filter(([, what]) => what !== 'special')
      .map(([path, what]) => (path.endsWith('/') ? [path, 'directory'] : [path, what])),
  )

let everyday: Everyday
beforeAll(async () => {
  everyday = await Everyday.make()
}, 300_000)
afterAll(() => everyday.remove())

describe.skipIf(!isHere).for(users())('in a fork, as %s', (user) => {
  for (const project of PROJECTS) {
    const missing = project.notAsRoot === true && user === 'root' ? 'other user' : missingProgram(project, user)
    test.skipIf(missing !== undefined)(`${project.name}${missing === undefined ? '' : ` (no ${missing})`}`, { timeout: 900_000 }, () => {
      const folder = everyday.prepare(project)
      const outside = everyday.run(project, folder, user, 'outside')
      expect(outside, outside.output).toMatchObject({ code: 0 })
      const fork = everyday.runInFork(project, folder, user)
      expect(fork.code, fork.output).toBe(0)
      expect(fork.files).toEqual(outside.files)
      expect(fork.after).toBe(outside.after)
      expect(fork.isBaseSame).toBe(true)
      expect(fork.applied, fork.applied.output).toMatchObject({ code: 0 })
      expect(appliedOf(fork.applied.files)).toEqual(appliedOf(outside.files))
      everyday.time(project, user, outside.ms, fork.ms)
    })
  }
})

import { describe, expect } from 'vitest'
import { forEachProject } from './everyday/suite.ts'

// docs/guides/forks.md: a day's work ends in a fork as it ends in the directory, nothing is changed there meanwhile, and `apply`
// brings what was made.

/** Not applied, and listed in "Limits": the permissions of directories, and what is no file or link. */
const appliedOf = (files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(files)
      .filter(([, what]) => what !== 'special')
      .map(([path, what]) => (path.endsWith('/') ? [path, 'directory'] : [path, what])),
  )

describe.skipIf(process.platform !== 'linux')('a fork', () => {
  forEachProject(
    'as',
    ({ everyday, project, folder, user, outside }) => {
      const fork = everyday.runInFork(project, folder, user)
      expect(fork.code, fork.output).toBe(0)
      expect(fork.files).toEqual(outside.files)
      expect(fork.after).toBe(outside.after)
      expect(fork.isBaseSame).toBe(true)
      expect(fork.applied, fork.applied.output).toMatchObject({ code: 0 })
      expect(appliedOf(fork.applied.files)).toEqual(appliedOf(outside.files))
      everyday.time(project, user, outside.ms, fork.ms)
    },
    ({ notInForks }) => notInForks,
  )
})

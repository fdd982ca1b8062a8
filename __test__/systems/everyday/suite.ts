import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Project } from './project.ts'
import { PROJECTS } from './projects.ts'
import { Everyday, missingProgram, type Run, users } from './run-project.ts'

/** A project that has been run outside, where it ended with 0. */
export interface Outside {
  everyday: Everyday
  project: Project
  folder: string
  user: string
  outside: Run
}

/** A test for each project and user. `skips` says why a project is left out. */
export function forEachProject(
  title: string,
  check: (ran: Outside) => void,
  skips: (project: Project) => string | undefined = () => undefined,
): void {
  let everyday: Everyday
  beforeAll(async () => {
    everyday = await Everyday.make()
  }, 300_000)
  afterAll(() => everyday.remove())

  describe.for(users())(`${title} %s`, (user) => {
    for (const project of PROJECTS) {
      const missing = project.notAsRoot === true && user === 'root' ? 'other user' : missingProgram(project, user)
      const reason = missing === undefined ? skips(project) : `no ${missing}`
      test.skipIf(reason !== undefined)(`${project.name}${reason === undefined ? '' : ` (${reason})`}`, { timeout: 900_000 }, () => {
        const folder = everyday.prepare(project)
        const outside = everyday.run(project, folder, user, 'outside')
        expect(outside, outside.output).toMatchObject({ code: 0 })
        check({ everyday, project, folder, user, outside })
      })
    }
  })
}

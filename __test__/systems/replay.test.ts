/** Commits of real projects, made once more through the tools that change text: each is what git has, or refused. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTools } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { fetchProjects } from '../../scripts/replay/fetch.mjs'
import { projects } from '../../scripts/replay/projects.mjs'
import { replay, table } from '../../scripts/replay/replay.mjs'

const directory =
  process.env['TOOLWRIGHT_REPLAY_REPOSITORIES'] ?? join(fileURLToPath(new URL('../..', import.meta.url)), 'target', 'replay')
const seed = Number(process.env['TOOLWRIGHT_SEED'] ?? 1)

describe('replays', () => {
  test.each(projects)('of $name: $why', { timeout: 1_200_000 }, async (project) => {
    const [fetched] = fetchProjects(directory, [project])
    if (fetched === undefined) return console.warn(`skipped: ${project.url} cannot be reached`)
    const tallies = await replay({ createTools, createSession }, fetched.repository, { commits: 100, seed })
    console.info(`${project.name}\n${table(tallies)}`)
    expect([...tallies].flatMap(([way, { wrong }]) => wrong.map((what) => `${way}: ${what}`))).toEqual([])
    // Nothing is refused that says what it means.
    for (const way of ['apply_patch, diff', 'edit, as git writes it', 'edit, in a fence, with prose', 'edit of a session']) {
      const { right = 0, refused = 0 } = tallies.get(way) ?? {}
      expect(refused).toBeLessThanOrEqual((right + refused) * 0.1)
    }
  })
})

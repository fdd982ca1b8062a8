// Fetches the histories that are replayed, once.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const MAX_MS = 300_000

/**
 * The repositories of some projects below `directory`; those that are missing are cloned. What cannot be reached is left out, with a
 * line on stderr.
 *
 * @param {string} directory @param {readonly import('./projects.mjs').Project[]} projects
 * @returns {{ name: string, repository: string }[]}
 */
export function fetchProjects(directory, projects) {
  mkdirSync(directory, { recursive: true })
  return projects.flatMap(({ name, url }) => {
    const repository = join(directory, `${name}.git`)
    if (!existsSync(repository)) {
      try {
        execFileSync('git', ['clone', '--quiet', '--bare', '--single-branch', url, repository], {
          stdio: ['ignore', 'ignore', 'pipe'],
          timeout: MAX_MS,
        })
      } catch (error) {
        console.error(
          `replay  ${name} cannot be fetched: ${String(error.stderr ?? error)
            .trim()
            .split('\n')
            .at(-1)}`,
        )
        return []
      }
    }
    return [{ name, repository }]
  })
}

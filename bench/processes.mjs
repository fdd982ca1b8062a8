import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../scripts/setup/run-command.mjs'
import { binDir } from '../scripts/setup/paths.mjs'

const project = fileURLToPath(new URL('..', import.meta.url))
const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))
/** What a process has besides its ballast, and what the rest of the machine needs. */
const SPARE_MB = 1_000

/**
 * Does some workloads in a process of their own: what one of them leaves behind in memory is no
 * matter of another group's, and each group has the size it asks for.
 * @param {{ runtime: 'node' | 'bun', residentMb: number, without?: string, ids: string[] }} group
 * @param {object} job the settings of every group
 * @returns {Promise<{ residentMb: number, endMb: number, peers: Record<string, string>, results: Record<string, object> }>}
 */
export async function runGroup({ runtime, residentMb, without, ids }, job) {
  if (os.freemem() / 1e6 < residentMb + SPARE_MB) {
    return refused(ids, `there is not enough memory for a process of ${residentMb} MB`)
  }
  mkdirSync(job.cache, { recursive: true })
  // Beside the corpora: a temporary folder of the system may lie in memory.
  const folder = mkdtempSync(join(job.cache, 'work-'))
  try {
    const jobFile = join(folder, 'job.json')
    const resultFile = join(folder, 'result.json')
    writeFileSync(jobFile, JSON.stringify({ ...job, ids, residentMb, folder, resultFile }))
    const [program, ...args] = [...(await denying(without)), join(binDir, runtime), worker, jobFile]
    const { code, signal } = await run(program, args, {
      // The original warns on stdout.
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if (code !== 0) return refused(ids, `its process ended with ${signal ?? `exit code ${code}`}`)
    return JSON.parse(readFileSync(resultFile, 'utf8'))
  } catch (error) {
    return refused(ids, error.message)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/**
 * What starts a program in which some system calls fail, so that a layer is missing.
 * @param {string | undefined} calls
 */
async function denying(calls) {
  if (calls === undefined) return []
  const built = await run('cargo', ['build', '--quiet', '--release', '-p', 'toolwright-attacks', '--bin', 'deny'], {
    cwd: project,
  })
  if (built.code !== 0) throw new Error('the program that denies system calls could not be built')
  return [join(project, 'target', 'release', 'deny'), calls, '--']
}

const refused = (ids, problem) => ({
  residentMb: 0,
  endMb: 0,
  peers: {},
  results: Object.fromEntries(ids.map((id) => [id, { samples: {}, problems: { ours: problem } }])),
})

// One process of a benchmark: does some workloads and writes down what it measured. Started by
// processes.mjs with the file that says what to do.
import { readFileSync, writeFileSync } from 'node:fs'
import { growTo } from './ballast.mjs'
import { corpora, corpusFolder } from './corpora.mjs'
import { chooseFit, takeTurns } from './rounds.mjs'
import { loadContenders } from './toolsets.mjs'
import { workloads } from './workloads.mjs'

/**
 * What a worker is asked for.
 * @typedef {object} Job
 * @property {string[]} ids
 * @property {number} residentMb
 * @property {'quick' | 'full'} extent
 * @property {Record<string, { entry?: string, problem?: string }>} installed
 * @property {string} cache
 * @property {Record<'index' | 'contract' | 'cli', string>} [published] addresses of entry points of the published package
 * @property {string} folder for files of its own
 * @property {string} resultFile
 */

/** @type {Job} */
const job = JSON.parse(readFileSync(process.argv[2], 'utf8'))
// Tools print to stdout; what is said here goes to stderr.
const say = (text) => process.stderr.write(`bench  ${text}\n`)

const contenders = await loadContenders(job.installed)
const stage = {
  ...contenders,
  installed: job.installed,
  published: job.published,
  extent: job.extent,
  folder: job.folder,
  corpus: (size) => corpusFolder(corpora[size][job.extent], job.cache, say),
}
const residentMb = growTo(job.residentMb)
const results = {}
for (const id of job.ids) {
  const workload = workloads.find((each) => each.id === id)
  const start = performance.now()
  try {
    results[id] = await measure(workload)
    say(`${id} … ${((performance.now() - start) / 1000).toFixed(1)} s`)
  } catch (error) {
    results[id] = { samples: {}, problems: { ours: error.message } }
    say(`${id} … FAILED: ${error.stack}`)
  }
}
writeFileSync(job.resultFile, JSON.stringify({ residentMb, endMb: growTo(0), peers: contenders.problems, results }))
process.exit(0)

async function measure({ contenders: make, effort }) {
  const { fit, problems } = await chooseFit(await make(stage))
  return { samples: await takeTurns(fit, effort[job.extent]), problems }
}

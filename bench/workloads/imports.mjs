import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * A program that imports zod, then a package, and prints how long the second took. Nothing but the
 * import is in the number: a process's start differs more from one to the next.
 */
const program = (zod, entry) => `
await import(${JSON.stringify(zod)})
const start = performance.now()
await import(${JSON.stringify(entry)})
console.log(performance.now() - start)
`

/** The workload that times itself: each sample is a process. */
function importing({ folder, installed }) {
  const contenders = {}
  const add = (name, zod, entry) => {
    const file = join(folder, `import-${name}.mjs`)
    writeFileSync(file, program(zod, entry))
    contenders[name] = {
      run: async () => {
        const { stdout } = await run(process.execPath, [file])
        const ms = Number(stdout.trim().split('\n').at(-1))
        if (!(ms >= 0)) throw new Error(`the program printed ${stdout}`)
        return ms
      },
    }
  }
  add('ours', import.meta.resolve('zod'), import.meta.resolve('toolwright'))
  const original = installed.smithers?.entry
  if (original) {
    const zod = new URL('node_modules/zod/index.js', pathToFileURL(original))
    add('smithers', zod.href, pathToFileURL(original).href)
  }
  return contenders
}

export const workloads = [
  {
    id: 'import',
    effort: {
      quick: { rounds: 8, batch: 1, budgetMs: 4_000, selfTimed: true },
      full: { rounds: 40, batch: 1, budgetMs: 20_000, selfTimed: true },
    },
    contenders: importing,
  },
]

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
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
function importing({ folder, installed, published }) {
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
  add('ours', import.meta.resolve('zod'), published.index)
  const original = installed.smithers?.entry
  if (original) {
    const zod = new URL('node_modules/zod/index.js', pathToFileURL(original))
    add('smithers', zod.href, pathToFileURL(original).href)
  }
  return contenders
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
}
/** How long the first server runs, so that it has stored its compiled code. */
const FIRST_SERVER_MS = 3_500

/** The time until a program has written for the first time. */
async function firstOutput(args, input = '') {
  const start = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.write(input)
  await once(child.stdout, 'data')
  const ms = performance.now() - start
  child.stdin.end()
  await once(child, 'close')
  return ms
}

/** What the start of the MCP server takes beyond the start of Node: until the answer to the first message. */
async function serverStart({ folder, published }) {
  const server = [fileURLToPath(published.cli), 'mcp', '--root', folder]
  const first = spawn(process.execPath, server, { stdio: ['pipe', 'ignore', 'inherit'] })
  await pause(FIRST_SERVER_MS)
  first.stdin.end()
  await once(first, 'close')
  const run = async () => {
    const bare = await firstOutput(['-e', 'process.stdout.write("started")'])
    return (await firstOutput(server, `${JSON.stringify(INITIALIZE)}\n`)) - bare
  }
  return { ours: { run } }
}

export const workloads = [
  {
    id: 'mcp-start',
    isPublished: true,
    effort: {
      quick: { rounds: 5, batch: 1, budgetMs: 4_000, selfTimed: true },
      full: { rounds: 20, batch: 1, budgetMs: 15_000, selfTimed: true },
    },
    contenders: serverStart,
  },
  {
    id: 'import',
    isPublished: true,
    effort: {
      quick: { rounds: 8, batch: 1, budgetMs: 4_000, selfTimed: true },
      full: { rounds: 40, batch: 1, budgetMs: 20_000, selfTimed: true },
    },
    contenders: importing,
  },
]

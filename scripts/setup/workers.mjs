import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

/** The programs of threads: the name in `worker-texts.js`, and the module without its suffix. */
export const WORKERS = {
  markdownWorker: 'contract/web/markdown-worker',
  checkWorker: 'contract/call/argument-checks/check-worker',
}

/** One module as a script that needs nothing beside it. */
async function bundled(module) {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({ input: join(root, 'ts', `${module}.ts`), platform: 'node' })
  const { output } = await bundle.generate({ format: 'cjs', minify: true })
  await bundle.close()
  return output[0].code
}

/**
 * Writes the programs of threads as texts, into `core/worker-texts.js` of `dist`. A bundler that takes the package in
 * leaves files behind that a thread would start from; a text goes along.
 */
export async function bundleWorkers(dist) {
  const texts = await Promise.all(
    Object.entries(WORKERS).map(async ([name, module]) => `export const ${name} = ${JSON.stringify(await bundled(module))}\n`),
  )
  mkdirSync(join(dist, 'core'), { recursive: true })
  writeFileSync(join(dist, 'core', 'worker-texts.js'), texts.join(''))
  for (const module of Object.values(WORKERS)) for (const suffix of ['.js', '.d.ts']) rmSync(join(dist, module + suffix), { force: true })
}

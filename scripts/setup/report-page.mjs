import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

/** Bundles the page of `toolwright report` into one script and one style, so that the page needs nothing else. */
export async function buildReportPage(dist) {
  const { rolldown } = await import('rolldown')
  const page = join(root, 'ts', 'report', 'page')
  const bundle = await rolldown({ input: join(page, 'main.tsx'), platform: 'browser', tsconfig: join(page, 'tsconfig.json') })
  await bundle.write({ file: join(dist, 'report', 'page', 'page.js'), format: 'iife', minify: true })
  await bundle.close()
  cpSync(join(page, 'page.css'), join(dist, 'report', 'page', 'page.css'))
}

import { join } from 'node:path'

/**
 * Bundles the program of `toolwright mcp` into a few files: a client waits for the start of its server, and most of that time is
 * spent on finding and linking modules. The packages of others stay where they are.
 */
export async function bundleMcpProgram(dist) {
  const { rolldown } = await import('rolldown')
  const folder = join(dist, 'cli')
  // The command itself looks at the class of an error of usage.
  const shared = join(folder, 'program.js')
  const isOutside = (id, importer) => (/^[./]/u.test(id) ? join(importer ?? folder, '..', id) === shared : true)
  const bundle = await rolldown({
    input: join(folder, 'mcp.js'),
    platform: 'node',
    external: (id, importer) => id !== join(folder, 'mcp.js') && isOutside(id, importer),
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'mcp-[name].js' })
  await bundle.close()
}

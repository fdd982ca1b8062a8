import { join } from 'node:path'

/** Modules that hold functions only and take long to load. */
const LOADED_AT_THE_FIRST_CALL = new Set(['node:crypto', 'node:fs/promises', 'node:stream/promises'])

/**
 * Node's own modules as properties of an object. An `import` of `node:fs` or `node:crypto` reads every export for a facade, and
 * with them it loads streams, readline and cryptography that the server does not need at its start.
 */
const builtins = {
  name: 'builtin-modules',
  resolveId: (id) => (id.startsWith('node:') ? { id: `\0${id}` } : undefined),
  load(id) {
    if (!id.startsWith('\0node:')) return undefined
    const name = id.slice(1)
    const names = Object.keys(process.getBuiltinModule(name)).filter((key) => /^[a-z_$][\w$]*$/iu.test(key) && key !== 'default')
    const read = (key) => `process.getBuiltinModule('${name}').${key}`
    if (LOADED_AT_THE_FIRST_CALL.has(name)) return names.map((key) => `export const ${key} = (...args) => ${read(key)}(...args)`).join('\n')
    const exports = names.map((key) => `export const ${key} = builtin.${key}`)
    return [`const builtin = process.getBuiltinModule('${name}')`, 'export default builtin', ...exports].join('\n')
  },
}

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
    external: (id, importer) => id !== join(folder, 'mcp.js') && !/^\0?node:/u.test(id) && isOutside(id, importer),
    plugins: [builtins],
    // Leaves out the reads of exports that nothing uses.
    treeshake: { propertyReadSideEffects: false },
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'mcp-[name].js' })
  await bundle.close()
}

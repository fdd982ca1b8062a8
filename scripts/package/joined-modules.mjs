// What is published of `dist/`: the modules of each entry point joined into a few files, without comments and with short local
// names, and the declarations joined in the same way. A checkout and its tests keep one file for each module; the packed package is
// what `npm run test:package`, `npm run test:platforms` and `npm run release:rehearse` install.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../setup/paths.mjs'
import { builtinModules } from './builtin-modules.mjs'
import { capture } from './npm.mjs'
import { importTool, installedTools } from './tools.mjs'

/** The entry points of package.json, without `dist/` and the suffix. */
function entryPoints() {
  const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const name = (path) => /^\.\/dist\/([\w-]+)\.js$/.exec(path)?.[1]
  const modules = Object.values(exports).flatMap((entry) => name(entry.default) ?? [])
  return { modules, programs: Object.values(bin).map(name) }
}

/** One folder below `dist/`, as the modules are: some find the package's files from where they are. */
const PARTS = 'parts'
/**
 * An optional package is imported by a name in a constant, behind comments, so that bundlers of users leave it alone. Minifying
 * would write the name in its place, and bundlers would look for the package; so they are calls of a function until that is done.
 */
const COMMENTS = '/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */'
const LEFT_ALONE = '__leftAlone'
const importsThatBundlersLeaveAlone = {
  name: 'imports that bundlers leave alone',
  transform: (code) => code.replaceAll(/import\(\s*\/\* webpackIgnore: true \*\/[^)]*?(\w+)\)/g, `${LEFT_ALONE}($1)`),
}
/** Joined to a text when the program runs: a bundler follows a text that it can read. */
const withImports = (code) => code.replaceAll(/__leftAlone\((`[^`]*`|"[^"]*"|[\w$]+)\)/g, `import(${COMMENTS}[$1].join())`)
const isPackage = (id) => !/^[./]/.test(id)
const inputsOf = (folder, names, suffix) => Object.fromEntries(names.map((name) => [name, join(folder, `${name}${suffix}`)]))

const OUTSIDE_THE_COMMAND = /^(?!.*\/(?:cli|report)\/)/
/**
 * What entry points share would be a hundred files, one for each set of entry points that share something. To read a file takes
 * longer than to compile what an entry point does not use of it, so what many share is in two.
 */
const GROUPS = [
  // The module that finds the addon tells by its own name whether somebody has bundled it. It is alone, for a bundler that
  // splits a program keeps it in the entry then, beside which the addon lies.
  { name: 'core-addon', test: /\/core\/addon\.js$/, priority: 2 },
  // What nearly everything is made of, which is all that `toolwright/addon` and the start of the command need.
  { name: 'core', test: OUTSIDE_THE_COMMAND, minShareCount: 12, priority: 1 },
  { name: 'shared', test: OUTSIDE_THE_COMMAND, minShareCount: 4 },
]

async function joinPrograms(compiled, dist, { modules, programs }) {
  const { rolldown } = await importTool(installedTools('package/tools'), 'rolldown')
  const bundle = await rolldown({
    input: inputsOf(compiled, [...modules, ...programs], '.js'),
    platform: 'node',
    external: isPackage,
    preserveEntrySignatures: 'allow-extension',
    plugins: [importsThatBundlersLeaveAlone, await builtinModules()],
  })
  const { output } = await bundle.generate({
    format: 'esm',
    entryFileNames: `${PARTS}/[name].js`,
    chunkFileNames: ({ name }) => (name === 'core-addon' ? 'core/addon.js' : `${PARTS}/part-[name].js`),
    codeSplitting: { includeDependenciesRecursively: false, groups: GROUPS },
    // A class says its name in messages.
    minify: {
      compress: true,
      mangle: { toplevel: true, keepNames: { function: false, class: true } },
      codegen: { removeWhitespace: true },
    },
  })
  await bundle.close()
  for (const { fileName, code } of output) {
    mkdirSync(join(dist, fileName, '..'), { recursive: true })
    writeFileSync(join(dist, fileName), withImports(code))
  }
  for (const name of modules) {
    // By name: a part may export more, for the other parts.
    const names = Object.keys(await import(pathToFileURL(join(root, 'dist', `${name}.js`)).href))
    writeFileSync(join(dist, `${name}.js`), `export { ${names.join(', ')} } from './${PARTS}/${name}.js'\n`)
  }
  for (const name of programs) writeFileSync(join(dist, `${name}.js`), `#!/usr/bin/env node\nimport './${PARTS}/${name}.js'\n`)
}

async function joinTypes(compiled, dist, { modules }) {
  const tools = installedTools('package/tools')
  const [{ rolldown }, { dts }] = await Promise.all([importTool(tools, 'rolldown'), importTool(tools, 'rolldown-plugin-dts')])
  const input = inputsOf(compiled, modules, '.d.ts')
  const bundle = await rolldown({ input, external: isPackage, plugins: [dts({ dtsOnly: true, generator: 'oxc', tsconfig: false })] })
  await bundle.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].ts',
    chunkFileNames: `${PARTS}/[name].ts`,
    // What entry points share is in one file: nothing waits for a declaration, and twenty files named each other's at length.
    codeSplitting: { groups: [{ name: 'types.d', minShareCount: 2 }] },
    minifyInternalExports: false,
  })
  await bundle.close()
}

/** The loader of the addon, which the napi CLI writes, without its comments and spaces. */
export async function shortLoader(text) {
  const { minifySync } = await importTool(installedTools('package/tools'), 'rolldown/utils')
  const { code, errors } = minifySync('index.js', text, {
    module: true,
    compress: false,
    mangle: false,
    codegen: { removeWhitespace: true },
  })
  if (errors.length > 0) throw new Error(errors[0].message)
  return code
}

/** Writes the `dist` of the published package into `dist`. `npm run build` has made the one of the checkout. */
export async function writeJoinedModules(dist) {
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-compiled-'))
  const compiled = join(folder, 'dist')
  try {
    capture('node', [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', root, '--outDir', compiled], { cwd: root })
    // The declarations of the addon, which those of the modules name.
    cpSync(join(root, 'index.d.ts'), join(folder, 'index.d.ts'))
    cpSync(join(root, 'dist', 'core', 'worker-texts.js'), join(compiled, 'core', 'worker-texts.js'))
    rmSync(dist, { recursive: true, force: true })
    mkdirSync(join(dist, PARTS), { recursive: true })
    const entries = entryPoints()
    await joinPrograms(compiled, dist, entries)
    await joinTypes(compiled, dist, entries)
    cpSync(join(root, 'dist', 'report', 'page'), join(dist, 'report', 'page'), { recursive: true })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

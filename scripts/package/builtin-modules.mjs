// How the published modules name what is built into the runtime. `import … from 'node:fs'` loads a module and then reads each of its
// exports, and some are getters that load more: half of what is imported is never used. `process.getBuiltinModule` gives the object
// that the runtime has anyway.
import { importTool, installedTools } from './tools.mjs'

/** Modules that take more than a millisecond to load. What is used of them is functions, so each loads its module when it is called. */
const LOADED_LATER = new Set(['node:crypto', 'node:fs/promises', 'node:net', 'node:worker_threads'])

const nameOf = ({ type, name, value }) => (type === 'Identifier' ? name : value)

/** Classes are no functions that can be called, and a value is needed at once. */
const isFunction = (module, name) => /^[a-z]/.test(name) && typeof process.getBuiltinModule(module)[name] === 'function'

function declarations(module, specifiers) {
  const builtin = `process.getBuiltinModule(${JSON.stringify(module)})`
  const named = specifiers.filter(({ type }) => type === 'ImportSpecifier').map(({ imported, local }) => [nameOf(imported), local.name])
  const whole = specifiers.filter(({ type }) => type !== 'ImportSpecifier').map(({ local }) => `const ${local.name} = ${builtin};`)
  const later = LOADED_LATER.has(module) ? named.filter(([name]) => isFunction(module, name)) : []
  const atOnce = named.filter((one) => !later.includes(one)).map(([name, local]) => (name === local ? name : `${name}: ${local}`))
  return [
    ...whole,
    ...(atOnce.length > 0 ? [`const { ${atOnce.join(', ')} } = ${builtin};`] : []),
    // Declared as functions, which are there before the first statement of any module.
    ...later.map(([name, local]) => `function ${local}(...args) { return ${builtin}.${name}(...args) }`),
  ].join('\n')
}

/** A plug-in of rolldown. */
export async function builtinModules() {
  const { parseSync } = await importTool(installedTools('package/tools'), 'rolldown/utils')
  return {
    name: 'built-in modules',
    renderChunk(code) {
      const imports = parseSync('chunk.js', code).program.body.filter(
        ({ type, source, specifiers }) => type === 'ImportDeclaration' && source.value.startsWith('node:') && specifiers.length > 0,
      )
      return imports.reduceRight(
        (text, { start, end, source, specifiers }) => text.slice(0, start) + declarations(source.value, specifiers) + text.slice(end),
        code,
      )
    },
  }
}

// Circles of modules in Rust. Files of a circle can only be understood together, so the list below may only shrink.

/** A module and what it declares below itself are one thing, so that a parent may use its children. */
const isBelow = (module, parent) => module.startsWith(`${parent}::`)

/** The module of each file, for every crate: `exec` with `crate::confined::git` has `crates/exec/src/confined/git.rs`. */
function modulesOf(files) {
  const crates = new Map()
  for (const file of files) {
    const found = /^(crates\/[^/]+)\/src\/(.+)\.rs$/.exec(file)
    if (found === null || /(?:^|\/)tests?(?:\/|$)|_tests?$/.test(found[2])) continue
    const path = found[2].replace(/\/mod$/, '').split('/')
    const isRoot = path.length === 1 && ['lib', 'main'].includes(path[0])
    const modules = crates.get(found[1]) ?? new Map()
    modules.set(['crate', ...(isRoot ? [] : path)].join('::'), file)
    crates.set(found[1], modules)
  }
  return crates
}

/** The paths of `use` declarations, with their braces taken apart. */
function* flat(tree, prefix = '') {
  const open = tree.indexOf('{')
  if (open === -1) {
    yield `${prefix}${tree.trim().split(/\s+as\s+/)[0]}`
    return
  }
  const inner = tree.slice(open + 1, tree.lastIndexOf('}'))
  let depth = 0
  let start = 0
  for (let at = 0; at <= inner.length; at += 1) {
    if (inner[at] === '{') depth += 1
    else if (inner[at] === '}') depth -= 1
    else if ((inner[at] === ',' && depth === 0) || at === inner.length) {
      const part = inner.slice(start, at).trim()
      if (part !== '') yield* flat(part, `${prefix}${tree.slice(0, open).trim()}`)
      start = at + 1
    }
  }
}

/** What a file names of its own crate. Comments, and the tests at its end, do not count. */
function* pathsIn(source) {
  const code = source
    .replace(/\n#\[cfg\((?:all\()?test[\s\S]*$/, '')
    .replaceAll(/\/\/.*$/gm, '')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const uses = /\buse\s+((?:crate|super|self)::[^;]+);/g
  for (const [, tree] of code.matchAll(uses)) yield* flat(tree)
  for (const [path] of code.replaceAll(uses, '').matchAll(/\b(?:crate|super)(?:::\w+)+/g)) yield path
}

/** The module that a path of `module` leads to: the longest one of its crate. */
function resolve(path, module, modules) {
  const names = path.split('::')
  let base = module.split('::')
  if (names[0] === 'crate') base = ['crate', ...names.slice(1)]
  else {
    while (names[0] === 'super' || names[0] === 'self') if (names.shift() === 'super') base.pop()
    base = [...base, ...names]
  }
  while (base.length > 1 && !modules.has(base.join('::'))) base.pop()
  // What the root of a crate hands on is used from everywhere.
  return base.length > 1 ? base.join('::') : undefined
}

/** The strongly connected parts of a graph that have more than one node (Tarjan). */
function circlesOf(graph) {
  const found = []
  const state = new Map()
  const stack = []
  const visit = (node) => {
    const own = { index: state.size, low: state.size, isOpen: true }
    state.set(node, own)
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      const known = state.get(next)
      if (known === undefined) own.low = Math.min(own.low, visit(next).low)
      else if (known.isOpen) own.low = Math.min(own.low, known.index)
    }
    if (own.low === own.index) {
      const part = stack.splice(stack.indexOf(node))
      for (const member of part) state.get(member).isOpen = false
      if (part.length > 1) found.push(part.sort())
    }
    return own
  }
  for (const node of graph.keys()) if (!state.has(node)) visit(node)
  return found
}

/** Every circle, as the modules that are in it. */
function circlesOfModules(files, read) {
  const circles = []
  for (const [crate, modules] of modulesOf(files)) {
    const graph = new Map()
    for (const [module, file] of modules) {
      const targets = [...pathsIn(read(file))].map((path) => resolve(path, module, modules))
      graph.set(module, new Set(targets.filter((it) => it !== undefined && it !== module && !isBelow(it, module))))
    }
    for (const circle of circlesOf(graph))
      circles.push(`${crate.slice('crates/'.length)}: ${circle.map((it) => it.slice('crate::'.length)).join(', ')}`)
  }
  return circles.sort()
}

/** The circles that are not in a list, and the lines of the list that no longer hold. */
export function* unknownCircles(files, read, known) {
  const found = new Set(circlesOfModules(files, read))
  for (const circle of found) if (!known.has(circle)) yield `${circle}: a circle of modules`
  for (const circle of known) if (!found.has(circle)) yield `${circle}: no circle any more; take it out of scripts/checks/known-circles.mjs`
}

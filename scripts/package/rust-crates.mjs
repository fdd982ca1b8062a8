// Which crates are linked into the addon, and under which licences.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../setup/paths.mjs'
import { capture } from './npm.mjs'

/** Crates that run while something is compiled are not in what is compiled. */
const isMacro = ({ targets }) => targets.some(({ kind }) => kind.includes('proc-macro'))

/** The packages of other people that the addon for a target links, by their ids. */
function linkedFor(target, { packages, resolve }) {
  const byId = new Map(packages.map((item) => [item.id, item]))
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]))
  const seen = new Set()
  const visit = (id) => {
    if (seen.has(id) || isMacro(byId.get(id))) return
    seen.add(id)
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (kinds.some(({ kind }) => kind === null)) visit(pkg)
    }
  }
  visit(resolve.root)
  return [...seen].map((id) => byId.get(id)).filter(({ source }) => source !== null)
}

/** The licences that are chosen of an expression: MIT where it is offered, else the first; all that are joined by AND. */
function chosenLicences(expression) {
  return expression.split(/ AND /).map((part) => {
    const offered = part
      .replaceAll(/[()]/g, '')
      .split(/ OR |\//)
      .map((name) => name.trim())
    return offered.includes('MIT') ? 'MIT' : offered[0]
  })
}

/** Where a crate keeps the text of a licence. */
const fileOf = {
  MIT: [/^license-mit/i, /^licen[sc]e(?:\.\w+)?$/i],
  'BSD-3-Clause': [/^license-(?:bsd|whatwg)/i, /^licen[sc]e(?:\.\w+)?$/i],
  'Unicode-3.0': [/^license-unicode/i, /^licen[sc]e(?:\.\w+)?$/i],
}

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`

/** The text of a licence as the crate has it; of MIT the usual one, with the authors, where it has none. */
function textOf(crate, licence) {
  const folder = dirname(crate.manifest_path)
  const names = readdirSync(folder).toSorted()
  for (const pattern of fileOf[licence] ?? [/^licen[sc]e(?:\.\w+)?$/i]) {
    const name = names.find((file) => pattern.test(file))
    if (name !== undefined) return readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n')
  }
  if (licence !== 'MIT') throw new Error(`${crate.name} ${crate.version} has no text of ${licence} in ${folder}`)
  const authors = crate.authors.length === 0 ? `the authors of ${crate.name}` : crate.authors.join(', ')
  return `Copyright (c) ${authors.replaceAll(/ <[^>]*>/g, '')}\n\n${MIT}\n`
}

/** Every crate that is linked on one of the targets, with the texts of its licences. */
export function linkedCrates(targets) {
  const crates = new Map()
  for (const target of targets) {
    const args = ['metadata', '--locked', '--format-version', '1', '--filter-platform', target]
    const metadata = JSON.parse(capture('cargo', args, { cwd: root, env: process.env }))
    for (const crate of linkedFor(target, metadata)) crates.set(`${crate.name} ${crate.version}`, crate)
  }
  return [...crates.keys()].toSorted().map((title) => {
    const crate = crates.get(title)
    const licences = chosenLicences(crate.license)
    return { title, expression: crate.license, texts: licences.map((licence) => ({ licence, text: textOf(crate, licence) })) }
  })
}

// THIRD-PARTY-NOTICES.md: what other people wrote and the packages contain, with their copyright notices.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/paths.mjs'
import { linkedCrates } from './rust-crates.mjs'

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))

/** A text without its title, as the lines about copyright and the rest. */
function partsOf(text) {
  const paragraphs = text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
  const isTitle = (paragraph) => /^(?:the )?(?:MIT|ISC|Zlib)(?: License)?(?: \(\w+\))?:?$/i.test(paragraph)
  const isCopyright = (paragraph) => /^(?:copyright|©|\(c\))/i.test(paragraph) && paragraph.split('\n').every((line) => line.length < 160)
  const rest = paragraphs.filter((paragraph) => !isTitle(paragraph))
  const notices = rest.filter(isCopyright).flatMap((paragraph) => paragraph.split('\n').map((line) => line.trim()))
  return { notices, body: rest.filter((paragraph) => !isCopyright(paragraph)).join('\n\n') }
}

/** Crates with the same licence text stand together, each with its own copyright notice. */
function grouped(crates) {
  const groups = new Map()
  for (const { title, texts } of crates) {
    for (const { licence, text } of texts) {
      const { notices, body } = partsOf(text)
      const key = `${licence} ${body.replaceAll(/\s+/g, ' ')}`
      if (!groups.has(key)) groups.set(key, { licence, body, members: [] })
      groups.get(key).members.push({ title, notices })
    }
  }
  return [...groups.values()].toSorted((a, b) => b.members.length - a.members.length)
}

const crateSection = ({ licence, body, members }) => `### ${licence}

${members.map(({ title, notices }) => `- ${title}${notices.length === 0 ? '' : `: ${notices.join(' ')}`}`).join('\n')}

\`\`\`text
${body}
\`\`\`
`

/** npm installs these beside the package; nothing of them is in it. */
function npmRows() {
  const installed = (name) => readJson(join(root, 'node_modules', name, 'package.json'))
  const seen = new Set()
  const visit = (name) => {
    if (seen.has(name)) return
    seen.add(name)
    Object.keys(installed(name).dependencies ?? {}).forEach(visit)
  }
  Object.keys(readJson(join(root, 'package.json')).dependencies).forEach(visit)
  return [...seen].toSorted().map((name) => `| ${name} | ${installed(name).license} |`)
}

/** What the build bundles into `dist`: the page of `toolwright report`, and the programs of threads. */
export const BUNDLED = ['@cfworker/json-schema', '@mdream/js', 'diff', 'preact']

function bundledSection(name) {
  const folder = join(root, 'node_modules', name)
  const { version, license, author } = readJson(join(folder, 'package.json'))
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.md|\.txt)?$/i.test(entry))
  const text =
    file === undefined
      ? `Copyright (c) ${author}\n\n${readFileSync(join(root, 'scripts', 'package', 'licenses', `${license}.txt`), 'utf8')}`
      : readFileSync(join(folder, file), 'utf8')
  return `### ${name} ${version} (${license})\n\n\`\`\`text\n${text.trim()}\n\`\`\`\n`
}

/** The text of THIRD-PARTY-NOTICES.md. */
export function thirdPartyNotices(targets) {
  const crates = linkedCrates(targets)
  return `# Third-party notices

Written by \`node scripts/check-metadata.mjs --write\` from Cargo.lock and package.json.

The platform packages (\`toolwright-linux-x64-gnu\` and the others) contain one file, the addon. It links the Rust crates
below and the Rust standard library, and carries a small program for the sandbox, which is linked in the same way. The
package \`toolwright\` contains parts of some npm packages, in \`dist\`; npm installs its dependencies beside it.

## npm packages, installed beside it

| package | licence |
| --- | --- |
${npmRows().join('\n')}

## npm packages, bundled into it

${BUNDLED.map(bundledSection).join('\n')}
## Rust crates, in the addon

Where a crate offers a choice, it is used under the licence under which it is listed.

${grouped(crates).map(crateSection).join('\n')}
### The Rust standard library

Copyright (c) The Rust Project Contributors. Used under the MIT licence, whose text is above.

### SQLite

SQLite is in the public domain. The crate libsqlite3-sys brings its source.

### The C library, in the sandbox program

The sandbox program of the glibc packages is linked statically with the GNU C Library (Copyright (C) Free Software
Foundation, Inc., and others), under the GNU Lesser General Public License, version 2.1 or later, whose text follows. Its
source is at <https://sourceware.org/glibc/>. The source of the sandbox program and all that builds it is the source of
this package, so that it can be linked again with another version of the library.

In the musl packages it is musl, Copyright © 2005-2020 Rich Felker, et al., used under the MIT licence, whose text is above.

\`\`\`text
${readFileSync(join(root, 'scripts', 'package', 'licenses', 'LGPL-2.1.txt'), 'utf8').trimEnd()}
\`\`\`
`
}

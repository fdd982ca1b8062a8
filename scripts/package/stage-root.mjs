// The root package as a folder to pack: `stage-root.mjs FOLDER`. The release publishes what is packed from it, and every check of the package
// installs what is packed from it.
//
// It differs from the checkout: the modules are joined, links lead to the repository where the package has not the file, and the
// manifest has nothing that only a checkout needs.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../setup/paths.mjs'
import { shortLoader, writeJoinedModules } from './joined-modules.mjs'
import { capture } from './npm.mjs'
import { pack } from './pack.mjs'
import { NOTICES } from './platform-packages.mjs'
import { writePublishedLinks } from './published-links.mjs'

const OF_A_CHECKOUT = ['devDependencies', 'scripts', 'allowScripts', 'napi']

function publishedManifest(manifest, optionalDependencies) {
  const kept = Object.entries(manifest).filter(([field]) => !OF_A_CHECKOUT.includes(field))
  return { ...Object.fromEntries(kept), optionalDependencies: optionalDependencies ?? manifest.optionalDependencies }
}

/** The platform packages contain the crates, and their notices. */
const rootNotices = (text) =>
  `${text.slice(0, text.indexOf('## Rust crates, in the addon'))}## Rust crates\n\nThe platform packages contain them, and their notices.\n`

/** Writes the published package into `folder`. Returns its files. */
export async function stageRoot(folder, { optionalDependencies } = {}) {
  const work = mkdtempSync(join(tmpdir(), 'toolwright-pack-'))
  try {
    const packed = pack(root, work)
    capture('tar', ['-xzf', packed.tarball, '-C', work], { cwd: work })
    rmSync(folder, { recursive: true, force: true })
    cpSync(join(work, 'package'), folder, { recursive: true })
    const manifest = publishedManifest(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), optionalDependencies)
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    writeFileSync(join(folder, NOTICES), rootNotices(readFileSync(join(folder, NOTICES), 'utf8')))
    writePublishedLinks(folder, packed.files, manifest.version)
    writeFileSync(join(folder, 'index.js'), await shortLoader(readFileSync(join(folder, 'index.js'), 'utf8')))
    await writeJoinedModules(join(folder, 'dist'))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new Error('name the folder to write')
  await stageRoot(resolve(folder))
}

// What is committed in npm/: the manifests that the napi CLI makes of package.json, and what the law asks for.
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../setup/paths.mjs'
import { capture } from './npm.mjs'

export const NOTICES = 'THIRD-PARTY-NOTICES.md'

/** Each file of npm/, as a path relative to the repository, with its text. */
export function platformPackages(notices) {
  const licence = readFileSync(join(root, 'LICENSE'), 'utf8')
  // In an empty project: the CLI writes nowhere but below its package.json.
  const project = mkdtempSync(join(tmpdir(), 'toolwright-manifests-'))
  try {
    copyFileSync(join(root, 'package.json'), join(project, 'package.json'))
    capture('node', [join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js'), 'create-npm-dirs'], { cwd: project })
    const files = new Map()
    for (const platform of readdirSync(join(project, 'npm'))) {
      for (const name of readdirSync(join(project, 'npm', platform))) {
        const text = readFileSync(join(project, 'npm', platform, name), 'utf8')
        files.set(`npm/${platform}/${name}`, name === 'package.json' ? withNotices(text) : text)
      }
      files.set(`npm/${platform}/LICENSE`, licence)
      files.set(`npm/${platform}/${NOTICES}`, notices)
    }
    return files
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}

/** npm packs README and LICENSE by itself, and everything else only where `files` has it. */
function withNotices(text) {
  const manifest = JSON.parse(text)
  manifest.files.push(NOTICES)
  return `${JSON.stringify(manifest, null, 2)}${text.endsWith('\n') ? '\n' : ''}`
}

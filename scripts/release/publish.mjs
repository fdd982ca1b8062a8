// Publishes a release that was rehearsed. See HELP.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../setup/paths.mjs'
import { readJson } from './packages.mjs'
import { objections, publish, RELEASE } from './publication.mjs'

const HELP = `Usage: node scripts/release/publish.mjs [options]

Publishes the seven tarballs that \`npm run release:rehearse -- --artifacts DIR\` has passed, byte for byte: the platform
packages, then the root package. It refuses if one of them has changed, or has not the addon of a release. A package that is
published already with the same contents is left alone, so a publication that was interrupted goes on.

  --provenance  with the statement of npm about where the packages were built
  --dry-run     say what would be published
  --help        show this text
`

const { values } = parseArgs({
  options: { provenance: { type: 'boolean' }, 'dry-run': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
})

function main() {
  if (!existsSync(RELEASE)) throw new Error('no release was rehearsed here: npm run release:rehearse -- --artifacts DIR')
  const release = readJson(RELEASE)
  const problems = [...objections(release, readJson(join(root, 'package.json')).version)]
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const options = [...(values.provenance ? ['--provenance'] : []), ...(values['dry-run'] ? ['--dry-run'] : [])]
  publish(release, { options, say: (text) => process.stdout.write(`publish  ${text}\n`) })
}

if (values.help) process.stdout.write(HELP)
else {
  try {
    main()
  } catch (error) {
    process.stderr.write(`publish  ${error.message.replaceAll('\n', '\n         ')}\n`)
    process.exitCode = 1
  }
}

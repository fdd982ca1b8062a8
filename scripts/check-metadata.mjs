// What the packages say of themselves: address, licence, notices. All of it follows from package.json, Cargo.lock
// and scripts/package/repository.mjs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { listTree, report } from './checks/tree.mjs'
import { thirdPartyNotices } from './package/notices.mjs'
import { NOTICES, platformPackages } from './package/platform-packages.mjs'
import { isPlaceholder, owner, repositoryFields } from './package/repository.mjs'
import { root } from './setup/paths.mjs'

const HELP = `Usage: node scripts/check-metadata.mjs [--write] [--release]

Compares the metadata of all packages with what it is made of.

  --write     write it
  --release   also refuse a placeholder for the repository's owner, and a repository other than the workflow's own
  --help      show this text
`
const WRITE = 'run `node scripts/check-metadata.mjs --write`'

const read = (path) => {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return undefined
  }
}

/** Puts the owner into package.json, whose layout is its author's. */
function writeAddress() {
  const text = read('package.json').replaceAll(/github\.com\/[^/"]+\/toolwright/g, `github.com/${owner}/toolwright`)
  writeFileSync(join(root, 'package.json'), text)
}

/** Everything that is generated, by its path. */
function generated() {
  const { napi } = JSON.parse(read('package.json'))
  const notices = thirdPartyNotices(napi.targets)
  return new Map([[NOTICES, notices], ...platformPackages(notices)])
}

function* addressProblems() {
  const manifest = JSON.parse(read('package.json'))
  for (const [field, expected] of Object.entries(repositoryFields)) {
    if (JSON.stringify(manifest[field]) !== JSON.stringify(expected)) {
      yield `package.json: ${field} must be ${JSON.stringify(expected)}: ${WRITE}`
    }
  }
  const made = /^(?:package\.json|package-lock\.json|npm\/[^/]+\/package\.json)$/
  for (const file of listTree().files) {
    if (made.test(file) || !/\.(?:md|txt|json|mjs|ts|js|toml|yml|rs)$/.test(file)) continue
    if (read(file)?.includes(`github.com/${owner}/`))
      yield `${file}: names the repository's owner, who stands in scripts/package/repository.mjs alone`
  }
}

function* fileProblems(files) {
  for (const [path, text] of files) {
    if (read(path) !== text) yield `${path} is out of date: ${WRITE}`
  }
  for (const platform of readdirSync(join(root, 'npm'))) {
    if (!files.has(`npm/${platform}/package.json`)) yield `npm/${platform}: package.json has no such target`
  }
}

function* releaseProblems() {
  if (isPlaceholder) yield `scripts/package/repository.mjs: the owner ${owner} is a placeholder; set it, then ${WRITE}`
  const own = process.env.GITHUB_REPOSITORY
  if (own !== undefined && own !== `${owner}/toolwright`) {
    yield `scripts/package/repository.mjs: ${owner}/toolwright, but this is ${own}, and npm refuses such a provenance (E422)`
  }
}

const { values } = parseArgs({
  options: { write: { type: 'boolean' }, release: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
})
if (values.help) process.stdout.write(HELP)
else {
  if (values.write) {
    writeAddress()
    for (const [path, text] of generated()) writeFileSync(join(root, path), text)
  }
  report('metadata', [...addressProblems(), ...fileProblems(generated()), ...(values.release ? releaseProblems() : [])])
}

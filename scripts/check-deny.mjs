// Compares the licences, versions and sources of the crates with deny.toml, and their advisories where the
// database can be had. `cargo install cargo-deny` brings the program.
import { spawnSync } from 'node:child_process'
import { root } from './setup/paths.mjs'

const deny = (...args) => spawnSync('cargo', ['deny', ...args], { cwd: root, encoding: 'utf8' })

if (deny('--version').status !== 0) console.log('skipped: `cargo install cargo-deny` brings it')
else {
  const checked = deny('--locked', 'check', '--hide-inclusion-graph', 'licenses', 'bans', 'sources')
  const fetched = deny('fetch', 'db').status === 0
  if (!fetched) console.log('skipped: the advisories, whose database is out of reach; the rest was checked')
  const advisories = fetched ? deny('--locked', 'check', 'advisories') : undefined
  for (const run of [checked, advisories]) {
    if (run === undefined || run.status === 0) continue
    process.stdout.write(`${run.stdout}${run.stderr}`)
    process.exitCode = 1
  }
}

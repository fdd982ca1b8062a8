// Ten faults, each with the check that has to find it. A rehearsal plants them one after the other in a copy of its packages.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addonOf, readJson, writeJson } from './packages.mjs'

const edit = (file, change) => {
  const value = readJson(file)
  change(value)
  writeJson(file, value)
}

/** `plant(work, platform)` changes the staged folders; `of` says which package it changes, if any, and `says` what is found. */
const ROOT = () => 'toolwright'
const PLATFORM = (platform) => `toolwright-${platform}`

export const plants = {
  'missing-addon': {
    of: PLATFORM,
    check: 'addons',
    says: /\.node is missing/,
    plant: (work, platform) => rmSync(join(work, `toolwright-${platform}`, addonOf(platform))),
  },
  'wrong-glibc': {
    of: PLATFORM,
    check: 'glibc',
    says: /needs glibc 2\.99/,
    plant: (work, platform) => appendFileSync(join(work, `toolwright-${platform}`, addonOf(platform)), 'GLIBC_2.99\0'),
  },
  'missing-licence': {
    of: ROOT,
    check: 'licences and notices',
    says: /^toolwright: LICENSE is missing/,
    plant: (work) => rmSync(join(work, 'toolwright', 'LICENSE')),
  },
  'bad-types': {
    of: ROOT,
    check: 'types, publint',
    says: /NoSuchType/,
    plant: (work) => appendFileSync(join(work, 'toolwright', 'dist', 'index.d.ts'), '\nexport declare const broken: NoSuchType\n'),
  },
  'dead-link': {
    of: ROOT,
    check: 'links',
    says: /no-such-page/,
    plant: (work) => appendFileSync(join(work, 'toolwright', 'README.md'), '\n[nothing](docs/no-such-page.md)\n'),
  },
  'stray-file': {
    of: ROOT,
    check: 'contents',
    says: /notes\.txt/,
    plant: (work) => {
      writeFileSync(join(work, 'toolwright', 'notes.txt'), 'not for users\n')
      edit(join(work, 'toolwright', 'package.json'), ({ files }) => files.push('notes.txt'))
    },
  },
  'wrong-version': {
    of: PLATFORM,
    check: 'versions',
    says: /99\.0\.0/,
    plant: (work, platform) => edit(join(work, `toolwright-${platform}`, 'package.json'), (manifest) => (manifest.version = '99.0.0')),
  },
  'no-integrity': {
    check: 'hashes of the lockfiles',
    says: /node_modules\/typescript has no integrity/,
    plant: (work) =>
      edit(join(work, 'checkout', 'package-lock.json'), ({ packages }) => delete packages['node_modules/typescript'].integrity),
  },
  postinstall: {
    of: ROOT,
    check: 'no scripts',
    says: /script postinstall/,
    plant: (work) => edit(join(work, 'toolwright', 'package.json'), (manifest) => (manifest.scripts = { postinstall: 'node setup.js' })),
  },
  'undeclared-peer': {
    of: ROOT,
    check: 'imports are declared',
    says: /imports zod/,
    plant: (work) => edit(join(work, 'toolwright', 'package.json'), ({ peerDependencies }) => delete peerDependencies.zod),
  },
}

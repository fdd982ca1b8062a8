// What npm shows of each package. `npm run check` also compares all of it with what it is made of.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const owner = /export const owner = '([\w-]+)'/u.exec(read('scripts/package/repository.mjs'))?.[1] ?? ''
const packages = ['.', ...readdirSync(join(root, 'npm')).map((platform) => `npm/${platform}`)]

test('there is a package for each target', () => {
  const { napi } = JSON.parse(read('package.json')) as { napi: { targets: string[] } }
  expect(packages).toHaveLength(napi.targets.length + 1)
})

describe.each(packages)('%s', (folder) => {
  const manifest = JSON.parse(read(`${folder}/package.json`)) as Record<string, any>

  test('names the repository, of the owner that stands in one place', () => {
    expect(owner).not.toBe('')
    expect(manifest).toMatchObject({
      homepage: `https://github.com/${owner}/toolwright#readme`,
      repository: { type: 'git', url: `git+https://github.com/${owner}/toolwright.git` },
      bugs: { url: `https://github.com/${owner}/toolwright/issues` },
    })
  })

  test('has a licence, and the notices of what others wrote', () => {
    expect(manifest['license']).toBe('MIT')
    expect(existsSync(join(root, folder, 'LICENSE'))).toBe(true)
    expect(manifest['files']).toContain('THIRD-PARTY-NOTICES.md')
    expect(read(`${folder}/THIRD-PARTY-NOTICES.md`)).toBe(read('THIRD-PARTY-NOTICES.md'))
  })

  test('is found by what people search for', () => {
    expect(manifest['keywords']).toEqual(expect.arrayContaining(['mcp', 'coding-agent', 'llm', 'tool-calling', 'bash', 'claude']))
  })
})

test('the notices name every crate that is locked and linked, with its licence', () => {
  const notices = read('THIRD-PARTY-NOTICES.md')
  // Some that are linked everywhere; which ones are is compared by `npm run check`.
  for (const name of ['napi', 'rusqlite', 'tokio', 'rustix', 'grep-searcher', 'encoding_rs']) {
    const version = new RegExp(`name = "${name}"\nversion = "([^"]+)"`, 'u').exec(read('Cargo.lock'))?.[1]
    expect(notices).toContain(`- ${name} ${version}`)
  }
  for (const licence of ['MIT', 'Unicode-3.0', 'BSD-3-Clause', 'Zlib', 'ISC', 'GNU LESSER GENERAL PUBLIC LICENSE'])
    expect(notices).toContain(licence)
})

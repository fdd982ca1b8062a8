import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { inOrder, integrityOf, objections, type RehearsedPackage } from '../../scripts/release/publication.mjs'
import { makeSandbox } from '../support/sandbox.ts'

const platforms = readdirSync(fileURLToPath(new URL('../../npm', import.meta.url))).toSorted()

/** Seven tarballs, as a rehearsal has left them. */
function rehearsed() {
  const { root } = makeSandbox()
  const packages = ['toolwright', ...platforms.map((platform) => `toolwright-${platform}`)].map((name): RehearsedPackage => {
    const tarball = join(root, `${name}.tgz`)
    writeFileSync(tarball, name)
    return { name, tarball, integrity: integrityOf(tarball), ...(name !== 'toolwright' && { kind: 'given' }) }
  })
  return { version: '1.0.0', packages }
}

test('a release is published as it was rehearsed, the root package last', () => {
  const release = rehearsed()
  expect([...objections(release, '1.0.0')]).toEqual([])
  expect(inOrder(release.packages).map(({ name }) => name)).toEqual([
    ...platforms.map((platform) => `toolwright-${platform}`),
    'toolwright',
  ])
})

test('a tarball that has changed since, a package too few, an addon of the checkout and another version are refused', () => {
  const { packages } = rehearsed()
  const [root, first, second, ...others] = packages as [RehearsedPackage, RehearsedPackage, RehearsedPackage]
  writeFileSync(root.tarball, 'something else')
  const release = { version: '1.0.0', packages: [root, { ...second, kind: 'stand-in' as const }, ...others] }
  expect([...objections(release, '1.0.1')]).toEqual([
    'version 1.0.0 was rehearsed, and package.json has 1.0.1',
    `toolwright is not what was rehearsed: ${root.tarball} has changed`,
    `${first.name} was not rehearsed`,
    `${second.name} was rehearsed with an addon that is none of the release's`,
  ])
})

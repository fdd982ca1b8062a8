import { expect, test } from 'vitest'
import { missingHint } from '../../ts/core/platform.ts'

// What a reader does who has the package and not its addon: in an installation, and in a bundle.

test('an installation is made again', () => {
  const hint = missingHint('file:///app/node_modules/toolwright/dist/core/addon.js')
  expect(hint).toMatch(/Install again without `--omit=optional`/u)
  expect(hint).not.toContain('external')
})

test('a bundle keeps the package out, or is told where the addon is', () => {
  const hint = missingHint('file:///app/out/server.mjs')
  expect(hint).toContain("serverExternalPackages: ['toolwright']")
  expect(hint).toContain('NAPI_RS_NATIVE_LIBRARY_PATH')
})

test('a CommonJS bundle, which has no address, is a bundle', () => {
  expect(missingHint(undefined)).toBe(missingHint('file:///app/out/server.mjs'))
})

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { warnIfEngineIsOutOfReach } from '../../ts/journal/calls/context.ts'
import { makeSandbox } from '../support/sandbox.ts'

// The engine is there and its context is not: said once, as nothing else would tell.

afterEach(() => vi.restoreAllMocks())

test('it is said where the engine is installed, and nowhere else', () => {
  const { root } = makeSandbox()
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  warnIfEngineIsOutOfReach(join(root, 'index.js'))
  expect(warn).not.toHaveBeenCalled()
  const engine = join(root, 'node_modules/smithers-orchestrator')
  mkdirSync(engine, { recursive: true })
  writeFileSync(join(engine, 'package.json'), JSON.stringify({ name: 'smithers-orchestrator', exports: { '.': './index.js' } }))
  writeFileSync(join(engine, 'index.js'), '')
  warnIfEngineIsOutOfReach(join(root, 'index.js'))
  expect(warn).toHaveBeenCalledTimes(1)
  expect(String(warn.mock.calls[0])).toContain('@smithers-orchestrator/tool-context')
})

import { execFileSync } from 'node:child_process'
import * as contract from 'toolwright/contract'
import * as testing from 'toolwright/contract/testing'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

describe('the entry points', () => {
  test('export these values and no others', () => {
    expect(Object.keys(contract).sort()).toEqual(
      [
        'CALLER_IS_AGENT',
        'ContractFailure',
        'QUESTION_HEADLESS_MESSAGE',
        'SESSION_NODE',
        'acpHost',
        'acpToolKind',
        'acpToolKinds',
        'acpUpdates',
        'allWatchdogs',
        'applyPatchTool',
        'brave',
        'builtInTools',
        'commandWatchdog',
        'compileManifest',
        'contractCodes',
        'createSession',
        'defaultLimits',
        'defineContractTool',
        'detachedProcesses',
        'endDetachedProcesses',
        'evaluatePermission',
        'fromAcpElicitation',
        'fromAcpPermission',
        'isLockedToolId',
        'lockedToolIds',
        'loopAgent',
        'needsApproval',
        'networkWatchdog',
        'presets',
        'processTools',
        'replaySession',
        'repoOverviewTool',
        'searxng',
        'tavily',
        'toAcpElicitation',
        'toAcpPermissionRequest',
        'toAcpPlan',
        'toAcpToolCall',
      ].sort(),
    )
    expect(Object.keys(testing).sort()).toEqual(
      [
        'contractSuite',
        'envelopeProblem',
        'hostAccessDuring',
        'hostAccessIsSeen',
        'invalidArguments',
        'recordingRuntime',
        'sampleOf',
      ].sort(),
    )
  })

  test.skipIf(process.versions.bun !== undefined)(
    'importing one loads neither the AI SDK nor zod, nor the validator, nor the addon, nor what serves open sessions',
    () => {
      const script = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
      await import('toolwright/contract')
      console.log(JSON.stringify(loaded))
    `
      const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
      const loaded = JSON.parse(output) as string[]
      expect(loaded.length).toBeGreaterThan(5)
      expect(loaded.filter((url) => /\/contract\/(?:session|run-call|mcp\/mcp-servers)\.js$/u.test(url))).toEqual([])
      expect(loaded.filter((url) => /node_modules|\.node$|\/index\.js$/u.test(url) && !url.endsWith('/dist/index.js'))).toEqual([])
    },
  )

  test('options that are misspelt or make no sense are refused', async () => {
    const fixture = makeSandbox()
    const good = { workspace: fixture.root, manifest: { name: 'x' } }
    const bad: [object, RegExp][] = [
      [{ ...good, headles: true }, /headles/u],
      [{ ...good, headless: 'false' }, /headless/u],
      [{ ...good, workspace: '' }, /workspace/u],
      [{ ...good, workspace: fixture.at('none') }, /no directory/u],
      [{ ...good, workspace: fixture.put('file', '') }, /no directory/u],
      [{ ...good, manifest: {} }, /manifest/u],
      [{ ...good, watchdog: true }, /watchdog/u],
      [{ ...good, host: { prompt: 'yes' } }, /host\.prompt/u],
      [{ ...good, journal: {} }, /journal/u],
      [{ ...good, id: '' }, /id/u],
      [{ ...good, permissions: { session: [{ permission: 'read' }] } }, /permissions\.session\[0\]/u],
    ]
    for (const [options, message] of bad) {
      const refused = contract.createSession(options as contract.SessionOptions)
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(message) })
    }
  })

  test('the example of a session runs', () => {
    const output = execFileSync(process.execPath, ['examples/contract/session.mjs'], { encoding: 'utf8' })
    expect(output).toMatch(/7 calls replayed, byte for byte/u)
    expect(output).toMatch(/capability_refused.*permission_denied.*watchdog_denied.*invalid_arguments/su)
  })
})

import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { addonPath, ToolError } from 'toolwright/addon'
import { expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const VARIABLE = 'NAPI_RS_NATIVE_LIBRARY_PATH'

/** Runs `source` in a process of this runtime, for which the addon has not been loaded yet. */
async function inProcess(source: string, env: Record<string, string>): Promise<string> {
  const program = `${source}\n`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: checkout, env: { ...process.env, ...env } })
  return stdout.trim()
}

const READ = `import('toolwright').then(({ createTools }) => createTools({ rootDir: '.' }).read.execute({ path: 'typos.toml' }))
  .then((text) => console.log(text.length), (error) => console.log(error.code + ' ' + error.message + ' ' + (error.cause?.name ?? 'no cause')))`

function setVariable(value: string): void {
  const before = process.env[VARIABLE]
  process.env[VARIABLE] = value
  onTestFinished(() => {
    if (before === undefined) delete process.env[VARIABLE]
    else process.env[VARIABLE] = before
  })
}

test('the path of the addon is that of the file for this platform', () => {
  const path = addonPath()
  expect(existsSync(path)).toBe(true)
  expect(basename(path)).toMatch(new RegExp(String.raw`^toolwright\.${process.platform}-${process.arch}(?:-gnu|-musl)?\.node$`, 'u'))
})

test('a named file is the addon, from the working directory', async () => {
  const named = addonPath()
  setVariable(relative(process.cwd(), named))
  expect(addonPath()).toBe(named)
  const length = String(readFileSync(`${checkout}/typos.toml`, 'utf8').length)
  expect(await inProcess(READ, { [VARIABLE]: relative(checkout, named) })).toBe(length)
  // As for a shell, an empty variable is not set.
  expect(await inProcess(READ, { [VARIABLE]: '' })).toBe(length)
})

test('a named file that is not there, or is no addon, is named in the error', async () => {
  const fixture = makeSandbox()
  const root = fixture.root
  fixture.put('broken.node', 'no addon')
  const nowhere = `${root}/nowhere.node`
  setVariable(nowhere)
  const failure = (() => {
    try {
      return addonPath()
    } catch (error) {
      return error
    }
  })()
  expect(failure).toBeInstanceOf(ToolError)
  expect(failure).toMatchObject({ code: 'NATIVE_UNAVAILABLE', summary: `${VARIABLE} names ${nowhere}, which does not exist` })

  expect(await inProcess(READ, { [VARIABLE]: nowhere })).toMatch(/^NATIVE_UNAVAILABLE .*nowhere\.node, which does not exist .*unset it/u)
  const broken = await inProcess(READ, { [VARIABLE]: `${root}/broken.node` })
  expect(broken).toMatch(
    /^NATIVE_UNAVAILABLE .*broken\.node, which is damaged, or is a file for another system or processor .* (?:Type)?Error$/u,
  )
})

test("Bun's loader, which names every package, agrees with the platforms that are built", () => {
  const { napi } = JSON.parse(readFileSync(`${checkout}/package.json`, 'utf8')) as { napi: { targets: string[] } }
  const loader = readFileSync(`${checkout}/index.cjs`, 'utf8')
  const named = [...loader.matchAll(/'([\w-]+)'\) return require\('toolwright-([\w-]+)'\)/gu)].map(([, platform, name]) => {
    expect(name).toBe(platform)
    return name
  })
  const built = readdirSync(`${checkout}/npm`)
  expect(built).toHaveLength(napi.targets.length)
  expect(named.toSorted()).toEqual(built.toSorted())
})

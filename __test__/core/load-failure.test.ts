import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { loadFailure } from '../../ts/core/load-failure.ts'
import { makeSandbox } from '../support/sandbox.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const isLinuxX64 = process.platform === 'linux' && process.arch === 'x64'
const hasCompiler = isLinuxX64 && existsSync('/usr/bin/cc')

/** An installation of the package whose addon is the file that `make` writes. */
function installation(make: (addon: string, root: string) => void): string {
  const { root } = makeSandbox()
  mkdirSync(join(root, 'package'))
  for (const name of ['dist', 'index.js', 'index.cjs', 'package.json'])
    cpSync(join(checkout, name), join(root, 'package', name), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(root, 'package/node_modules'))
  make(join(root, 'package/toolwright.linux-x64-gnu.node'), root)
  return join(root, 'package')
}

async function firstCall(at: string): Promise<string> {
  const program = `const { createTools } = await import(${JSON.stringify(join(at, 'dist/index.js'))})
    await createTools({ rootDir: '.' }).read.execute({ path: 'package.json' }).then(() => console.log('read'), (error) => console.log(error.code, error.message))`
  const args = process.versions['bun'] === undefined ? ['--input-type=module', '-e', program] : ['-e', program]
  const env = { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: '' }
  return (await promisify(execFile)(process.execPath, args, { cwd: at, env })).stdout.trim()
}

/** A library that needs a version of glibc which does not exist yet. */
function needsNewGlibc(addon: string, root: string): void {
  const inRoot = (name: string): string => join(root, name)
  writeFileSync(inRoot('libc.c'), 'void of_the_future(void) {}\n')
  writeFileSync(inRoot('libc.map'), 'GLIBC_9.99 { of_the_future; };\n')
  execFileSync('cc', [
    '-shared',
    '-nostdlib',
    '-Wl,-soname,libc.so.6',
    `-Wl,--version-script=${inRoot('libc.map')}`,
    '-o',
    inRoot('libfuture.so'),
    inRoot('libc.c'),
  ])
  writeFileSync(inRoot('addon.c'), 'extern void of_the_future(void); void napi_register_module_v1(void) { of_the_future(); }\n')
  execFileSync('cc', ['-shared', '-fPIC', '-nostdlib', '-o', addon, inRoot('addon.c'), inRoot('libfuture.so')])
}

describe('an addon that is there and does not load is told apart from a missing one', () => {
  test.skipIf(!hasCompiler)('it needs a newer glibc', async () => {
    expect(await firstCall(installation(needsNewGlibc))).toMatch(
      /^NATIVE_UNAVAILABLE The native part of toolwright for linux x64 needs glibc 9\.99 or later, and this system has [\d.]+ \[NATIVE_UNAVAILABLE\] Run the program on a newer distribution/u,
    )
  })

  test.skipIf(!isLinuxX64)('it is a file for another processor, cut off, or no library', async () => {
    const header = Buffer.alloc(64)
    header.write('\u007FELF\u0002\u0001\u0001', 'latin1')
    header.writeUInt16LE(3, 16)
    header.writeUInt16LE(183, 18)
    header.writeUInt32LE(1, 20)
    header.writeUInt16LE(64, 52)
    header.writeUInt16LE(56, 54)
    const whole = readFileSync(join(checkout, 'toolwright.linux-x64-gnu.node'))
    // The loader would take the last ones, and the process would end at the first page that is missing.
    const cut = [0.1, 0.34, 0.9].map((part) => whole.subarray(0, Math.floor(whole.length * part)))
    for (const content of [...cut, header, Buffer.from('\u007FELF'), Buffer.from('<html>not found</html>'.repeat(100))]) {
      const at = installation((addon) => writeFileSync(addon, content))
      expect(await firstCall(at)).toMatch(
        /^NATIVE_UNAVAILABLE .* is damaged, or is a file for another system or processor \[NATIVE_UNAVAILABLE\] Install toolwright again/u,
      )
    }
  })

  test.skipIf(!isLinuxX64)('there is none', async () => {
    expect(await firstCall(installation(() => undefined))).toMatch(
      /^NATIVE_UNAVAILABLE .* is not installed \[NATIVE_UNAVAILABLE\] Install again without `--omit=optional`/u,
    )
  })
})

describe('messages of loaders that do not run here', () => {
  const said = (message: string, code = 'ERR_DLOPEN_FAILED') =>
    loadFailure(new Error('Cannot find native binding.', { cause: Object.assign(new Error(message), { code }) }))

  test.each([
    ['libgcc_s.so.1: cannot open shared object file: No such file or directory', 'needs the library libgcc_s.so.1, which is missing here'],
    [
      'Error loading shared library libc.musl-x86_64.so.1: No such file or directory (needed by x.node)',
      'needs the library libc.musl-x86_64.so.1, which is missing here',
    ],
    ['Error relocating x.node: gnu_get_libc_version: symbol not found', 'does not fit the C library or the runtime of this machine'],
    [
      "dlopen(x.node, 0x0001): tried: 'x.node' (mach-o file, but is an incompatible architecture (have 'arm64', need 'x86_64'))",
      'is damaged, or is a file for another system or processor',
    ],
    ['x.node: failed to map segment from shared object', 'lies where no program may run, such as a directory that is mounted noexec'],
    ['something new\nwith details', 'cannot be loaded: something new'],
  ])('%s', (message, problem) => {
    expect(said(message)).toMatchObject({ problem })
  })

  test('a missing module is no failure to load', () => {
    expect(said("Cannot find module 'toolwright-linux-x64-gnu'", 'MODULE_NOT_FOUND')).toBeUndefined()
    expect(loadFailure(undefined)).toBeUndefined()
  })
})

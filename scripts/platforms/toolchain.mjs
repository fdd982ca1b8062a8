// Debian's compiler of Rust, unpacked into the cache: no system is changed, and no right is needed. The standard library
// of targets that Debian has none for is built from its sources.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { cache, Skipped } from './cache.mjs'
import { download, installation, unpack } from './debian.mjs'
import { zig, zigbuild } from './pypi.mjs'

const SUITE = 'sid'
/** What the compiler's package wants for linking, which zig does. */
const UNUSED = /^(?:gcc|cpp|binutils|linux-libc-dev|libc-dev-bin|libc6-dev|lib(?:asan|lsan|tsan|ubsan|hwasan|cc1|gcc-\d+-dev))/u

const folder = join(cache, 'toolchain')
const files = join(folder, 'files')

function unpacked() {
  if (existsSync(files)) return
  const part = `${files}.part`
  rmSync(part, { recursive: true, force: true })
  const names = installation(SUITE, 'amd64', ['rustc', 'cargo', 'rust-src']).filter((name) => !UNUSED.test(name))
  unpack(download(SUITE, 'amd64', names), part)
  unpack(download(SUITE, 'arm64', ['libstd-rust-dev']), part)
  renameSync(part, files)
}

/**
 * It runs with the libraries of its own suite, whatever this system's are. cargo tells builds to start it by the name that it
 * was started with.
 */
function program(name, options = '') {
  const file = join(folder, 'bin', name)
  mkdirSync(dirname(file), { recursive: true })
  const loader = `"${files}/usr/lib64/ld-linux-x86-64.so.2" --argv0 "${file}" --library-path "${files}/usr/lib/x86_64-linux-gnu"`
  const script = `#!/bin/sh\nexec ${loader} "${files}/usr/bin/${name}" ${options}"$@"\n`
  // A newer compiler would build everything again.
  if (!existsSync(file) || readFileSync(file, 'utf8') !== script) writeFileSync(file, script, { mode: 0o755 })
  return file
}

const ARM64 = 'aarch64-unknown-linux-gnu'

function crossLinker() {
  const linker = 'aarch64-linux-gnu-gcc'
  if (spawnSync(linker, ['--version'], { stdio: 'ignore' }).status === 0) return linker
  throw new Skipped(`there is no ${linker}: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross`)
}

/** The environment in which cargo builds static programs for arm64. */
export function crossCompiler() {
  const { CARGO, RUSTC, PATH } = toolchain(ARM64)
  return { CARGO, RUSTC, PATH, CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER: crossLinker() }
}

/** Files that cargo-zigbuild leaves out when it links, but looks for: zig has its own. */
function startFiles(target) {
  const own = join(files, 'usr/lib/rustlib', target, 'lib/self-contained')
  mkdirSync(own, { recursive: true })
  for (const name of ['rcrt1', 'crt1', 'crti', 'crtn', 'Scrt1', 'crtbegin', 'crtbeginS', 'crtbeginT', 'crtend', 'crtendS'])
    writeFileSync(join(own, `${name}.o`), '')
}

/** The environment in which `cargo-zigbuild` builds for a target. */
export function toolchain(target) {
  unpacked()
  const rustc = program('rustc', `--sysroot "${files}/usr" `)
  const cargo = program('cargo')
  const name = target.toUpperCase().replaceAll('-', '_')
  const isMusl = target.endsWith('-musl')
  if (isMusl) startFiles(target)
  const hasLibrary = readdirSync(join(files, 'usr/lib/rustlib')).includes(target) && !isMusl
  return {
    PATH: [dirname(cargo), dirname(zigbuild()), process.env.PATH].join(delimiter),
    CARGO: cargo,
    RUSTC: rustc,
    CARGO_TARGET_DIR: join(cache, 'target'),
    CARGO_ZIGBUILD_ZIG_PATH: zig(),
    CARGO_ZIGBUILD_CACHE_DIR: join(cache, 'zig'),
    ZIG_GLOBAL_CACHE_DIR: join(cache, 'zig'),
    // These are variables and no options: they reach the build of the sandbox program as well.
    ...(!hasLibrary && { RUSTC_BOOTSTRAP: '1', CARGO_UNSTABLE_BUILD_STD: 'std,panic_abort' }),
    // zig has no static glibc, which the sandbox program needs. Debian's compiler for the processor brings one.
    ...(target === ARM64 && { TOOLWRIGHT_STATIC_LINKER: crossLinker() }),
    ...(isMusl && { [`CARGO_TARGET_${name}_RUSTFLAGS`]: '-C target-feature=-crt-static' }),
    // Debian has no rust-objcopy, which strips libraries of macOS.
    ...(target.endsWith('-darwin') && { CARGO_PROFILE_RELEASE_STRIP: 'none' }),
    // What is looked for is whether it builds and runs there. The release's own profile takes four times as long.
    CARGO_PROFILE_RELEASE_LTO: 'off',
    CARGO_PROFILE_RELEASE_OPT_LEVEL: '1',
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS: '16',
  }
}

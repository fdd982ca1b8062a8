import { ToolError } from './errors.js'

type Host = { platform: string; arch: string; versions: Record<string, string | undefined> }

/** Why toolwright does not run here, and what helps, in two sentences; `undefined` if it should run. */
export function unsupportedBecause(host: Host): { summary: string; hint: string } | undefined {
  const { platform, arch } = host
  if (!['linux', 'darwin'].includes(platform) || !['x64', 'arm64'].includes(arch)) {
    return {
      summary: `toolwright runs on Linux and macOS, x64 and arm64; this is ${platform} ${arch}`,
      hint: platform === 'win32' ? 'Run the program in WSL 2.' : 'Run the program on one of those.',
    }
  }
  const { bun, node } = host.versions
  if (bun !== undefined) {
    if (!isBefore(bun, [1, 4])) return undefined
    return { summary: `toolwright needs Bun 1.4 or later; this is Bun ${bun}`, hint: 'Run `bun upgrade`, then start the program again.' }
  }
  if (node === undefined || isBefore(node, [22, 13])) {
    return {
      summary: `toolwright needs Node 22.13 or later, or Bun 1.4 or later; this is ${node === undefined ? 'neither' : `Node ${node}`}`,
      hint: 'Start the program with Node 24, from https://nodejs.org or by `nvm install 24`.',
    }
  }
  return undefined
}

function isBefore(version: string, [major, minor]: readonly [number, number]): boolean {
  const [thisMajor = 0, thisMinor = 0] = version.split('.').map(Number)
  return thisMajor < major || (thisMajor === major && thisMinor < minor)
}

const INSTALL = 'Install again without `--omit=optional` and on the machine that will run it; in a checkout, run `npm run build`.'
const BUNDLED =
  'toolwright was bundled, and its addon was not. Keep `toolwright` external (esbuild and Bun: `--external toolwright`; ' +
  "Next.js: `serverExternalPackages: ['toolwright']`; Nitro: `traceDeps: ['toolwright*']`), or put the `.node` file of its " +
  'platform package beside the bundle, or set NAPI_RS_NATIVE_LIBRARY_PATH to that file.'

/** The next move, by the address of the module that looked for the addon. A CommonJS bundle has no address. */
export function missingHint(address: string | undefined): string {
  return address !== undefined && /\/(?:dist\/core\/addon\.js|ts\/core\/addon\.ts)$/u.test(address) ? INSTALL : BUNDLED
}

/** The error for a machine, an installation or a bundle without the addon. */
export function unavailable(summary: string, hint: string, cause?: unknown): ToolError {
  const details = { platform: process.platform, arch: process.arch }
  return new ToolError({ code: 'NATIVE_UNAVAILABLE', summary, hint, details, cause })
}

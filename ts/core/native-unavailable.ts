import { ToolError } from './errors.js'

const INSTALL = 'Install again without `--omit=optional` and on the machine that will run it; in a checkout, run `npm run build`.'
const EXTERNAL =
  'toolwright was bundled, and its addon was not. Keep `toolwright` external (esbuild and Bun: `--external toolwright`; ' +
  "Next.js: `serverExternalPackages: ['toolwright']`)"

/** The next move, by the address of the module that looked for the addon: a bundle's, or none in a CommonJS bundle. */
export function missingHint(address: string | undefined): string {
  if (address === undefined) return `${EXTERNAL}.`
  if (/\/(?:dist\/core\/native\.js|ts\/core\/native\.ts)$/u.test(address)) return INSTALL
  return `${EXTERNAL}, or set NAPI_RS_NATIVE_LIBRARY_PATH to the \`.node\` file of its platform package.`
}

/** The error of a machine, an installation or a bundle without the addon. */
export function unavailable(summary: string, hint: string, cause?: unknown): ToolError {
  const details = { platform: process.platform, arch: process.arch }
  return new ToolError({ code: 'NATIVE_UNAVAILABLE', summary, hint, details, cause })
}

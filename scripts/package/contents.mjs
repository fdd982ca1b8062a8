/** The files that the root package may hold: no decisions, no pictures, and no example that needs a checkout. */
export const PUBLISHED =
  /^(?:package\.json|README\.md|LICENSE|THIRD-PARTY-NOTICES\.md|llms\.txt|AGENTS\.md|index\.c?js|examples\/(?!demo\/|durable\/).+\.(?:mjs|jsx?|json|md)|dist\/(?:[\w-]+\/)*[\w-]+\.(?:js|d\.ts)|dist\/report\/page\/page\.css)$/

/** The files without which it is of no use, or breaks a promise. */
export const NEEDED = [
  'README.md',
  'LICENSE',
  'THIRD-PARTY-NOTICES.md',
  'llms.txt',
  'AGENTS.md',
  'index.js',
  'index.cjs',
  'dist/index.js',
  'dist/index.d.ts',
  'dist/cli.js',
  'dist/report/page/page.js',
  'examples/README.md',
  'examples/minimal-agent.mjs',
]

/** The files of a platform package. */
export const platformFiles = (addon) => ['LICENSE', 'README.md', 'THIRD-PARTY-NOTICES.md', 'package.json', addon].toSorted()

// What somebody who is new looks for, and the pages that tell of it. Chosen before the search was tried.

/** The words, and the pages any of which is right as the first. */
export const searches: readonly (readonly [words: string, pages: readonly string[]])[] = [
  ['undo', ['guides/checkpoints', 'getting-started']],
  ['timeout', ['tools', 'guides/processes', 'troubleshooting', 'errors']],
  ['stop a command after time', ['tools', 'guides/processes', 'contract']],
  ['allow network', ['tools', 'getting-started', 'security']],
  ['npm install is refused', ['troubleshooting', 'tools', 'errors']],
  ['docker', ['guides/deployment']],
  ['next.js', ['guides/nextjs-approvals', 'guides/deployment', 'bundlers']],
  ['approve tool calls', ['guides/nextjs-approvals', 'tools', 'getting-started']],
  ['permission rules', ['contract', 'getting-started']],
  ['claude code', ['mcp-server']],
  ['cursor', ['mcp-server']],
  ['run a dev server', ['guides/processes']],
  ['environment variables', ['tools', 'contract', 'troubleshooting', 'guides/deployment']],
  ['custom tool', ['getting-started', 'tools', 'contract', 'standard-agents']],
  ['mastra', ['mcp-server', 'tools']],
  ['crash recovery', ['guides/crash-safe-journal', 'journal']],
  ['postgres', ['journal-postgres', 'journal']],
  ['windows', ['guides/deployment', 'platforms', 'troubleshooting']],
  ['vitest', ['guides/testing-with-vitest']],
  ['ssh keys', ['security', 'tools', 'troubleshooting', 'getting-started']],
]

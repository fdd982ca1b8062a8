/**
 * Servers that are known by name, in a small project each. One that is not installed is skipped; its name says what is needed. jdtls is in no
 * package of Debian, and is started by a configuration of the host.
 */
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { checkedTools } from './compared-edits.ts'
import { isRunnable } from './installed.ts'

interface Project {
  /** The known server, and the program that it needs. */
  server: 'python' | 'rust' | 'go' | 'c'
  needs: readonly string[]
  files: Readonly<Record<string, string>>
  /** The file that is changed, a right text and a wrong one. */
  path: string
  good: string
  bad: string
  /** The line that is told of the wrong one. */
  told: RegExp
}

const projects: readonly Project[] = [
  {
    server: 'python',
    needs: ['pyright-langserver'],
    files: { 'price.py': 'def price(count: int) -> int:\n    return count * 100\n' },
    path: 'shop.py',
    good: 'from price import price\n\ntotal: int = price(2)\n',
    bad: 'from price import price\n\ntotal: str = price(2)\n',
    told: /^shop\.py:3: error report\w+: /mu,
  },
  {
    server: 'rust',
    needs: ['rust-analyzer', 'cargo'],
    files: {
      'Cargo.toml': '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2024"\n',
      'src/price.rs': 'pub fn price(count: u32) -> u32 {\n    count * 100\n}\n',
    },
    path: 'src/main.rs',
    good: 'mod price;\n\nfn main() {\n    let _total: u32 = price::price(2);\n}\n',
    bad: 'mod price;\n\nfn main() {\n    let _total: bool = price::price(2);\n}\n',
    told: /^src\/main\.rs:4: error E0308: /mu,
  },
  {
    server: 'go',
    needs: ['gopls', 'go'],
    files: { 'go.mod': 'module shop\n\ngo 1.19\n', 'price.go': 'package main\n\nfunc price(count int) int {\n\treturn count * 100\n}\n' },
    path: 'main.go',
    good: 'package main\n\nfunc main() {\n\tvar total int = price(2)\n\tprintln(total)\n}\n',
    bad: 'package main\n\nfunc main() {\n\tvar total string = price(2)\n\tprintln(total)\n}\n',
    told: /^main\.go:4: error .*price\(2\)/mu,
  },
  {
    server: 'c',
    needs: ['clangd'],
    files: { 'price.h': 'int price(int count);\n', 'compile_flags.txt': '-Wall\n' },
    path: 'main.c',
    good: '#include "price.h"\n\nint main(void) {\n  return price(2);\n}\n',
    bad: '#include "price.h"\n\nint main(void) {\n  return prices(2);\n}\n',
    told: /^main\.c:4: (?:error|warning) .*prices/mu,
  },
]

describe.skipIf(process.platform !== 'linux')('language servers that are known by name', () => {
  for (const { server, needs, files, path, good, bad, told: expected } of projects) {
    const isThere = needs.every((name) => isRunnable(name, ...(name === 'rust-analyzer' ? ['--version'] : [])))
    test.skipIf(!isThere)(
      `${server} (needs ${needs.join(', ')}): a wrong edit is told, a right one is not`,
      { timeout: 600_000 },
      async () => {
        const { root, put } = makeSandbox()
        for (const [name, text] of Object.entries(files)) put(name, text)
        put(path, good)
        const { told } = checkedTools(root, { servers: { [server]: 'installed' }, waitMs: 60_000 })
        // A comment alone.
        const comment = server === 'python' ? '# A comment.\n' : '// A comment.\n'
        const first = await told(path, good + comment)
        expect(first).toMatch(/No new problems by the \w+ language server/u)
        expect(await told(path, bad)).toMatch(expected)
        const mended = await told(path, good)
        expect(mended).toMatch(/No new problems/u)
        expect(mended).not.toMatch(expected)
      },
    )
  }
})

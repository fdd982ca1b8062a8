// The project that the second table's calls meet, in a directory of the name `shop`.

/** The files by path. */
export const files: Record<string, string> = {
  'package.json': '{\n  "name": "shop",\n  "version": "1.0.0",\n  "scripts": { "test": "node --test" }\n}\n',
  'README.md': '# Shop\n\nAdds prices.\n',
  '.gitignore': 'dist/\n*.log\n',
  '.env': 'SHOP_WORD=hunter\n',
  'src/app.ts':
    "import { total } from './cart'\n\nexport function main(args: string[]) {\n  const prices = args.map(Number)\n  console.log(total(prices))\n}\n\nexport function helper() {\n  return 1\n}\n",
  'src/cart.ts':
    'export function total(prices: number[]) {\n\tlet sum = 0\n\tfor (const price of prices) {\n\t\tsum += price\n\t}\n\treturn sum\n}\n',
  'src/twice.ts': 'const a = 1\nlog(a)\nconst b = 2\nlog(a)\n',
  'src/trail.ts': 'const x = 1  \nconst y = 2\n',
  'docs/quotes.md': 'It\u2019s a \u201cgood\u201d shop.\n',
  'docs/nbsp.md': 'price:\u00a05\n',
  'docs/accent.md': 'cafe\u0301 au lait\n',
  'docs/windows.txt': 'one\r\ntwo\r\nthree\r\n',
  'dist/bundle.js': 'function onlyInDist() {}\n',
  'empty.txt': '',
  'scripts/run.sh': '#!/bin/sh\necho ran\n',
  'server.js':
    "const port = Number(process.argv[2] ?? 0)\nrequire('node:http')\n  .createServer((_, response) => response.end('hello'))\n  .listen(port, '127.0.0.1', () => console.log('ready'))\n",
  'ask.js':
    "const lines = require('node:readline').createInterface({ input: process.stdin })\nprocess.stdout.write('name? ')\nlines.once('line', (name) => {\n  console.log('hello ' + name)\n  process.exit(0)\n})\n",
  'big.log': Array.from({ length: 12_000 }, (_, index) => `line ${index + 1} of the log\n`).join(''),
}

/** A picture of one pixel. */
export const logo = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

// The project that the third table's calls meet, in a directory of the name `parcel`.

/** The files by path. */
export const files: Record<string, string> = {
  'package.json':
    '{\n  "name": "parcel",\n  "version": "2.1.0",\n  "type": "commonjs",\n  "scripts": { "test": "node --test", "dev": "node server.js" }\n}\n',
  'tsconfig.json': '{ "compilerOptions": { "strict": true, "module": "nodenext", "noEmit": true }, "include": ["src"] }\n',
  'README.md': '# Parcel\n\nWeighs parcels.\n\n## Use\n\nRun `npm run dev`.\n',
  '.gitignore': 'build/\ncoverage/\n*.log\n',
  '.env': 'API_URL=http://localhost:3000\n',
  'src/index.ts':
    "import { totalWeight } from './weights'\nimport { Order } from './orders/order'\n\nexport function quote(order: Order): number {\n  const weight = totalWeight(order.items)\n  return weight * 3\n}\n\nexport function label(order: Order): string {\n  return `parcel ${order.id}`\n}\n",
  'src/weights.ts':
    'export interface Item {\n\tname: string\n\tgrams: number\n}\n\nexport function totalWeight(items: Item[]): number {\n\tlet sum = 0\n\tfor (const item of items) {\n\t\tsum += item.grams\n\t}\n\treturn sum\n}\n',
  'src/orders/order.ts': "import type { Item } from '../weights'\n\nexport interface Order {\n  id: string\n  items: Item[]\n}\n",
  'src/orders/order.test.ts': "import test from 'node:test'\n\ntest('an order has an id', () => {})\n",
  'src/pairs.ts': 'export function first() {\n  return null\n}\n\nexport function second() {\n  return null\n}\n',
  'src/legacy.js': "var name = 'parcel'\r\nvar size = 3\r\nmodule.exports = { name, size }\r\n",
  'lib/parse.py':
    'def parse(line):\n    parts = line.split(",")\n    return {"name": parts[0], "grams": int(parts[1])}\n\n\nclass Reader:\n    def read(self):\n        return None\n',
  'config/settings.json': '{\n  "currency": "EUR",\n  "limits": { "grams": 20000 }\n}\n',
  'docs/guide.md': '# Guide\n\nDon\u2019t send more than 20 kg.\n',
  'build/out.js': 'function onlyInBuild() {}\n',
  'data/empty.json': '',
  'data/report.csv': Array.from({ length: 24_000 }, (_, index) => `parcel-${index + 1},${(index * 37) % 900}\n`).join(''),
  'scripts/deploy.sh': '#!/bin/sh\necho deployed\n',
  'server.js':
    "const port = Number(process.argv[2] ?? 0)\nrequire('node:http')\n  .createServer((_, response) => response.end('ok'))\n  .listen(port, '127.0.0.1', () => console.log('listening'))\n",
  'wizard.js':
    "const lines = require('node:readline').createInterface({ input: process.stdin })\nprocess.stdout.write('Package name: ')\nlines.once('line', (name) => {\n  console.log('made ' + name)\n  process.exit(0)\n})\n",
  'notes.ipynb': JSON.stringify({
    cells: [
      { cell_type: 'markdown', metadata: {}, source: ['# Weights\n', 'In grams.'] },
      {
        cell_type: 'code',
        execution_count: 1,
        metadata: {},
        source: ['total = 40 + 2\n', 'print(total)'],
        outputs: [{ name: 'stdout', output_type: 'stream', text: ['42\n'] }],
      },
    ],
    metadata: {},
    nbformat: 4,
    nbformat_minor: 5,
  }),
}

/** A picture of one pixel, `assets/icon.png`. */
export const icon = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

/** The beginning of a document of a word processor, `docs/offer.docx`: an archive. */
export const offer = Buffer.from('504b03041400000008000000210000000000000000000000000000000000', 'hex')

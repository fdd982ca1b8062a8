// Mistakes with documents (`createTools({ documents: true })`) and with the tool `lsp`.
import type { SecondRow } from '../second-table/row.ts'
import { call, row } from './row.ts'

export const documentRows: SecondRow[] = [
  row('D01', 'argument', call('read', { path: 'README.md', pages: '1-2' }), 'either',
    'pages is for PDF documents; README.md is text, read with offset and limit.',
    /pages/, /pdf|text|offset/i),
  row('D02', 'form', call('edit', { path: 'notes.ipynb', patch: '@@ -1 +1 @@\n-    "total = 40 + 2\\n",\n+    "total = 40 + 3\\n",\n' }), false,
    'The patch is of the JSON; a notebook is patched as read shows it, by cells.',
    /cell|read|notebook/i),
  row('D03', 'output', [
    call('read', { path: 'notes.ipynb' }),
    call('edit', { path: 'notes.ipynb', patch: '@@\n # %% [output] 2\n-42\n+43\n' }),
  ], false,
    'Outputs are made by running the cell, and no patch changes them.',
    /output/i),
  row('D04', 'binary', call('read', { path: 'docs/offer.docx' }), false,
    'A Word document is not shown: a program that unpacks or converts it is named.',
    /word|docx|zip|archive|document/i, /unzip|pandoc|convert|bash|command/i),
  row('D05', 'type', call('read', { path: 'notes.ipynb', pages: 2 }), 'either',
    'pages is for PDF documents (and a text); a notebook is read whole.',
    /pages/),
  row('D06', 'argument', call('read', { path: 'notes.ipynb', cell: 2 }), false,
    'There is no cell: the notebook is read by lines, with offset and limit.',
    /cell/, /offset|path/),
  row('D07', 'write', call('write', { path: 'notes.ipynb', content: '# %% [code] 1\nprint(1)\n' }), 'either',
    'What read shows is not the format of a notebook: write needs its JSON, edit patches cells.',
    /notebook|JSON|cell/i),
]

const lsp = (args: unknown) => call('lsp', args)

export const lspRows: SecondRow[] = [
  row('U01', 'argument', lsp({ action: 'definition', path: 'src/index.ts', line: 5, character: 18 }), false,
    'The symbol is given by its text and its line, and not by a character.',
    /symbol/, /character|column|text|name/i),
  row('U02', 'value', lsp({ action: 'goToDefinition', path: 'src/index.ts', line: 5, symbol: 'totalWeight' }), false,
    'There is no goToDefinition: definition.',
    /goToDefinition/, /definition/),
  row('U03', 'language', lsp({ action: 'symbols', path: 'README.md' }), 'either',
    'No language server is known for README.md.',
    /README\.md|\.md/, /server/i),
  row('U04', 'symbol', lsp({ action: 'definition', path: 'src/index.ts', line: 6, symbol: 'totalWeight' }), 'either',
    'totalWeight is not on line 6; it is on lines 1 and 5 (or it is found there, and that is told).',
    /\b5\b|line 1/),
  row('U05', 'path', lsp({ action: 'diagnostics', path: 'src/weight.ts' }), false,
    'There is no src/weight.ts; src/weights.ts is.',
    /src\/weights\.ts/),
  row('U06', 'range', lsp({ action: 'hover', path: 'src/index.ts', line: 400, symbol: 'quote' }), 'either',
    'The file has 11 lines (or the symbol is found on line 4).',
    /\b11\b|line 4|:4/),
  row('U07', 'value', lsp({ action: 'rename', path: 'src/index.ts', line: 4, symbol: 'quote', new_name: 'offer' }), false,
    'lsp does not rename: references finds the places, edit or apply_patch changes them.',
    /rename|new_name/, /references|edit|diagnostics/),
  row('U08', 'missing', lsp({ action: 'references', path: 'src/index.ts' }), false,
    'references needs a symbol and its line.',
    /symbol/, /line/),
  row('U09', 'case', lsp({ action: 'definition', path: 'src/index.ts', line: 5, symbol: 'TotalWeight' }), 'either',
    'The symbol on line 5 is totalWeight, with another capital.',
    /totalWeight/),
]

/** A PDF document with one line on each page. */
export function pdf(...pages: string[]): Buffer {
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Count ${pages.length}/Kids[${pages.map((_, index) => `${4 + index * 2} 0 R`).join(' ')}]>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    ...pages.flatMap((text, index) => {
      const stream = `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`
      return [
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + index * 2} 0 R>>`,
        `<</Length ${stream.length}>>stream\n${stream}\nendstream`,
      ]
    }),
  ]
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const at = text.length
    text += `${index + 1} 0 obj${object}endobj\n`
    return at
  })
  const xref = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${xref}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}

/** A notebook with a text, a cell of code, its outputs and a picture. */
export const notebook = (): string =>
  `${JSON.stringify(
    {
      cells: [
        { cell_type: 'markdown', id: 'aa', metadata: {}, source: ['# Prices\n', 'of fruit'] },
        {
          cell_type: 'code',
          execution_count: 2,
          id: 'bb',
          metadata: {},
          outputs: [
            { output_type: 'stream', name: 'stdout', text: ['42\n'] },
            { output_type: 'display_data', metadata: {}, data: { 'image/png': 'A'.repeat(300_000), 'text/plain': ['<Figure>'] } },
          ],
          source: ['price = 42\n', 'print(price)'],
        },
      ],
      metadata: {},
      nbformat: 4,
      nbformat_minor: 5,
    },
    undefined,
    1,
  )}\n`

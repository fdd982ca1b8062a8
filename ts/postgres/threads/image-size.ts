/** Width and height of a PNG, JPEG, GIF or WebP by its first bytes. */
export function imageSize(bytes: Buffer): { width: number; height: number } | undefined {
  const size = measured(bytes)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

function measured(b: Buffer): { width: number; height: number } | undefined {
  const at = (start: number, end: number): string => b.toString('latin1', start, end)
  if (b.length >= 10 && /^GIF8[79]a$/u.test(at(0, 6))) return { width: b.readUInt16LE(6), height: b.readUInt16LE(8) }
  if (b.length >= 24 && at(0, 8) === '\x89PNG\r\n\x1a\n') return { width: b.readUInt32BE(16), height: b.readUInt32BE(20) }
  if (b.length >= 30 && at(0, 4) === 'RIFF' && at(8, 12) === 'WEBP') {
    const kind = at(12, 16)
    if (kind === 'VP8X') return { width: b.readUIntLE(24, 3) + 1, height: b.readUIntLE(27, 3) + 1 }
    if (kind === 'VP8 ') return { width: b.readUInt16LE(26) & 0x3f_ff, height: b.readUInt16LE(28) & 0x3f_ff }
    if (kind !== 'VP8L') return undefined
    const bits = b.readUInt32LE(21)
    return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 }
  }
  if (b.length < 4 || b[0] !== 0xff || b[1] !== 0xd8) return undefined
  for (let place = 2; place + 9 <= b.length;) {
    if (b[place] !== 0xff) return undefined
    const marker = b[place + 1] ?? 0
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: b.readUInt16BE(place + 7), height: b.readUInt16BE(place + 5) }
    place += marker === 0xff ? 1 : 2 + b.readUInt16BE(place + 2)
  }
  return undefined
}

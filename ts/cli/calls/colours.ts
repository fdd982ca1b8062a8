const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

/** How a part of the timeline looks. */
export type Look = keyof typeof codes

/** Gives a text its look. */
export type Paint = (look: Look, text: string) => string

/** The looks of a terminal, or none. */
export function painter(isColoured: boolean): Paint {
  if (!isColoured) return (_, text) => text
  return (look, text) => {
    const [on, off] = codes[look]
    return `\u001b[${on}m${text}\u001b[${off}m`
  }
}

/** Only a terminal is coloured, and not one whose user asked for no colours: https://no-color.org */
export function wantsColours(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

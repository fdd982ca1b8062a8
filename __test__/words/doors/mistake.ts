/** A call, and what it gives. */
export type Call = readonly [tool: string, input: object]

/** A mistake at a door, what its reader has to find in the text, and the move that the text advises, which then works. */
export interface DoorMistake {
  name: string
  call: Call
  says: RegExp[]
  /** What it must not say: advice that its reader cannot follow. */
  never?: RegExp
  /** The text has words of another program, which differ by machine. */
  foreign?: boolean
  /** The next move, and what it gives. */
  next?: readonly [...Call, gives: RegExp]
}

/** A row of the table. */
export const row = (
  name: string,
  call: Call,
  says: RegExp | RegExp[],
  next?: DoorMistake['next'],
  more: Pick<DoorMistake, 'never' | 'foreign'> = {},
): DoorMistake => ({ name, call, says: [says].flat(), ...(next && { next }), ...more })

/** More than any system's paths have; the addon refuses a path from 4,097 bytes on. */
const MOST = 5_000

/** The beginning of a path that is too long to be one: it is refused for that, and not copied whole on the way. */
export const boundedPath = (path: string): string => (path.length > MOST ? path.slice(0, MOST) : path)

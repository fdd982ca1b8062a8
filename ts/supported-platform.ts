/** What decides whether the native addon can run here. */
export interface Platform {
  platform: string
  arch: string
  /** `process.versions` */
  versions: Record<string, string | undefined>
}

/** One sentence on why toolwright does not run here, or `undefined` where it should. */
export function unsupportedBecause({ platform, arch, versions }: Platform): string | undefined {
  if (!['linux', 'darwin'].includes(platform) || !['x64', 'arm64'].includes(arch)) {
    return `toolwright runs on Linux and macOS, x64 and arm64; this is ${platform} ${arch}`
  }
  const { bun, node } = versions
  if (bun !== undefined) {
    return isBefore(bun, [1, 4]) ? `toolwright needs Bun 1.4 or later; this is Bun ${bun}` : undefined
  }
  if (node === undefined || isBefore(node, [22, 13])) {
    return `toolwright needs Node 22.13 or later, or Bun 1.4 or later; this is ${node === undefined ? 'neither' : `Node ${node}`}`
  }
  return undefined
}

function isBefore(version: string, [major, minor]: readonly [number, number]): boolean {
  const [thisMajor = 0, thisMinor = 0] = version.split('.').map(Number)
  return thisMajor < major || (thisMajor === major && thisMinor < minor)
}

/** One package of a release that was rehearsed. */
export interface RehearsedPackage {
  name: string
  tarball: string
  /** The hash of the tarball, as npm has it. */
  integrity: string
  /** Where the addon of a platform package is from. */
  kind?: 'given' | 'checkout' | 'stand-in'
}
/** A release that was rehearsed. */
export interface RehearsedRelease {
  version: string
  packages: RehearsedPackage[]
}
export function integrityOf(tarball: string): string
export function inOrder(packages: RehearsedPackage[]): RehearsedPackage[]
export function objections(release: RehearsedRelease, wanted: string): Generator<string>

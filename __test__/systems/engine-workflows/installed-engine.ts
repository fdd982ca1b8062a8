import { installedPackages } from '../../support/installed-packages.ts'

export { RegistryUnreachable } from '../../support/installed-packages.ts'

const manifest = {
  // Its version ranges let in releases of these that cannot be installed or imported together.
  overrides: {
    '@tanstack/electric-db-collection': '0.3.15',
    '@vectorize-io/hindsight-client': '0.9.1',
    effect: '4.0.0-beta.102',
    '@effect/platform-node': '4.0.0-beta.102',
    '@effect/platform-node-shared': '4.0.0-beta.102',
  },
}

/**
 * The folder of a project that the engine is installed in, several hundred packages.
 *
 * @throws {RegistryUnreachable}
 */
export const installedEngine = (): Promise<string> => installedPackages('engine', ['smithers-orchestrator@0.32.0'], manifest)
